"""From a bound on the top class's probability to a certified L2 radius, and back."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Decimal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats
from randsmooth.bounds.limits import check_sigma


def radius_of_tail(q: ArrayLike, sigma: float) -> Floats:
    """Certified L2 radius R = sigma * Phi^-1(p_lower) for q = 1 - p_lower; 0 where p_lower <= 1/2.

    Source: Cohen et al. 2019, theorem 1 with p_B = 1 - p_A.

    Example:
        >>> radius_of_tail([0.1587, 0.0228], sigma=0.5).round(3).tolist()  # 1 and 2 sigma
        [0.5, 1.0]
    """
    check_sigma(sigma)
    return np.asarray(np.maximum(0.0, -sigma * special.ndtri(np.asarray(q, np.float64))))


def radius(p_lower: ArrayLike, sigma: float) -> Floats:
    """Certified L2 radius for p_lower itself; above 0.999 digits are lost, which `radius_of_tail` keeps.

    Example:
        >>> radius([0.5, 0.8413, 0.9772], sigma=0.5).round(3).tolist()  # 0, 1 and 2 sigma
        [0.0, 0.5, 1.0]
    """
    check_sigma(sigma)
    return np.asarray(np.maximum(0.0, sigma * special.ndtri(np.asarray(p_lower, np.float64))))


def tail_of_radius(r: ArrayLike, sigma: float) -> Floats:
    """The q = 1 - p_lower that certifies exactly radius `r`: Phi(-r / sigma).

    Example:
        >>> tail_of_radius([0.0, 0.5], sigma=0.5).round(4).tolist()
        [0.5, 0.1587]
    """
    check_sigma(sigma)
    return np.asarray(special.ndtr(-np.asarray(r, np.float64) / sigma))


def largest_radius(n: int, alpha: float, sigma: float) -> float:
    """The radius that n successes of n certify: no certificate at this n and alpha is larger.

    Example:
        >>> round(largest_radius(100_000, alpha=0.001, sigma=1.0), 2)
        3.81
    """
    return float(radius_of_tail(-math.expm1(math.log(alpha) / n), sigma))


def round_down(r: float, digits: int) -> Decimal:
    """`r` with `digits` decimals, never above it: a radius printed is a radius certified.

    Example:
        >>> round_down(0.98765, 2)
        Decimal('0.98')
    """
    return Decimal(float(r)).quantize(Decimal(1).scaleb(-digits), ROUND_DOWN)
