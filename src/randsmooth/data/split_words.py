"""The words by which data name their splits: in folders, files, arrays and cells."""

import re
from collections.abc import Iterable
from pathlib import Path

# Stands in place of the name of a split where data have no splits.
WHOLE = ""

# Split -> the words by which data name it, in small letters.
WORDS = {
    "train": ("train", "training", "trn", "trainval"),
    "validation": ("validation", "valid", "val", "dev", "eval", "evaluation"),
    "test": ("test", "testing", "tst"),
}
# Words so short that they may mean something else: a folder of such a name may be a class.
SHORT_WORDS = {"tr": "train", "va": "validation", "te": "test"}
SPLIT_OF_WORD = {word: split for split, words in WORDS.items() for word in words}
LONGEST_WORD_FIRST = sorted([*SPLIT_OF_WORD, *SHORT_WORDS], key=len, reverse=True)

# Words that say nothing beside the word for a split, as in "training_set". A year says
# nothing either, as in "val2017".
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

# Where a name divides into parts: "trainSet", "XTrain", "val2017", "seg_test".
BOUNDARY = re.compile(
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|[\W_]+"
)


def parts_of_name(name: str) -> list[str]:
    """Return the parts of a name.

    Example:
        >>> parts_of_name("trainSet"), parts_of_name("val2017-a")
        (['train', 'Set'], ['val', '2017', 'a'])
    """
    return [part for part in BOUNDARY.split(name) if part]


def small_parts(name: str) -> list[str]:
    """Return the parts of a name in small letters."""
    return [part.casefold() for part in parts_of_name(name)]


def split_of_word(word: str, *, short: bool = False) -> str | None:
    """Return the split that a single word names; None for any other word.

    Args:
        word: the word, which may end in "set", as "testset" does.
        short: whether SHORT_WORDS count too.
    """
    word = word.casefold()
    if short and word in SHORT_WORDS:
        return SHORT_WORDS[word]
    if word in SPLIT_OF_WORD:
        return SPLIT_OF_WORD[word]
    return SPLIT_OF_WORD.get(word.removesuffix("set"))


def split_of(name: str, *, short: bool = False) -> str | None:
    """Return the split that `name` means, if it says nothing else; None if it does.

    Args:
        name: the name of a folder or of a split, or a cell of a column about splits.
        short: whether SHORT_WORDS count too.

    Example:
        >>> split_of("Training_set"), split_of("val2017"), split_of("trains")
        ('train', 'validation', None)
    """
    telling = [
        part
        for part in parts_of_name(name)
        if part.casefold() not in FILLERS and not YEAR.fullmatch(part)
    ]
    if len(telling) != 1:
        return None
    return split_of_word(telling[0], short=short)


def split_or_short(name: str) -> str | None:
    """Return the split that `name` means, as `split_of` does with SHORT_WORDS."""
    return split_of(name, short=True)


def split_in(stem: str) -> str | None:
    """Return the split that occurs in the name of a file; None: none does, or several do.

    Example:
        >>> split_in("cifar10-test-000"), split_in("part-000")
        ('test', None)
    """
    splits = {split_of_word(part) for part in parts_of_name(stem)} - {None}
    return splits.pop() if len(splits) == 1 else None


def split_of_path(path: Path) -> str | None:
    """Return the split that a folder or file is by its own name; None: it names no split.

    Example:
        >>> split_of_path(Path("photos/val")), split_of_path(Path("digits-train.npz"))
        ('validation', 'train')
    """
    return split_of(path.name) if path.is_dir() else split_in(path.stem)


def splits_beside(names: Iterable[str]) -> list[str]:
    """Return those names that mean splits of one thing, as seg_train and seg_test do.

    At least two of them must have the same other words, and mean different splits.

    Example:
        >>> splits_beside(["seg_train", "seg_test", "seg_pred"])
        ['seg_train', 'seg_test']
        >>> splits_beside(["train_station", "test_tube"])
        []
    """
    # The other words of names -> each of these names -> its split.
    split_by_name = dict[tuple[str, ...], dict[str, str]]()
    for name in names:
        split = split_in(name)
        if split is None:
            continue
        others = tuple(
            part
            for part in small_parts(name)
            if not split_of_word(part) and not part.isdigit()
        )
        split_by_name.setdefault(others, {})[name] = split

    telling = list[str]()
    for splits in split_by_name.values():
        if len(set(splits.values())) > 1:
            telling += splits
    return telling


def array_parts(name: str, columns: Iterable[str]) -> tuple[str, str]:
    """Return the word for a split in the name of an array, and the name without it.

    Args:
        name: the name of the array.
        columns: usual names of columns, which may be glued to the word.

    Example:
        >>> array_parts("x_test", "xy"), array_parts("trainX", "xy")
        (('test', 'x'), ('train', 'X'))
        >>> array_parts("yval", "xy"), array_parts("x", "xy")
        (('val', 'y'), ('', 'x'))
    """
    usual = {column.casefold() for column in columns}
    words = list[str]()
    others = list[str]()
    for part in parts_of_name(name):
        word, column = _unglued(part, usual)
        if word:
            words.append(word)
        if column and column.casefold() not in ("set", "split"):
            others.append(column)

    if len(words) != 1:
        return WHOLE, name
    return words[0], "_".join(others)


def _unglued(part: str, columns: set[str]) -> tuple[str, str]:
    """Return the word for a split and the column in one part of an array's name.

    The two may be glued together, as in "xtest". Either is empty where the part lacks it.

    Args:
        part: a part of the name, as `parts_of_name` returns it.
        columns: usual names of columns, in small letters.
    """
    small = part.casefold()
    if split_of_word(small, short=True):
        return small, ""
    # The longest word that fits counts.
    for word in LONGEST_WORD_FIRST:
        if small.startswith(word) and small.removeprefix(word) in columns:
            return word, part[len(word) :]
        if small.endswith(word) and small.removesuffix(word) in columns:
            return word, part[: -len(word)]
    return "", part
