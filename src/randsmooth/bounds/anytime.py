"""A test that holds at any number of samples.

It is the e-process of a uniform prior on the probabilities above p0.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats, check_counts
from randsmooth.bounds.levels import check_alpha
from randsmooth.errors import BadValue

# How much more than log(1/alpha) must speak against p0, in nats: ten times the error of
# `log_e` at ten million samples.
LOG_E_ERROR = 1e-6

# The relative precision of q.
PRECISION = 1e-12

# The incomplete beta function below which the integral is taken by quadrature instead.
SMALLEST_BETA = 1e-200

# The points and weights of that quadrature, for integrals of exp(-w) f(w) from 0 on.
POINTS, WEIGHTS = np.polynomial.laguerre.laggauss(24)


def log_e(s: ArrayLike, n: ArrayLike, q0: ArrayLike) -> Floats:
    """Return ln M: how strongly s of n successes speak for p > p0 = 1 - q0, in nats.

    M is the mean likelihood ratio of p against p0 under p uniform on (p0, 1). Under any
    p <= p0, P(M >= 1/alpha at any n) <= alpha (Ville's inequality).

        ln M = ln B(f + 1, s + 1) + ln I_{q0}(f + 1, s + 1) - (f + 1) ln q0 - s ln p0,
        f = n - s

    Args:
        s: successes, any shape that broadcasts with the others.
        n: samples, at most ten million.
        q0: failure probability at the threshold, in (0, 1).

    Raises:
        Problem: counts that cannot be, or q0 outside (0, 1).

    Example:
        >>> # The mean of (p / 0.5)^10 over p from 0.5 to 1.
        >>> round(math.exp(log_e(10, 10, 0.5)), 2)
        186.09
    """
    check_counts(s, n)
    s = np.asarray(s, np.float64)
    n = np.asarray(n, np.float64)
    q0 = np.asarray(q0, np.float64)
    s, n, q0 = np.broadcast_arrays(s, n, q0)
    if not np.all((q0 > 0.0) & (q0 < 1.0)):
        raise BadValue(f"q0 must lie strictly between 0 and 1; got {q0.tolist()}")
    f = n - s
    incomplete_beta = special.betainc(f + 1.0, s + 1.0, q0)
    too_small = incomplete_beta < SMALLEST_BETA
    log_incomplete_beta = np.log(np.where(too_small, 1.0, incomplete_beta))
    log_beta = special.betaln(f + 1.0, s + 1.0)
    log_m = log_beta + log_incomplete_beta - (f + 1.0) * np.log(q0) - s * np.log1p(-q0)
    log_m = np.asarray(log_m)
    log_m[too_small] = _log_e_by_quadrature(s[too_small], f[too_small], q0[too_small])
    return log_m


def anytime_q_upper(s: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """Return q = 1 - p_lower, where p_lower is the largest p0 that is rejected.

    A p0 is rejected by s of n successes if M >= 1/alpha (see `log_e`).

    P(p_lower > p at any n) <= alpha. What is rejected is an interval (0, p_lower],
    since M falls as p0 grows:

        M = integral over u from 0 to 1 of ((1 - q0 u) / (1 - q0))^s u^f,

    and the fraction rises with q0 for every u < 1. (Without successes M is 1 / (n + 1),
    and nothing is rejected.)

    Args:
        s: successes, any shape that broadcasts with `n`.
        n: samples, at most ten million.
        alpha: probability of failure, in (0, 1).

    Returns:
        q, rounded up to a relative 1e-12; 1.0 (p_lower = 0) where nothing is rejected.

    Raises:
        Problem: counts that cannot be, or alpha outside (0, 1).

    Example:
        >>> p_lower = 1.0 - anytime_q_upper([90, 900], [100, 1000], alpha=0.05)
        >>> p_lower.round(3).tolist()
        [0.795, 0.868]
    """
    check_alpha(alpha)
    check_counts(s, n)
    s, n = np.broadcast_arrays(np.asarray(s, np.float64), np.asarray(n, np.float64))
    # M <= p0 / (f + 1 - (n + 1) q0), by comparing its power series in q0 with a
    # geometric one: at `low`, that is below 1/alpha.
    low = (1.0 - alpha) * (n - s + 1.0) / (n + 1.0)
    high = np.ones(s.shape)
    enough = LOG_E_ERROR - math.log(alpha)
    while np.any(high > low * (1.0 + PRECISION)):
        middle = np.sqrt(low * high)
        rejected = log_e(s, n, middle) >= enough
        low = np.where(rejected, low, middle)
        high = np.where(rejected, middle, high)
    return np.asarray(high)


def _log_e_by_quadrature(s: Floats, f: Floats, q0: Floats) -> Floats:
    """Return ln M where s lies far below n p0: a little above -ln(f + 1).

    There the incomplete beta function is lost. With u = exp(-w / rate) the integrand of
    M is exp(-w) times a function that is nearly constant, as `rate` is large.
    """
    odds = q0 / (1.0 - q0)
    rate = f + 1.0 - s * odds
    v = POINTS / rate[..., None]
    log_factor = np.log1p(-odds[..., None] * np.expm1(-v)) - odds[..., None] * v
    nearly_constant = np.exp(s[..., None] * log_factor)
    return np.asarray(np.log(nearly_constant @ WEIGHTS) - np.log(rate))
