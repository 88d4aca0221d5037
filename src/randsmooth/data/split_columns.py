"""The columns of a table that say which split each row is of."""

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

# Names of such columns, in small letters, which have other meanings, too.
PERHAPS_ABOUT_SPLITS = {"set", "subset", "usage", "phase", "fold", "stage"}
# Words in the names of columns that are about nothing else.
SURELY_ABOUT_SPLITS = {"split", "splits", "partition"}

# Cells that say nothing, in small letters.
EMPTY = {"", "none", "nan", "<na>"}
# What a column such as "is_train" says of a row, in small letters.
YES = {"1", "1.0", "true", "yes", "t", "y"}
NO = {"0", "0.0", "false", "no", "f", "n"}
# The split of the rows that are not of the one that such a column asks about.
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
    if column.casefold() in PERHAPS_ABOUT_SPLITS or _asked_split(column):
        return True
    return _is_surely_about_splits(column)


def _is_surely_about_splits(column: str) -> bool:
    return not SURELY_ABOUT_SPLITS.isdisjoint(small_parts(column))


def _asked_split(column: str) -> str | None:
    """Return the split of which a column says yes or no, by its name ("is_train").

    "is_valid" asks more than that: whether a row can be used at all.
    """
    first, *others = small_parts(column) or [""]
    split = split_of("_".join(others)) if first == "is" else None
    return split if split in OTHER else None


def telling(columns: Mapping[str, Sequence[object]]) -> list[str]:
    """Return those of the `columns` that say splits by their cells, however called.

    Each cell is a word for a split, and there are rows for training and others.

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
    """Return those of the `columns` that say splits.

    Arguments and errors are those of `rows_of_splits`.

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
    """Return the data's own name of each split -> its rows, as columns say them.

    Args:
        columns: name -> the cells of a column whose name is about splits.
        source: names the table in errors.

    Returns:
        WHOLE alone where the columns say nothing.

    Raises:
        WrongData: a cell is no word for a split, or two columns say different things.

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
    """Return whether the words of a column, with their rows, are words for splits.

    Raises:
        WrongData: some of them are and others are not; or none is, and the name of the
            column has no other meaning.
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
        fix="expected words such as train, val and test, or rename the column if it is "
        "about something else",
    )


def _rows_of_words(column: str, cells: Sequence[object]) -> dict[str, list[int]]:
    """Return each word in a column -> its rows; empty cells are left out.

    Where the column asks about a split, yes and no become the names of two splits.
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
    for word, places in rows.items():
        split = asked if word.casefold() in YES else OTHER[asked]
        rows_of_split[split] = sorted([*rows_of_split.get(split, []), *places])
    return rows_of_split


def _tell_empty(
    column: str, cells: Sequence[object], rows: Mapping[str, Sequence[int]], source: str
) -> None:
    """Give a `Note` of the rows that are in no split."""
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
