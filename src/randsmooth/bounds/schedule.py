"""When a sequential procedure looks at its successes, and how the levels of its test are spent over these looks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.errors import InputError

if TYPE_CHECKING:
    from randsmooth.bounds.binomial import Floats, Ints

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
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InputError(f"{name}={value!r} must be a whole number of samples, at least 1")
    if not (isinstance(ratio, int | float) and math.isfinite(ratio) and ratio >= SMALLEST_RATIO):
        raise InputError(f"ratio={ratio!r} must be a finite number of at least {SMALLEST_RATIO}; 1.1 is usual")
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


@dataclass(frozen=True)
class Spending:
    """How much of alpha, and of beta, may be spent up to a look at n of N samples: a share of it times (n / N)^power.

    What is left of either may be spent at the cap N. Any spending is sound; it decides which images stop when.

    Attributes:
        share, power: of alpha.
        beta: probability of giving up, at any look, when p is at least c_K / N, the proportion that still claims at
            the cap N; in (0, 1). It costs certificates, not soundness.
        beta_share, beta_power: of beta.

    Example:
        >>> LATE.of_alpha(np.array([50, 100]), 0.01).round(5).tolist()
        [0.00246, 0.01]
    """

    share: float
    power: float
    beta: float
    beta_share: float
    beta_power: float

    def of_alpha(self, looks: Ints, alpha: float) -> Floats:
        """How much of `alpha` may be spent up to each look (K,)."""
        return _spent(looks, alpha, self.share, self.power)

    def of_beta(self, looks: Ints, beta: float) -> Floats:
        """How much of `beta` may be spent up to each look (K,)."""
        return _spent(looks, beta, self.beta_share, self.beta_power)


def _spent(looks: Ints, level: float, share: float, power: float) -> Floats:
    spent = share * level * (looks / looks[-1]) ** power
    spent[-1] = level
    return np.asarray(spent)


# This comes within a tenth of the fewest samples of any test with these errors (results/bench/fewest-samples.json).
# What runs long lies near its threshold, and most of that is better given up before the cap: an image whose p is
# c_K / N, which the cap itself would certify every other time, is given up every fifth time.
LATE = Spending(share=0.4, power=0.7, beta=0.2, beta_share=1.0, beta_power=1.0)
