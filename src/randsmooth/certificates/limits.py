"""Limits of the facts in a header: far beyond any use, but a malicious file cannot take long to handle within them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from randsmooth import bounds
from randsmooth.certificates.selection import Shard
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.noise import check_sigma
from randsmooth.rules import check_samples

HEADER = 2**22  # bytes as JSON: ImageNet's 21,841 class names take an eighth
LONG = 1000  # characters of a text
DEEP = 8  # lists and mappings within each other
SEED = 2**63  # in magnitude
BATCH = 2**31
INTEGER = 10**30  # magnitude of a number that describes a model: it can be printed, and converted to a float


def check_facts(facts: Iterable[tuple[str, Any]]) -> None:
    """Raise InputError for the first of a header's `facts` (name, value) beyond its limit; None means unknown."""
    for name, value in facts:
        if name in NUMBERS and value is not None:
            NUMBERS[name](value)
        else:
            _check_plain(name, value, DEEP)


def _check_whole(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InputError(f"{name}={shown(value)} must lie from {least:,} to {most:,}")


NUMBERS: dict[str, Callable[[Any], object]] = {
    "sigma": check_sigma,
    "alpha": bounds.check_level,
    "n0": lambda n0: check_samples("n0", n0, least=0),
    "n": lambda n: check_samples("n", n),
    "seed": lambda seed: _check_whole("seed", seed, -SEED, SEED - 1),
    "batch": lambda batch: _check_whole("batch", batch, 1, BATCH),
    "shard": Shard.parse,
}


def _check_plain(name: str, value: Any, deep: int) -> None:
    """Raise InputError unless `value` can be written as JSON and read as it was, with no more than `deep` levels."""
    if isinstance(value, dict | list | tuple) and deep > 0:
        for part in [*value, *value.values()] if isinstance(value, dict) else value:
            _check_plain(name, part, deep - 1)
        plain = not isinstance(value, dict) or all(isinstance(key, str) for key in value)
    elif isinstance(value, str):
        plain = len(value) <= LONG and not any("\ud800" <= c <= "\udfff" for c in value)
    elif isinstance(value, float):
        plain = math.isfinite(value)
    else:
        plain = value is None or (isinstance(value, int) and abs(value) <= INTEGER)
    if not plain:
        raise InputError(
            f"{name} holds {shown(repr(value))}: a header has room for texts of at most {LONG:,} characters, finite "
            f"numbers, whole ones up to {INTEGER:.0e}, and lists or mappings of them, at most {DEEP} levels deep"
        )
