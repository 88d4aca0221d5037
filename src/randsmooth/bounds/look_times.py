"""The sample counts at which a sequential procedure looks at its successes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Ints
from randsmooth.errors import InputError

SMALLEST_RATIO = 1.001  # below it the list grows without end, and the looks are a grain apart anyhow


def looks(cap: int, *, ratio: float = 1.1, first: int = 32, grain: int = 32) -> Ints:
    """Cumulative sample counts n_1 < n_2 < ... < n_K = cap, geometric and in whole batches.

    Args:
        cap: the most samples that may be drawn; the last look, and the only one that may be off the grain.
        ratio: the growth from one look to the next, before rounding.
        first: the first look, before rounding; at or above `cap` there is one look only.
        grain: samples in a batch; every look below the cap is rounded up to a multiple of it.

    Returns:
        The counts (K,).

    Raises:
        InputError: a count that is no whole number >= 1, or a ratio below 1.001.

    Example:
        >>> looks(200).tolist()
        [32, 64, 96, 128, 160, 192, 200]
        >>> looks(1000, ratio=2.0).tolist()
        [32, 64, 128, 256, 512, 1000]
    """
    for name, value in (("cap", cap), ("first", first), ("grain", grain)):
        _check_count(name, value)
    _check_ratio(ratio)
    steps = max(0, math.floor(math.log(cap / first) / math.log(ratio))) + 1
    exact = first * ratio ** np.arange(steps)
    batches = np.ceil(exact / grain - 1e-9).astype(np.int64)  # a power that rounding put above a batch stays in it
    rounded = np.unique(batches) * grain
    return np.append(rounded[rounded < cap], np.int64(cap))


def check_looks(looks: ArrayLike) -> Ints:
    """`looks` as integers (K,); InputError unless they are whole numbers >= 1 that increase, at least one."""
    values = np.asarray(looks)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise InputError(f"looks must be a list of whole numbers of samples, such as looks(100_000); got {looks!r}")
    if values[0] < 1 or np.any(values[1:] <= values[:-1]):
        raise InputError(f"looks must be >= 1 and increase, such as 32, 64, 96; got {values.tolist()}")
    return values.astype(np.int64)


def _check_count(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name}={value!r} must be a whole number of samples, at least 1")


def _check_ratio(ratio: float) -> None:
    try:
        usable = math.isfinite(ratio) and ratio >= SMALLEST_RATIO
    except TypeError:
        usable = False
    if not usable:
        raise InputError(f"ratio={ratio!r} must be a finite number of at least {SMALLEST_RATIO}; 1.1 is usual")
