"""Clopper-Pearson with a uniform number, which closes the gap that whole counts leave."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats, q_upper
from randsmooth.bounds.limits import check_alpha
from randsmooth.errors import InputError

CAP = 0.1  # sigma by which its radius may exceed the plain bound's; without it, n of n successes have no limit
STEPS = 60  # of bisection: far below the rounding of the distribution function


def randomised_q_upper(k: ArrayLike, n: ArrayLike, alpha: float, u: ArrayLike) -> Floats:
    """1 minus the randomised lower bound: the q at which P(X > k) + u P(X = k) = alpha, X ~ Bin(n, 1 - q).

    The level is alpha exactly over samples and `u` together, provided that `u` is independent of the samples, and the
    image was chosen without knowledge of it: to draw it again until the bound pleases would break the level. Given `u`
    alone, the bound fails with another probability, up to 10.2 alpha at n = 100,000 and alpha = 0.001. The radius that
    follows is kept to at most CAP * sigma above that of `q_upper`, which only makes the bound safer.

    Args:
        k: successes, n: samples, u: uniform numbers in (0, 1); shapes broadcast.
        alpha: probability of failure, in (0, 1).

    Raises:
        InputError: as `q_upper`, or a u outside (0, 1).

    Source: Voracek, "Treatment of Statistical Estimation Problems in Randomized Smoothing", NeurIPS 2024.

    Example:
        >>> plain = q_upper(95, 100, alpha=0.001)
        >>> lucky = randomised_q_upper(95, 100, alpha=0.001, u=0.01)
        >>> float(plain.round(4)), float(lucky.round(4))
        (0.1554, 0.1404)
    """
    check_alpha(alpha)
    k, n, u = np.broadcast_arrays(*(np.asarray(part, np.float64) for part in (k, n, u)))
    if np.any((u <= 0.0) | (u >= 1.0)):
        raise InputError(f"the uniform numbers must lie strictly between 0 and 1; got {u.tolist()}")
    plain = q_upper(k, n, alpha)
    low, high = np.zeros_like(plain), plain  # q falls as the bound on p rises
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        safe = _level(k, n, u, middle) <= alpha
        low, high = np.where(safe, low, middle), np.where(safe, middle, high)
    return np.asarray(np.maximum(high, special.ndtr(special.ndtri(plain) - CAP)))


def _level(k: Floats, n: Floats, u: Floats, q: Floats) -> Floats:
    """P(X > k) + u P(X = k) for X ~ Bin(n, 1 - q)."""
    q = np.clip(q, 1e-300, 1.0 - 1e-16)
    above = np.where(k < n, special.betaincc(np.maximum(n - k, 1.0), k + 1.0, q), 0.0)
    log_choose = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
    at = np.exp(log_choose + k * np.log1p(-q) + special.xlogy(n - k, q))
    return np.asarray(above + u * at)
