"""Lists of values in a grid, and the settings that come of crossing them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, TypeVar

from randsmooth.documents import shown
from randsmooth.errors import InputError

MOST = 2_000  # models of a grid, or settings of a part of it

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """Settings by name, one of those that a part of a grid comes to; `varied` are those of which it had lists."""

    values: Mapping[str, Any] = field(default_factory=dict)
    varied: Collection[str] = ()


def listed(value: Any, where: str) -> list[Any]:
    """A value that may be a list, as a list without doubles.

    Raises:
        InputError: an empty list, one of more than MOST, or a value twice.

    Example:
        >>> listed(0.5, "sigmas"), listed([0, 1], "seeds")
        ([0.5], [0, 1])
        >>> listed([], "seeds")
        Traceback (most recent call last):
        randsmooth.errors.InputError: the grid is empty: seeds is []; give one value or more
    """
    values = at_most(value if isinstance(value, list) else [value], where)
    if not values:
        raise InputError(f"the grid is empty: {where} is []; give one value or more")
    for i, one in enumerate(values):
        if one in values[:i]:
            raise InputError(f"{where} has {shown(repr(one))} twice")
    return values


def at_most(values: Iterable[T], where: str) -> list[T]:
    """The values, of which no more are made than a sweep may have.

    Raises:
        InputError: there are more than MOST.

    Example:
        >>> at_most(product(range(300), range(300), range(300)), "train")
        Traceback (most recent call last):
        randsmooth.errors.InputError: train comes to more than 2,000: leave some out, or make several grids
    """
    found = list(islice(values, MOST + 1))
    if len(found) > MOST:
        raise InputError(f"{where} comes to more than {MOST:,}: leave some out, or make several grids")
    return found


def crossed(settings: Any, where: str) -> list[Settings]:
    """A mapping whose lists are crossed; or a list of such mappings, one after the other. None stands for {}.

    Example:
        >>> for one in crossed({"n": 1000, "rule": ["fixed", "grid"]}, "certify"):
        ...     print(one.values, one.varied)
        {'n': 1000, 'rule': 'fixed'} ['rule']
        {'n': 1000, 'rule': 'grid'} ['rule']
    """
    if settings is None:
        return [Settings()]
    if isinstance(settings, list):
        return at_most((one for part in listed(settings, where) for one in crossed(part, where)), where)
    if not isinstance(settings, dict):
        raise InputError(f"{where} must hold `setting: value` lines; got {shown(repr(settings))}")
    varied = [key for key, value in settings.items() if isinstance(value, list)]
    values = [listed(value, f"{where}: {key}") for key, value in settings.items()]
    return at_most((Settings(dict(zip(settings, chosen, strict=True)), varied) for chosen in product(*values)), where)


def named(value: Any, where: str) -> Iterator[tuple[str, Settings]]:
    """Names with their settings: a name, a list of names, or a mapping from names to what `crossed` takes.

    Example:
        >>> [(name, one.values) for name, one in named({"gaussian": None, "macer": {"lbd": [6, 16]}}, "methods")]
        [('gaussian', {}), ('macer', {'lbd': 6}), ('macer', {'lbd': 16})]
    """
    if isinstance(value, dict) and value:
        for name, settings in value.items():
            yield from ((name, one) for one in crossed(settings, f"{where}: {name}"))
        return
    for name in listed([] if isinstance(value, dict) else value, where):
        if isinstance(name, dict):
            yield from named(name, where)
        elif isinstance(name, str):
            yield name, Settings()
        else:
            raise InputError(f"{where} must be names, or `name: settings` lines; got {shown(repr(name))}")
