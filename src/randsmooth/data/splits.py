"""The one choice of the split that is meant, among those that data have."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from randsmooth.data.notes import tell
from randsmooth.data.split_words import WHOLE, split_or_short
from randsmooth.documents import shown
from randsmooth.errors import MissingValue, NotFound
from randsmooth.notes import Note

T = TypeVar("T")

# Which splits of the data are taken for each that may be asked for: the first of these
# that is there. Training data never stand in for others.
TAKEN_FOR = {
    "train": ("train",),
    "test": ("test", "validation"),
    "validation": ("validation",),
}
ASKED = tuple(TAKEN_FOR)

# Tells "train", "validation" or "test" from the data's own name of a split.
SplitOf = Callable[[str], str | None]


def chosen(
    contents: Mapping[str, T],
    asked: str | None,
    source: object,
    split_of: SplitOf = split_or_short,
    whole: str | None = None,
) -> tuple[str, dict[str, T]]:
    """Return which split is taken, and what there is of it.

    What there is of those to train and to test comes with it. A validation split
    stands in where there is no test split, with a `Note`. It is called validation all
    the same.

    Args:
        contents: the data's own name of each split -> what there is of it; WHOLE alone:
            the data have no splits.
        asked: one of ASKED; None: the training split, or else what there is.
        source: names the data in errors.
        split_of: tells the split from such a name.
        whole: what data without splits are; None: what is asked for.

    Raises:
        NotFound: the split is not there.
        MissingValue: two splits of the data are called so.

    Example:
        >>> chosen({"Training": 1, "Testing": 2}, "test", "photos")
        ('test', {'train': 1, 'test': 2})
        >>> chosen({"test": 1, "testing": 2}, "test", "photos")
        Traceback (most recent call last):
        randsmooth.errors.MissingValue: photos has several splits for test: test, ...
    """
    if set(contents) == {WHOLE}:
        called = whole or asked or "train"
        return called, {called: contents[WHOLE]}

    names = {split: _names_for(split, contents, split_of) for split in TAKEN_FOR}
    wanted = asked or next((split for split in names if names[split]), "train")
    name = _only_name(names[wanted], wanted, contents, source)
    if asked in (None, "test"):
        _tell_stand_in(names["test"], source, split_of)

    parts = dict[str, T]()
    for split in ("train", "test", wanted):
        # Of two that are called alike only the wanted split asks which one is meant.
        if len(names[split]) == 1:
            (own_name,) = names[split]
            parts[str(split_of(own_name))] = contents[own_name]
    return str(split_of(name)), parts


def _names_for(split: str, contents: Iterable[str], split_of: SplitOf) -> list[str]:
    """Return the data's own names of what is taken for `split`."""
    for wanted in TAKEN_FOR[split]:
        names = [name for name in contents if split_of(name) == wanted]
        if names:
            return names
    return []


def _only_name(
    names: list[str], wanted: str, contents: Iterable[str], source: object
) -> str:
    """Return the one of `names` that there must be.

    Raises:
        Problem: there is none, or there are several.
    """
    if not names:
        there = shown(", ".join(contents)) or "none"
        raise NotFound(
            f"no split {wanted!r} in {shown(source)}; splits there: {there}",
            field="split",
            value=wanted,
        )
    if len(names) > 1:
        raise MissingValue(
            f"{shown(source)} has several splits for {wanted}: "
            f"{shown(', '.join(names))}",
            fix="keep one of them, or give that one alone",
        )
    return names[0]


def _tell_stand_in(names: list[str], source: object, split_of: SplitOf) -> None:
    """Give a `Note` where a validation split is taken for the test split."""
    if len(names) == 1 and split_of(names[0]) == "validation":
        note = Note("validation_as_test", source=shown(source), split=shown(names[0]))
        tell(note)
