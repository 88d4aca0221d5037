"""The columns of a table that tell the split of each row."""

from collections.abc import Iterable, Mapping, Sequence

from randsmooth.data.notes import tell
from randsmooth.data.split_words import (
    WHOLE,
    small_parts,
    split_of,
    split_or_short,
)
from randsmooth.documents import shown
from randsmooth.errors import WrongData
from randsmooth.notes import Note

# Names of columns, in small letters, that may be about splits, or about something else.
PERHAPS_ABOUT_SPLITS = {"set", "subset", "usage", "phase", "fold", "stage"}
# Words in the names of columns that are about splits and nothing else.
SURELY_ABOUT_SPLITS = {"split", "splits", "partition"}

# Cells that say nothing, in small letters.
EMPTY = {"", "none", "nan", "<na>"}
# The cells of a column such as "is_train", in small letters.
YES = {"1", "1.0", "true", "yes", "t", "y"}
NO = {"0", "0.0", "false", "no", "f", "n"}
# The split about which such a column asks -> the split of rows with a cell in NO.
OTHER = {"train": "test", "test": "train"}


def split_column(names: Iterable[str], taken: Iterable[str | None]) -> list[str]:
    """Return the columns whose names are about splits.

    Args:
        names: all columns.
        taken: the columns that hold images and labels, which are left out.

    Example:
        >>> names = ["path", "label", "split_type", "size", "is_training_img"]
        >>> split_column(names, ["label"])
        ['split_type', 'is_training_img']
    """
    others = [name for name in names if name not in set(taken)]
    return [name for name in others if _is_about_splits(name)]


def _is_about_splits(column: str) -> bool:
    """Return whether the name of a column may be about splits."""
    if column.casefold() in PERHAPS_ABOUT_SPLITS or _asked_split(column):
        return True
    return _is_surely_about_splits(column)


def _is_surely_about_splits(column: str) -> bool:
    """Return whether the name of a column is about splits and nothing else."""
    return not SURELY_ABOUT_SPLITS.isdisjoint(small_parts(column))


def _asked_split(column: str) -> str | None:
    """Return the split about which a column asks by its name, as "is_train" does.

    "is_valid" is no such column: it may ask whether a row can be used at all. So the answer
    is "train", "test" or None.
    """
    first, *others = small_parts(column) or [""]
    split = split_of("_".join(others)) if first == "is" else None
    return split if split in OTHER else None


def telling(columns: Mapping[str, Sequence[object]]) -> list[str]:
    """Return those columns whose cells tell splits, whatever the columns are called.

    Every cell is a word for a split, some of them for training and some for another split.

    Args:
        columns: the name of each column -> its cells.

    Example:
        >>> telling({"mode": ["train", "test"], "vehicle": ["train", "bus"]})
        ['mode']
    """
    names = list[str]()
    for name, cells in columns.items():
        splits = {split_of(word) for word in _rows_of_words(name, cells)}
        if None not in splits and "train" in splits and len(splits) > 1:
            names.append(name)
    return names


def saying(columns: Mapping[str, Sequence[object]], source: str) -> list[str]:
    """Return those columns that tell splits; arguments and errors as in `rows_of_splits`.

    Example:
        >>> saying({"set": ["train", "test"], "stage": ["early", "late"]}, "a.csv")
        ['set']
    """
    return [
        name
        for name, cells in columns.items()
        if WHOLE not in rows_of_splits({name: cells}, source)
    ]


def rows_of_splits(
    columns: Mapping[str, Sequence[object]], source: str
) -> dict[str, list[int]]:
    """Return the data's own name of each split -> the indices of its rows.

    Args:
        columns: the name of each column that may be about splits -> its cells.
        source: names the table in errors.

    Returns:
        The only name WHOLE, with all rows, where the columns tell no splits.

    Raises:
        WrongData: a cell is no word for a split, or two columns tell different splits.

    Example:
        >>> rows_of_splits({"split": ["train", "TEST", "train"]}, "a.csv")
        {'train': [0, 2], 'TEST': [1]}
    """
    rows_by_column = dict[str, dict[str, list[int]]]()
    for column, cells in columns.items():
        rows = _rows_of_words(column, cells)
        if _says_splits(column, rows, source):
            rows_by_column[column] = rows
            _tell_empty(column, cells, rows, source)

    if not rows_by_column:
        total = max(map(len, columns.values()), default=0)
        return {WHOLE: list(range(total))}

    first, *others = rows_by_column.values()
    if any(rows != first for rows in others):
        names = shown(", ".join(rows_by_column))
        raise WrongData(
            f"the columns {names} of {source} say different splits",
            fix="keep one of them",
        )
    return first


def _says_splits(column: str, rows: Mapping[str, list[int]], source: str) -> bool:
    """Return whether the words in a column are words for splits.

    Args:
        column: the name of the column.
        rows: word -> the indices of its rows.
        source: names the table in errors.

    Raises:
        WrongData: some words are for splits and others are not; or none is, and the name
            of the column can be about nothing else.
    """
    other_words = [word for word in rows if split_or_short(word) is None]
    if not other_words:
        return bool(rows)

    first = other_words[0]
    if len(other_words) == len(rows) and not _is_surely_about_splits(column):
        return False
    raise WrongData(
        f"the column {shown(repr(column))} of {source} has {shown(repr(first))} in row "
        f"{rows[first][0] + 1}",
        fix="expected words such as train, val and test; rename the column if it "
        "is not about splits",
    )


def _rows_of_words(column: str, cells: Sequence[object]) -> dict[str, list[int]]:
    """Return each word in a column -> the indices of its rows, without empty cells.

    If the column asks about a split ("is_train"), the splits stand in place of yes and no.
    """
    rows = dict[str, list[int]]()
    for row, cell in enumerate(cells):
        word = str(cell).strip()
        if word.casefold() not in EMPTY:
            rows.setdefault(word, []).append(row)

    asked = _asked_split(column)
    if asked is None or any(word.casefold() not in YES | NO for word in rows):
        return rows

    rows_of_split = dict[str, list[int]]()
    for word, rows_of_word in rows.items():
        split = asked if word.casefold() in YES else OTHER[asked]
        # Several words, such as "1" and "yes", may mean one split.
        rows_of_split[split] = sorted([*rows_of_split.get(split, []), *rows_of_word])
    return rows_of_split


def _tell_empty(
    column: str, cells: Sequence[object], rows: Mapping[str, Sequence[int]], source: str
) -> None:
    """Give a `Note` of the rows whose cells are empty, so that they are in no split.

    Args:
        column: the name of the column.
        cells: its cells.
        rows: split -> the indices of its rows.
        source: names the table.
    """
    in_a_split = {row for places in rows.values() for row in places}
    left_out = [row for row in range(len(cells)) if row not in in_a_split]
    if not left_out:
        return

    note = Note(
        "rows_in_no_split",
        source=source,
        number=len(left_out),
        column=column,
        row=left_out[0] + 1,
    )
    tell(note)
