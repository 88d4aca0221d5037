"""Whole numbers as people write them: 100000, 100_000, 1e5, 100k."""

from __future__ import annotations

import re
import types
import typing
from decimal import Decimal
from typing import Any

from randsmooth.documents import shown
from randsmooth.errors import InputError

WAYS = (r"[-+]?\d{1,20}", r"[-+]?\d{1,3}(?:_\d{3}){1,6}", r"\d{1,20}(?:\.\d{1,20})?(?:[eE]\+?\d{1,2}|[kM])")
WRITTEN = re.compile("|".join(WAYS), re.ASCII)
SCALES = {"k": "e3", "M": "e6"}


def is_whole(annotation: Any) -> bool:
    """Whether a field that is annotated so holds a whole number, or None.

    Example:
        >>> is_whole(int), is_whole(int | None), is_whole(float)
        (True, True, False)
    """
    return annotation is int or {*typing.get_args(annotation)} == {int, types.NoneType}


def whole_number(value: Any) -> Any:
    """The whole number that a word or a float stands for; anything but these and a bool is returned as it is.

    Raises:
        InputError: the word or the float is no whole number.

    Example:
        >>> [whole_number(value) for value in ("1000", "100_000", "1e5", "2.5e3", "100k", "1M", 1e5, None)]
        [1000, 100000, 100000, 2500, 100000, 1000000, 100000, None]
        >>> whole_number("1.5")
        Traceback (most recent call last):
        randsmooth.errors.InputError: '1.5' must be a whole number, such as 1000, 100_000, 1e5 or 100k
    """
    found: Decimal | None = None
    if isinstance(value, str):
        found = _read(value.strip())
    elif isinstance(value, float):
        found = Decimal(value) if value.is_integer() else None
    elif not isinstance(value, bool):
        return value
    if found is None or found != found.to_integral_value():
        raise InputError(f"{shown(repr(value))} must be a whole number, such as 1000, 100_000, 1e5 or 100k")
    return int(found)


def _read(text: str) -> Decimal | None:
    """The number that `text` spells; None where it is none that is written in one of our ways."""
    if not WRITTEN.fullmatch(text):
        return None
    return Decimal(text[:-1] + SCALES[text[-1]] if text[-1] in SCALES else text.replace("_", ""))
