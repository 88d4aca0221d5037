"""Arrays of whole numbers that users bring: as they come, or an error that names the column and the row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.rules import MOST_SAMPLES

Ints = NDArray[np.int64]


def whole_numbers(name: str, values: ArrayLike, shape: Sequence[int | None]) -> Ints:
    """`values` as whole numbers from 0 in the given `shape`, in which None stands for any length.

    Floats without a fraction are whole numbers: another program may have written 990.0.

    Raises:
        InputError: they have another shape, or one is no number, has a fraction, or lies outside 0..MOST_SAMPLES.
    """
    found = _array(name, values)
    if found.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):
        raise InputError(f"{name} has shape {found.shape}; expected {_in_words(shape)}")
    if not found.size:
        return found.astype(np.int64)
    if found.dtype.kind not in "iuf":
        raise InputError(f"{name} holds {shown(found.flat[0])!r}; expected whole numbers from 0")
    wrong = ~((found >= 0) & (found <= MOST_SAMPLES) & (found % 1 == 0))
    if np.any(wrong):
        place = tuple(int(axis[0]) for axis in np.nonzero(wrong))
        where = f" in row {place[0]}" if place else ""
        raise InputError(f"{name} holds {found[place]}{where}; expected whole numbers from 0 to {MOST_SAMPLES:,}")
    return found.astype(np.int64)


def _array(name: str, values: ArrayLike) -> NDArray[Any]:
    """As an array of numbers, also where each row is a list of its own, as in a DataFrame's column of counts."""
    try:
        found = np.asarray(values)
        return np.array([np.asarray(row) for row in found]) if found.dtype == object and found.ndim == 1 else found
    except ValueError:
        raise InputError(f"{name} has rows of different lengths") from None


def _in_words(shape: Sequence[int | None]) -> str:
    return "one number" if not shape else f"({', '.join('any' if n is None else str(n) for n in shape)})"
