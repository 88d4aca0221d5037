"""Bounds on a mean softmax probability: certifying the soft smoothed classifier."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats, check_counts
from randsmooth.bounds.limits import check_alpha
from randsmooth.errors import InputError

ROUNDING = 1e-9  # what float64 sums of a million values in [0, 1] may be off by


def hoeffding_lower(mean: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Lower bound z_A - sqrt(log(1 / alpha) / (2 n)) on an expectation, never below 0.

    P(bound > expectation) <= alpha for n independent values in [0, 1]. The soft certificate is `radius` of the
    bound: z_B is at most 1 - z_A, so all of alpha goes to the picked class, which other samples must have picked.

    Args:
        mean: of the picked class's softmax over the n samples, in [0, 1]; broadcasts with `n`.
        n: samples, >= 1.
        alpha: probability of failure, in (0, 1).

    Raises:
        InputError: a mean outside [0, 1], n < 1, alpha out of range.

    Source: Zhai et al. 2020 (MACER), eq. 23 and CERTIFYHOEFFDING of algorithm 2.

    Example:
        >>> float(hoeffding_lower(0.9, 1000, alpha=0.001).round(3))  # 0.9 - sqrt(log(1000) / 2000)
        0.841
    """
    check_alpha(alpha)
    mean, n = check_mean(mean, n)
    return np.asarray(np.maximum(0.0, mean - np.sqrt(-math.log(alpha) / (2.0 * n))))


def bernstein_lower(mean: ArrayLike, variance: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Lower bound z_A - sqrt(2 S^2 log(2 / alpha) / n) - 7 log(2 / alpha) / (3 (n - 1)), never below 0.

    P(bound > expectation) <= alpha for n independent values in [0, 1]. Use as `hoeffding_lower`; it is the better one
    where the variance S^2 is small.

    Args:
        mean, n, alpha: as `hoeffding_lower`, with n >= 2.
        variance: the sample variance S^2, with n - 1 in the denominator (see `sample_variance`).

    Raises:
        InputError: a variance that no values in [0, 1] with this mean have, n < 2; and as `hoeffding_lower`.

    Source: Maurer & Pontil 2009, theorem 4; Zhai et al. 2020 (MACER), eq. 26 and CERTIFYBERNSTEIN of algorithm 2.

    Example:
        >>> float(bernstein_lower(0.9, 0.01, 1000, alpha=0.001).round(3))
        0.87
    """
    check_alpha(alpha)
    mean, n = check_mean(mean, n)
    variance = check_variance(variance, mean, n)
    log = math.log(2.0 / alpha)
    return np.asarray(np.maximum(0.0, mean - np.sqrt(2.0 * variance * log / n) - 7.0 * log / (3.0 * (n - 1.0))))


def sample_variance(total: ArrayLike, squares: ArrayLike, n: ArrayLike) -> Floats:
    """S^2 of n values from their sum and their sum of squares, never below 0 (Zhai et al. 2020, eq. 25).

    Raises:
        InputError: n < 2.

    Example:
        >>> values = np.array([0.1, 0.5, 0.9])
        >>> float(sample_variance(values.sum(), (values**2).sum(), 3).round(4)), float(values.var(ddof=1).round(4))
        (0.16, 0.16)
    """
    n = at_least_two(n)
    total = np.asarray(total, np.float64)
    return np.asarray(np.maximum(0.0, (np.asarray(squares, np.float64) - total * total / n) / (n - 1.0)))


def check_mean(mean: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """Both as float64; raise InputError unless 0 <= mean <= 1 and n >= 1."""
    mean, n = np.asarray(mean, np.float64), np.asarray(n, np.float64)
    outside = ~((mean >= 0.0) & (mean <= 1.0))
    if np.any(outside):
        raise InputError(
            f"mean={mean[outside].flat[0]} of softmax probabilities must lie in [0, 1]; divide the sum by n"
        )
    check_counts(0, n)
    return mean, n


def check_variance(variance: ArrayLike, mean: Floats, n: Floats) -> Floats:
    """As float64; raise InputError unless 0 <= S^2 <= mean (1 - mean) n / (n - 1), the most that [0, 1] allows."""
    n = at_least_two(n)
    variance = np.asarray(variance, np.float64)
    most = mean * (1.0 - mean) * n / (n - 1.0) + ROUNDING
    outside = ~((variance >= 0.0) & (variance <= most))
    if np.any(outside):
        found, limit = (float(np.broadcast_to(v, outside.shape)[outside][0]) for v in (variance, most))
        raise InputError(
            f"variance={found:.4g} must lie between 0 and {limit:.4g}, the most that values in [0, 1] of this mean "
            "have; give the square of the deviation, not a sum of squares"
        )
    return variance


def at_least_two(n: ArrayLike) -> Floats:
    """n as float64; raise InputError below 2, where no sample variance exists."""
    n = np.asarray(n, np.float64)
    if np.any(n < 2):
        raise InputError(f"a sample variance needs n >= 2 samples; got n={np.min(n):g}")
    return n
