"""Clopper-Pearson bounds on a binomial probability, and the counts behind them.

They are for one class, for any class, and randomised.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from randsmooth.bounds.levels import check_alpha
from randsmooth.errors import BadValue

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# How many standard deviations of the normal quantile the randomised bound may exceed
# the plain one by.
CAP = 0.1

# The steps of a bisection: down to far below the rounding of the distribution function.
BISECTIONS = 60


def check_counts(k: ArrayLike, n: ArrayLike) -> None:
    """Raise Problem unless every 0 <= k <= n and n >= 1.

    Example:
        >>> check_counts([0, 7, 10], 10)
        >>> check_counts(11, 10)
        Traceback (most recent call last):
            ...
        randsmooth.errors.BadValue: successes must lie in 0..n, of n >= 1 samples; got k=11 of n=10
    """
    k = np.asarray(k)
    n = np.asarray(n)
    if np.any((k < 0) | (k > n) | (n < 1)):
        raise BadValue(
            f"successes must lie in 0..n, of n >= 1 samples; got k={k.tolist()} of "
            f"n={n.tolist()}"
        )


def q_upper(k: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Return an upper bound on the failure probability q, by Clopper and Pearson.

    It is 1 minus the one-sided lower bound, kept as q because p may be so close to 1
    that 1 - p has no digits left; the all-success case is exact.

    Args:
        k: successes, any shape that broadcasts with `n`.
        n: samples.
        alpha: probability of failure, in (0, 1).

    Source: Clopper & Pearson 1934; the quantile of Beta(k, n - k + 1).

    Example:
        >>> q_upper([0, 50, 100], 100, alpha=0.001).round(4).tolist()
        [1.0, 0.6552, 0.0667]
        >>> float(q_upper(100_000, 100_000, alpha=0.001))
        6.907516699060702e-05
    """
    check_alpha(alpha)
    check_counts(k, n)
    k, n = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    # k = 0 has no Beta quantile: its bound on q is 1.
    k_of_quantile = np.clip(k, 1.0, None)
    q = special.betainccinv(n - k_of_quantile + 1.0, k_of_quantile, alpha)
    # q = 1 - alpha^(1/n)
    q_of_all_successes = -np.expm1(math.log(alpha) / n)
    q = np.where(k == n, q_of_all_successes, q)
    return np.where(k == 0, 1.0, q)


