"""The splits of a data set: the words that data have for them, and the one choice of the split that is meant."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from randsmooth.data.notes import tell
from randsmooth.documents import shown
from randsmooth.errors import MissingValue, NotFound, WrongData
from randsmooth.notes import Note

T = TypeVar("T")

# In place of a word: the data say nothing of splits.
WHOLE = ""

# What data call their splits, in small letters. A folder with a short name may be a class.
WORDS = {
    "train": ("train", "training", "trn", "trainval"),
    "validation": ("validation", "valid", "val", "dev", "eval", "evaluation"),
    "test": ("test", "testing", "tst"),
}
SHORT_WORDS = {"tr": "train", "va": "validation", "te": "test"}
KINDS = {word: kind for kind, words in WORDS.items() for word in words}

# The kinds that are taken for each split that may be asked for, the first that is there.
# Training data never stand in.
RANKS = {
    "train": ("train",),
    "test": ("test", "validation"),
    "validation": ("validation",),
}
ASKED = tuple(RANKS)

# What is said beside the word for a split, as in "training_set" and "val2017".
FILLERS = {
    "set",
    "split",
    "data",
    "dataset",
    "image",
    "images",
    "img",
    "imgs",
    "photos",
    "pictures",
    "samples",
}
YEAR = re.compile(r"(19|20)\d\d")
BOUNDARY = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|[\W_]+"
)

# Columns of a table that say which split a row is of, in small letters.
SPLIT_COLUMNS = {"set", "subset", "usage", "phase", "fold", "stage"}
ABOUT_SPLITS = {"split", "splits", "partition"}  # words in the name of such a column
EMPTY = {"", "none", "nan", "<na>"}  # cells that say nothing, in small letters
# What a column such as "is_train" says of a row, in small letters.
YES = {"1", "1.0", "true", "yes", "t", "y"}
NO = {"0", "0.0", "false", "no", "f", "n"}
OTHER = {"train": "test", "test": "train"}


def _tokens(name: str) -> list[str]:
    return [token for token in BOUNDARY.split(name) if token]


def _kind(token: str, *, short: bool = False) -> str | None:
    """The kind of split that one word is for, also with "set" at its end."""
    token = token.casefold()
    plain = token if token in KINDS else token.removesuffix("set")
    return KINDS.get(plain) or (SHORT_WORDS.get(token) if short else None)


def split_of(name: str, *, short: bool = False) -> str | None:
    """Return the kind of split that `name` says, with nothing else in it; None where it is another name.

    Args:
        name: of a folder or a split, or a cell of a column of splits.
        short: whether "tr", "va" and "te" count, too.

    Example:
        >>> split_of("Training_set"), split_of("val2017"), split_of("trains")
        ('train', 'validation', None)
    """
    telling = [
        token
        for token in _tokens(name)
        if token.casefold() not in FILLERS and not YEAR.fullmatch(token)
    ]
    return _kind(telling[0], short=short) if len(telling) == 1 else None


def split_in(stem: str) -> str | None:
    """Return the kind of split that the name of a file has in it; None where it has none, or two.

    Example:
        >>> split_in("cifar10-test-000"), split_in("part-000")
        ('test', None)
    """
    found = {kind for token in _tokens(stem) if (kind := _kind(token))}
    return found.pop() if len(found) == 1 else None


def splits_beside(names: Iterable[str]) -> list[str]:
    """Return the names with a word for a split beside another word, where others have another split beside the same.

    Example:
        >>> splits_beside(["seg_train", "seg_test", "seg_pred"]), splits_beside(["train_station", "test_tube"])
        (['seg_train', 'seg_test'], [])
    """
    beside = dict[tuple[str, ...], dict[str, str]]()
    for name in names:
        if kind := split_in(name):
            tokens = [token.casefold() for token in _tokens(name)]
            rest = tuple(
                token for token in tokens if not _kind(token) and not token.isdigit()
            )
            beside.setdefault(rest, {})[name] = kind
    return [
        name
        for kinds in beside.values()
        if len(set(kinds.values())) > 1
        for name in kinds
    ]


def split_of_path(path: Path) -> str | None:
    """Return the kind of split that a folder or file says by its own name; None: none.

    Example:
        >>> split_of_path(Path("photos/val")), split_of_path(Path("digits-train.npz"))
        ('validation', 'train')
    """
    return split_of(path.name) if path.is_dir() else split_in(path.stem)


def array_parts(name: str, columns: Iterable[str]) -> tuple[str, str]:
    """Return the word for a split in the name of an array, and the name without it.

    Args:
        name: of the array.
        columns: usual names of columns, which may be glued to the word.

    Example:
        >>> array_parts("x_test", "xy"), array_parts("trainX", "xy"), array_parts("yval", "xy")
        (('test', 'x'), ('train', 'X'), ('val', 'y'))
        >>> array_parts("x", "xy")
        ('', 'x')
    """
    usual = {column.casefold() for column in columns}
    words, rest = list[str](), list[str]()
    for token in _tokens(name):
        word, column = _unglued(token, usual)
        if word:
            words.append(word)
        if column and column.casefold() not in ("set", "split"):
            rest.append(column)
    return (words[0], "_".join(rest)) if len(words) == 1 else (WHOLE, name)


def _unglued(token: str, columns: set[str]) -> tuple[str, str]:
    """The word for a split and the column that one part of a name is made of; either may be empty."""
    small = token.casefold()
    if _kind(small, short=True):
        return small, ""
    for word in sorted([*KINDS, *SHORT_WORDS], key=len, reverse=True):
        if small.startswith(word) and small.removeprefix(word) in columns:
            return word, token[len(word) :]
        if small.endswith(word) and small.removesuffix(word) in columns:
            return word, token[: -len(word)]
    return "", token


Kind = Callable[[str], str | None]
either_length: Kind = partial(split_of, short=True)


def chosen(
    found: Mapping[str, T],
    asked: str | None,
    source: object,
    kind: Kind = either_length,
    whole: str | None = None,
) -> tuple[str, dict[str, T]]:
    """Return which split is taken, and what there is of it and of those to train and test.

    A validation split stands in where there is no test split, with a `Note`. It is
    called validation all the same.

    Args:
        found: the data's own name of each split -> what there is of it; WHOLE alone: the data have no splits.
        asked: one of ASKED; None: the training split, or else what there is.
        source: names the data in errors.
        kind: tells "train", "validation" or "test" from a name.
        whole: what data without splits are; None: what is asked for.

    Raises:
        Problem: the split is not there, or two are called so.

    Example:
        >>> chosen({"Training": 1, "Testing": 2}, "test", "photos")
        ('test', {'train': 1, 'test': 2})
        >>> chosen({"test": 1, "testing": 2}, "test", "photos")
        Traceback (most recent call last):
        randsmooth.errors.MissingValue: photos has several splits for test: test, testing; keep one of them, ...
    """
    if set(found) == {WHOLE}:
        called = whole or asked or "train"
        return called, {called: found[WHOLE]}
    names = {split: _names(found, split, kind) for split in RANKS}
    wanted = asked or next((split for split in names if names[split]), "train")
    if not names[wanted]:
        there = shown(", ".join(found)) or "none"
        raise NotFound(f"no split {wanted!r} in {shown(source)}; splits there: {there}")
    if len(names[wanted]) > 1:
        several = shown(", ".join(names[wanted]))
        way = "keep one of them, or give that one alone"
        raise MissingValue(
            f"{shown(source)} has several splits for {wanted}: {several}; {way}"
        )
    (name,) = names[wanted]
    stands_in = names["test"][0] if len(names["test"]) == 1 else ""
    if asked in (None, "test") and kind(stands_in) == "validation":
        tell(Note("validation_as_test", source=shown(source), split=shown(stands_in)))
    opened = [names[split] for split in ("train", "test", wanted)]
    parts = {str(kind(own[0])): found[own[0]] for own in opened if len(own) == 1}
    return str(kind(name)), parts


def _names(found: Iterable[str], split: str, kind: Kind) -> list[str]:
    """The names in `found` that are for `split`, of the first kind that is there."""
    for wanted in RANKS[split]:
        if names := [name for name in found if kind(name) == wanted]:
            return names
    return []


def split_column(names: Iterable[str], taken: Iterable[str | None]) -> list[str]:
    """Return the columns, apart from those `taken` for images and labels, whose names are about splits.

    Example:
        >>> split_column(["path", "label", "split_type", "size", "is_training_img"], ["label"])
        ['split_type', 'is_training_img']
    """
    others = [name for name in names if name not in set(taken)]
    small = {name: {token.casefold() for token in _tokens(name)} for name in others}
    named = {
        name
        for name in others
        if small[name] & ABOUT_SPLITS or name.casefold() in SPLIT_COLUMNS
    }
    return [name for name in others if name in named or _asks(name)]


def _asks(column: str) -> str | None:
    """The split of which a column says yes or no, by its name ("is_train"). "is_valid" asks more than that."""
    tokens = [token.casefold() for token in _tokens(column)]
    kind = split_of("_".join(tokens[1:])) if tokens[:1] == ["is"] else None
    return kind if kind in OTHER else None


def telling(columns: Mapping[str, Sequence[object]]) -> list[str]:
    """Return those of the `columns` that say splits by their cells, whatever they are called.

    Each cell is a word for a split, and there are rows for training and others.

    Example:
        >>> telling({"mode": ["train", "test"], "vehicle": ["train", "bus"]})
        ['mode']
    """
    kinds = {
        name: {split_of(word) for word in _rows(name, cells)}
        for name, cells in columns.items()
    }
    return [
        name
        for name, said in kinds.items()
        if None not in said and "train" in said and len(said) > 1
    ]


def saying(columns: Mapping[str, Sequence[object]], source: str) -> list[str]:
    """Return those of the `columns` that say splits; arguments and errors as of `rows_of_splits`.

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
    """Return the data's own name of each split -> its rows, as columns about splits say; WHOLE alone: they say nothing.

    Args:
        columns: name -> the cells of a column whose name is about splits.
        source: names the table in errors.

    Raises:
        Problem: a cell is no word for a split, or two columns say different things.

    Example:
        >>> rows_of_splits({"split": ["train", "TEST", "train"]}, "a.csv")
        {'train': [0, 2], 'TEST': [1]}
    """
    found = dict[str, dict[str, list[int]]]()
    for column, cells in columns.items():
        rows = _rows(column, cells)
        odd = [word for word in rows if split_of(word, short=True) is None]
        if odd and (
            len(odd) < len(rows)
            or {token.casefold() for token in _tokens(column)} & ABOUT_SPLITS
        ):
            place = f"the column {shown(repr(column))} of {source} has {shown(repr(odd[0]))}"
            way = "expected words such as train, val and test, or rename the column if it is about something else"
            raise WrongData(f"{place} in row {rows[odd[0]][0] + 1}: {way}")
        if rows and not odd:
            found[column] = rows
            _tell_empty(column, cells, rows, source)
    if len(found) > 1 and any(
        rows != next(iter(found.values())) for rows in found.values()
    ):
        both = shown(", ".join(found))
        raise WrongData(
            f"the columns {both} of {source} say different splits: keep one of them"
        )
    total = max(map(len, columns.values()), default=0)
    return next(iter(found.values()), {WHOLE: list(range(total))})


def _rows(column: str, cells: Sequence[object]) -> dict[str, list[int]]:
    """Each text of a column -> its rows; empty cells are left out. Yes and no to a split are the names of two."""
    rows = dict[str, list[int]]()
    for row, cell in enumerate(cells):
        text = str(cell).strip()
        if text.casefold() not in EMPTY:
            rows.setdefault(text, []).append(row)
    asked = _asks(column)
    if asked is None or not all(text.casefold() in YES | NO for text in rows):
        return rows
    splits = dict[str, list[int]]()
    for text, places in rows.items():
        word = asked if text.casefold() in YES else OTHER[asked]
        splits[word] = sorted([*splits.get(word, []), *places])
    return splits


def _tell_empty(
    column: str, cells: Sequence[object], rows: Mapping[str, Sequence[int]], source: str
) -> None:
    """Give a `Note` of the rows that are in no split."""
    named = {row for each in rows.values() for row in each}
    if left := [row for row in range(len(cells)) if row not in named]:
        tell(
            Note(
                "rows_in_no_split",
                source=source,
                number=len(left),
                column=column,
                row=left[0] + 1,
            )
        )
