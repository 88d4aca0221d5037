"""Bounds on means of values in [0, 1] from their mean and variance.

The values are softmax scores, of the soft smoothed classifier.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats, check_counts
from randsmooth.bounds.levels import check_alpha
from randsmooth.errors import BadValue, TooFewSamples

# How far float64 sums of a million values in [0, 1] may be off.
SUM_ERROR = 1e-9


def hoeffding_lower(mean: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Return z_A - sqrt(log(1 / alpha) / (2 n)), a lower bound on an expectation.

    It is never below 0. P(bound > expectation) <= alpha for n independent values in
    [0, 1]. The soft certificate is the noise's radius of it: z_B is at most 1 - z_A, so
    all of alpha goes to the picked class, picked by other samples.

    Args:
        mean: of the picked class's softmax over the n samples, in [0, 1]; broadcasts
            with `n`.
        n: samples, >= 1.
        alpha: probability of failure, in (0, 1).

    Raises:
        Problem: a mean outside [0, 1], n < 1, alpha out of range.

    Source: Zhai et al. 2020 (MACER), eq. 23 and CERTIFYHOEFFDING of algorithm 2.

    Example:
        >>> # 0.9 - sqrt(log(1000) / 2000)
        >>> float(hoeffding_lower(0.9, 1000, alpha=0.001).round(3))
        0.841
    """
    check_alpha(alpha)
    check_counts(0, n)
    z_A = require_in_range("mean", mean)
    n = np.asarray(n, np.float64)
    bound = z_A - np.sqrt(-math.log(alpha) / (2.0 * n))
    return np.asarray(np.maximum(0.0, bound))


def bernstein_lower(
    mean: ArrayLike, variance: ArrayLike, n: ArrayLike, alpha: float
) -> Floats:
    """Return z_A - sqrt(2 S^2 log(2 / alpha) / n) - 7 log(2 / alpha) / (3 (n - 1)).

    It is a lower bound on an expectation, never below 0: P(bound > expectation) <=
    alpha for n independent values in [0, 1]. Use it as `hoeffding_lower`; it is the
    better one where the variance S^2 is small.

    Args:
        mean, n, alpha: as `hoeffding_lower`, with n >= 2.
        variance: the sample variance S^2, with n - 1 in the denominator (see
            `sample_variance`).

    Raises:
        Problem: a variance that no values in [0, 1] with this mean have, n < 2; and as
            `hoeffding_lower`.

    Source: Maurer & Pontil 2009, theorem 4; Zhai et al. 2020 (MACER), eq. 26 and
        CERTIFYBERNSTEIN of algorithm 2.

    Example:
        >>> float(bernstein_lower(0.9, 0.01, 1000, alpha=0.001).round(3))
        0.87
    """
    check_alpha(alpha)
    z_A = require_in_range("mean", mean)
    n = _at_least_two(n)
    # Of values in [0, 1] with this mean, those that are 0 or 1 vary most.
    largest_variance = z_A * (1.0 - z_A) * n / (n - 1.0)
    variance = require_in_range("variance", variance, largest_variance + SUM_ERROR)

    log = math.log(2.0 / alpha)
    bound = z_A - np.sqrt(2.0 * variance * log / n) - 7.0 * log / (3.0 * (n - 1.0))
    return np.asarray(np.maximum(0.0, bound))


def sample_variance(total: ArrayLike, squares: ArrayLike, n: ArrayLike) -> Floats:
    """Return S^2 of n values, never below 0.

    Args:
        total: sum of the values.
        squares: sum of their squares.
        n: how many there are.

    Raises:
        Problem: n < 2.

    Source: Zhai et al. 2020 (MACER), eq. 25.

    Example:
        >>> values = np.array([0.1, 0.5, 0.9])
        >>> variance = sample_variance(values.sum(), (values**2).sum(), 3)
        >>> float(variance.round(4)), float(values.var(ddof=1).round(4))
        (0.16, 0.16)
    """
    n = _at_least_two(n)
    total = np.asarray(total, np.float64)
    squares = np.asarray(squares, np.float64)
    variance = (squares - total * total / n) / (n - 1.0)
    return np.asarray(np.maximum(0.0, variance))


def require_in_range(name: str, values: ArrayLike, most: ArrayLike = 1.0) -> Floats:
    """Return the `values` as float64.

    Raises:
        Problem: one lies outside [0, most].
    """
    values = np.asarray(values, np.float64)
    outside = ~((values >= 0.0) & (values <= most))
    if np.any(outside):
        value = np.broadcast_to(values, outside.shape)[outside][0]
        limit = np.broadcast_to(most, outside.shape)[outside][0]
        raise BadValue(
            f"{name}={value:.4g} must lie in [0, {limit:.4g}]; divide a sum by n"
        )
    return values


def _at_least_two(n: ArrayLike) -> Floats:
    """Return n as float64.

    Raises:
        Problem: n < 2, where no sample variance exists.
    """
    n = np.asarray(n, np.float64)
    if np.any(n < 2):
        raise TooFewSamples(
            f"a sample variance needs n >= 2 samples; got n={np.min(n):g}"
        )
    return n
