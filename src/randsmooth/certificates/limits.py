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


def check_size(size: int) -> None:
    """Raise InputError for a header of more than HEADER bytes."""
    if size > HEADER:
        raise InputError(
            f"the header takes {size:,} bytes, more than {HEADER:,}: keep long lists (classes, facts on the model) "
            "elsewhere"
        )


def _check_whole(name: str, value: int, least: int, most: int, usual: int) -> None:
    if not least <= value <= most:
        raise InputError(f"{name}={shown(value)} must lie from {least:,} to {most:,}; {usual} is usual")


NUMBERS: dict[str, Callable[[Any], object]] = {
    "sigma": check_sigma,
    "alpha": bounds.check_level,
    "n0": lambda n0: check_samples("n0", n0, least=0),
    "n": lambda n: check_samples("n", n),
    "seed": lambda seed: _check_whole("seed", seed, -SEED, SEED - 1, 0),
    "batch": lambda batch: _check_whole("batch", batch, 1, BATCH, 256),
    "shard": Shard.parse,
}


def _check_plain(name: str, value: Any, deep: int) -> None:
    """Raise InputError unless `value` can be written as JSON and read as it was, with no more than `deep` levels."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(name, value)
    elif isinstance(value, dict | list | tuple):
        if deep == 0:
            raise InputError(f"{name} is nested deeper than {DEEP} levels: keep it elsewhere")
        for part in [*value, *value.values()] if isinstance(value, dict) else value:
            _check_plain(name, part, deep - 1)
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            raise InputError(f"{name} is a mapping whose keys are not all texts: {shown(list(value))}")
    elif not _is_number(value):
        raise InputError(
            f"{name} holds {shown(repr(value))}: a header has room for texts, finite numbers, whole ones up to "
            f"{INTEGER:.0e}, and lists or mappings of them"
        )


def _check_text(name: str, value: str) -> None:
    if len(value) > LONG:
        raise InputError(f"{name}={shown(value[:LONG])} is {len(value):,} characters long; shorten it to {LONG:,}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name}={shown(repr(value))} holds half a character (a lone surrogate)") from None


def _is_number(value: Any) -> bool:
    return (isinstance(value, int) and abs(value) <= INTEGER) or (isinstance(value, float) and math.isfinite(value))
