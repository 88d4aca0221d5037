"""Lists of values in a grid, and the settings that come of crossing them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from randsmooth.documents import shown
from randsmooth.errors import InputError


@dataclass(frozen=True)
class Settings:
    """Settings by name, one of those that a part of a grid comes to; `varied` are those of which it had lists."""

    values: Mapping[str, Any] = field(default_factory=dict)
    varied: Collection[str] = ()


def listed(value: Any, where: str) -> list[Any]:
    """A value that may be a list, as a list without doubles.

    Raises:
        InputError: an empty list, or a value twice.

    Example:
        >>> listed(0.5, "sigmas"), listed([0, 1], "seeds")
        ([0.5], [0, 1])
        >>> listed([], "seeds")
        Traceback (most recent call last):
        randsmooth.errors.InputError: the grid is empty: seeds is []; give one value or more
    """
    values = value if isinstance(value, list) else [value]
    if not values:
        raise InputError(f"the grid is empty: {where} is []; give one value or more")
    for i, one in enumerate(values):
        if one in values[:i]:
            raise InputError(f"{where} has {shown(repr(one))} twice")
    return values


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
        return [one for part in listed(settings, where) for one in crossed(part, where)]
    if not isinstance(settings, dict):
        raise InputError(f"{where} must hold `setting: value` lines; got {shown(repr(settings))}")
    varied = [key for key, value in settings.items() if isinstance(value, list)]
    values = [listed(value, f"{where}: {key}") for key, value in settings.items()]
    return [Settings(dict(zip(settings, chosen, strict=True)), varied) for chosen in product(*values)]


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
