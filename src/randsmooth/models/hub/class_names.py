"""Whether the classes that a model knows by name are those of a data set, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from randsmooth.documents import shown
from randsmooth.errors import InputError

# Names that say nothing: numbers, transformers' own, and ImageNet's identifiers, whose order is that of its labels.
NAMELESS = re.compile(r"\d+|label[_ ]?\d+|n\d{8}", re.IGNORECASE)


def order_of(own: Sequence[str], wanted: Sequence[str], source: str) -> list[int]:
    """The place in a model's logits of each class of a data set: own[order[k]] is wanted[k].

    Names are compared without regard to case, spaces, hyphens and underscores; of ImageNet's lists of synonyms one has
    to agree. Where one side has no names but numbers, classes are taken to be in the same order.

    Args:
        own: the K classes of the model, in the order of its logits.
        wanted: the classes of the data set.
        source: what the model is called, for the error.

    Raises:
        InputError: other classes; the message names the first that the model does not have.

    Example:
        >>> order_of(["dog", "Cat"], ["cat", "dog"], "hf:pets")
        [1, 0]
    """
    if len(own) != len(wanted):
        raise InputError(
            f"{source} tells {len(own)} classes apart, {shown(', '.join(own))}; the data set has {len(wanted)}, "
            f"{shown(', '.join(wanted))}: take a model that was trained for them"
        )
    if all(map(NAMELESS.fullmatch, own)) or all(map(NAMELESS.fullmatch, wanted)):
        return list(range(len(own)))
    whole = _places((place, {_simple(name)}) for place, name in enumerate(own))
    parts = _places((place, _synonyms(name)) for place, name in enumerate(own))
    order = [_only({_simple(name)}, whole, _only(_synonyms(name), parts)) for name in wanted]
    missing = [name for name, place in zip(wanted, order, strict=True) if place is None]
    found = [place for place in order if place is not None]
    if missing or len({*found}) < len(wanted):
        first = missing[0] if missing else wanted[0]
        raise InputError(
            f"{source} knows no class {shown(repr(first))} of the data set (or knows it twice); its own are "
            f"{shown(', '.join(own))}. If they mean the same, say what they are called in the data set, in the model's "
            "order: classes=[...] (--model-arg 'classes=[...]')"
        )
    return found


def _synonyms(name: str) -> set[str]:
    """The name, and each of the names in a list of them, in a form to compare."""
    return {_simple(one) for one in (name, *name.split(","))}


def _simple(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()


def _places(named: Iterable[tuple[int, set[str]]]) -> dict[str, set[int]]:
    """The classes that have each name."""
    places: dict[str, set[int]] = {}
    for place, names in named:
        for name in names:
            places.setdefault(name, set()).add(place)
    return places


def _only(names: set[str], places: dict[str, set[int]], otherwise: int | None = None) -> int | None:
    """The class that alone has one of `names`."""
    found = {next(iter(there)) for name in names if len(there := places.get(name, set())) == 1}
    return found.pop() if len(found) == 1 else otherwise
