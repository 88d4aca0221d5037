"""When a sequential procedure looks at its successes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.errors import InputError

if TYPE_CHECKING:
    from randsmooth.bounds.binomial import Ints

RATIO = 1.1  # from one look to the next
GRAIN = 32  # samples in a batch, and at the first look


def looks(cap: int) -> Ints:
    """Cumulative sample counts n_1 < n_2 < ... < n_K = cap, which grow by a tenth and are whole batches of 32.

    Args:
        cap: the most samples that may be drawn; the last look, and the only one that may be no whole batch.

    Returns:
        The counts (K,).

    Raises:
        InputError: the cap is no whole number >= 1.

    Example:
        >>> looks(200).tolist()
        [32, 64, 96, 128, 160, 192, 200]
    """
    if isinstance(cap, bool) or not isinstance(cap, int | np.integer) or cap < 1:
        raise InputError(f"cap={cap!r} must be a whole number of samples, at least 1")
    steps = max(0, math.floor(math.log(cap / GRAIN) / math.log(RATIO))) + 1
    batches = np.ceil(RATIO ** np.arange(steps) - 1e-9).astype(np.int64)  # rounding puts no power above its batch
    rounded = np.unique(batches) * GRAIN
    return np.append(rounded[rounded < cap], np.int64(cap))


def check_looks(looks: ArrayLike) -> Ints:
    """`looks` as integers (K,); InputError unless they are whole numbers >= 1 that increase, at least one."""
    values = np.asarray(looks)
    if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu":
        raise InputError(f"looks must be a list of whole numbers of samples, such as looks(100_000); got {looks!r}")
    if values[0] < 1 or np.any(values[1:] <= values[:-1]):
        raise InputError(f"looks must be >= 1 and increase, such as 32, 64, 96; got {values.tolist()}")
    return values.astype(np.int64)