def expected_q_upper(q: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Return the upper bound on q that n samples are expected to give, of which q fail.

    That is `q_upper` for n (1 - q) successes, which need be no whole number: a
    forecast, no bound.

    Args:
        q: the share of failures, any shape that broadcasts with `n`.
        n: samples.
        alpha: probability of failure, in (0, 1).

    Example:
        >>> expected_q_upper(0.005, [100, 1000], alpha=0.001).round(4).tolist()
        [0.0783, 0.0164]
    """
    failures = np.multiply(n, q)
    successes = np.multiply(n, np.subtract(1.0, q))
    return np.asarray(special.betainccinv(failures + 1.0, successes, alpha))


def lower(k: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Return a one-sided lower bound p_lower: P(p_lower > p) <= alpha, k ~ Bin(n, p).

    Shapes and errors as `q_upper`.

    Example:
        >>> lower([0, 50, 100], 100, alpha=0.001).round(4).tolist()
        [0.0, 0.3448, 0.9333]
    """
    return np.asarray(1.0 - q_upper(k, n, alpha))


def upper(k: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Return a one-sided upper bound p_upper: P(p_upper < p) <= alpha.

    It is 1 minus the lower bound of the failures.

    Example:
        >>> upper([0, 50, 100], 100, alpha=0.001).round(4).tolist()
        [0.0667, 0.6552, 1.0]
    """
    # Checked here, so that an error names the successes and not the failures.
    check_counts(k, n)
    return q_upper(np.asarray(n) - np.asarray(k), n, alpha)


def any_class_q_upper(k: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Return q = 1 - p_lower for whichever class is picked, also by these samples.

    It is Clopper and Pearson's at alpha / 2, where p_lower is above 1/2.

    The one-sided bound at alpha holds for one class that was picked without these
    samples. The most frequent class of the same samples is not such a class: of two
    classes with probability 1/2 each, one or the other is claimed twice as often. Twice
    is the worst case, however many classes there are, so that alpha / 2 suffices.

    Let c be the fewest successes whose bound at alpha / 2 exceeds 1/2, and f(p) =
    P(Bin(n, p) >= c). A class of probability p <= 1/2 is claimed falsely with
    probability f(p). As c > n / 2, f is convex on [0, 1/2]; with f(0) = 0 and f(1/2) <=
    alpha / 2, this gives f(p) <= p * alpha. A class of probability p > 1/2, of which
    there is at most one, is claimed falsely with probability at most alpha / 2, which
    is below p * alpha. All classes together are claimed falsely with probability at
    most alpha times the sum of their probabilities, which is 1. Where the bound is 1/2
    or less the argument does not hold, and nothing is claimed.

    Args:
        k: how often the picked class came out, any shape that broadcasts with `n`.
        n: samples.
        alpha: probability that any class is claimed falsely, in (0, 1).

    Returns:
        q below 1/2, or 1.0 where nothing is claimed.

    Raises:
        Problem: counts that cannot be, or alpha outside (0, 1).

    Example:
        >>> any_class_q_upper([50, 90, 100], 100, alpha=0.001).round(4).tolist()
        [1.0, 0.2338, 0.0732]
    """
    check_alpha(alpha)
    q = q_upper(k, n, alpha / 2.0)
    return np.where(q < 0.5, q, 1.0)


def randomised_q_upper(
    k: ArrayLike, n: ArrayLike, alpha: float, u: ArrayLike
) -> Floats:
    """Return 1 minus the randomised lower bound.

    It is the q at which P(X > k) + u P(X = k) = alpha, X ~ Bin(n, 1 - q).

    The level is alpha exactly over samples and `u` together, provided that `u` is
    independent of the samples, and the image was chosen without knowledge of it: to
    draw it again until the bound pleases would break the level. Given `u` alone, the
    bound fails with another probability, up to 10.2 alpha at n = 100,000 and alpha =
    0.001. The radius that follows under Gaussian noise is kept to at most CAP * sigma
    above that of `q_upper`: that makes the bound safer.

    Args:
        k: successes; the shapes of k, n and u broadcast.
        n: samples.
        u: uniform numbers in (0, 1).
        alpha: probability of failure, in (0, 1).

    Raises:
        Problem: as `q_upper`, or a u outside (0, 1).

    Source: Voracek, "Treatment of Statistical Estimation Problems in Randomized
    Smoothing", NeurIPS 2024.

    Example:
        >>> plain = q_upper(95, 100, alpha=0.001)
        >>> lucky = randomised_q_upper(95, 100, alpha=0.001, u=0.01)
        >>> float(plain.round(4)), float(lucky.round(4))
        (0.1554, 0.1404)
    """
    check_alpha(alpha)
    k = np.asarray(k, np.float64)
    n = np.asarray(n, np.float64)
    u = np.asarray(u, np.float64)
    k, n, u = np.broadcast_arrays(k, n, u)
    if np.any((u <= 0.0) | (u >= 1.0)):
        raise BadValue(
            f"the uniform numbers must lie strictly between 0 and 1; got {u.tolist()}"
        )
    plain = q_upper(k, n, alpha)
    low = np.zeros_like(plain)
    # A q that is safe: it falls as the bound on p rises.
    high = plain
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        safe = _randomised_level(k, n, u, middle) <= alpha
        low = np.where(safe, low, middle)
        high = np.where(safe, middle, high)
    smallest = special.ndtr(special.ndtri(plain) - CAP)
    return np.asarray(np.maximum(high, smallest))


def _randomised_level(k: Floats, n: Floats, u: Floats, q: Floats) -> Floats:
    """Return P(X > k) + u P(X = k) for X ~ Bin(n, 1 - q)."""
    q = np.clip(q, 1e-300, 1.0 - 1e-16)
    more_than_k = special.betaincc(np.maximum(n - k, 1.0), k + 1.0, q)
    more_than_k = np.where(k < n, more_than_k, 0.0)
    log_choose = (
        special.gammaln(n + 1.0)
        - special.gammaln(k + 1.0)
        - special.gammaln(n - k + 1.0)
    )
    exactly_k = np.exp(log_choose + k * np.log1p(-q) + special.xlogy(n - k, q))
    return np.asarray(more_than_k + u * exactly_k)


def two_sided_p_value(k: int, n: int) -> float:
    """Return the p-value of the exact two-sided test of p = 1/2 for k of n successes.

    Source: Cohen et al. 2019, PREDICT.

    Example:
        >>> round(two_sided_p_value(8, 10), 6)  # 2 (45 + 10 + 1) / 1024
        0.109375
    """
    check_counts(k, n)
    fewer = min(k, n - k)

    # P(Bin(n, 1/2) <= fewer). SciPy's bdtr is off by 40% at n = 10^9, and no number
    # from 2^32 on.
    return min(1.0, 2.0 * float(special.betaincc(fewer + 1, n - fewer, 0.5)))


def successes_of_q(q: ArrayLike, n: int, alpha: float) -> Ints:
    """Return the k whose `q_upper(k, n, alpha)` is nearest to `q`.

    A published radius was computed from so many successes.

    Args:
        q: 1 - p_lower, any shape, in (0, 1).
        n, alpha: those with which the certificate was made.

    Example:
        >>> q = q_upper([51, 99, 100], 100, alpha=0.001)
        >>> successes_of_q(q, 100, alpha=0.001).tolist()
        [51, 99, 100]
    """
    shape = np.shape(q)
    # Printed radii repeat.
    q, place = np.unique(np.asarray(q, np.float64), return_inverse=True)

    # P(Bin(n, q) <= n - k) = alpha at the bound of k; the failures n - k are not a
    # number where even n of n successes prove less.
    failures = np.nan_to_num(special.bdtrik(alpha, n, q)).astype(np.int64)
    k_below = n - failures - 1
    low = np.clip(k_below, 0, n)
    high = np.clip(k_below + 1, 0, n)
    error_of_low = np.abs(q_upper(low, n, alpha) - q)
    error_of_high = np.abs(q_upper(high, n, alpha) - q)
    nearest = np.where(error_of_low <= error_of_high, low, high)
    return np.asarray(nearest[place].reshape(shape))
