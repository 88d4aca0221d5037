"""Which split of a data set is taken, among those that it has."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from randsmooth.data.notes import tell
from randsmooth.data.split_words import WHOLE, split_or_short
from randsmooth.documents import shown
from randsmooth.errors import MissingValue, NotFound
from randsmooth.notes import Note

T = TypeVar("T")

# A split that may be asked for -> the splits that are taken for it, of which the first that is
# there counts. Training data never stand in for others.
TAKEN_FOR = {
    "train": ("train",),
    "test": ("test", "validation"),
    "validation": ("validation",),
}
ASKED = tuple(TAKEN_FOR)

# A function that returns which split the data's own name of a split means: "train",
# "validation" or "test", or None.
SplitOf = Callable[[str], str | None]


def chosen(
    contents: Mapping[str, T],
    asked: str | None,
    source: object,
    split_of: SplitOf = split_or_short,
    whole: str | None = None,
) -> tuple[str, dict[str, T]]:
    """Return which split is taken, and the contents of the splits that are needed.

    The training and the test split come along with the one that is taken, since they tell
    classes and sizes. Where there is no test split, the validation split is taken for it,
    with a `Note`, and is still called "validation".

    Args:
        contents: the data's own name of each split -> its content, such as files; the
            only name WHOLE means that the data have no splits.
        asked: the split that is asked for, one of ASKED; None: the training split, or else
            any that is there.
        source: names the data in errors.
        split_of: returns which split such a name means.
        whole: the split that data without splits are, by their own name; None: they are
            what is asked for.

    Returns:
        The split that is taken, and split -> content.

    Raises:
        NotFound: the split is not there.
        MissingValue: two names of the data mean this split.

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
        # Two names for one split are an error only for the wanted split (`_only_name`);
        # another one is left out.
        if len(names[split]) == 1:
            (own_name,) = names[split]
            # Every name in `names` means a split, so this is not None.
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
    """Return the only one of `names`.

    Args:
        names: the data's own names of the wanted split.
        wanted: the split.
        contents: all names of splits in the data.
        source: names the data in errors.

    Raises:
        Problem: there is no name, or there are several.
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
    """Give a `Note` where a validation split is taken for the test split.

    Args:
        names: the data's own names of what is taken for the test split.
        source: names the data.
        split_of: returns which split a name means.
    """
    if len(names) == 1 and split_of(names[0]) == "validation":
        note = Note("validation_as_test", source=shown(source), split=shown(names[0]))
        tell(note)
