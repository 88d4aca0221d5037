"""Certified accuracy that holds with high probability, though each certificate may fail."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats, check_counts
from randsmooth.bounds.limits import check_alpha
from randsmooth.errors import InputError


def assured_accuracy(correct_certified: ArrayLike, m: int, alpha: float, rho: float) -> Floats:
    """Share of m images that are truly right and robust, with probability at least 1 - rho over the noise.

    Each certificate claims too much with probability at most alpha, and independently of the others where their noises
    are independent: those of different images are, those of two copies of one image are not. So the number W of false
    certificates is stochastically at most Bin(m, alpha), whatever the images. At most W of the images counted are
    counted wrongly; the (1 - rho) quantile of W is subtracted. W does not depend on the radius at which images are
    counted, so the statement holds for a whole curve at once.

    Args:
        correct_certified: images that are right and certified at the radius asked for, 0..m, any shape.
        m: all images, certified or not.
        alpha: failure probability of each certificate.
        rho: failure probability of this statement, in (0, 1).

    Raises:
        InputError: counts outside 0..m, m < 1, alpha or rho outside (0, 1).

    Source: Cohen et al. 2019, appendix B, with the exact quantile in place of Bernstein's inequality.

    Example:
        >>> float(assured_accuracy(300, 500, alpha=0.001, rho=0.001))  # four images fewer than 300 / 500
        0.592
    """
    correct = check_assured(correct_certified, m, alpha, rho)
    return np.asarray(np.maximum(0.0, correct - most_failures(m, alpha, rho)) / m)


def most_failures(m: int, alpha: float, rho: float) -> int:
    """The smallest w with P(Bin(m, alpha) > w) <= rho: no more of m certificates are false, at confidence 1 - rho.

    Example:
        >>> most_failures(10_000, alpha=0.001, rho=0.025)  # of which 10 are expected
        17
    """
    w = np.arange(m, dtype=np.float64)  # at w = m the probability is 0
    return int(np.count_nonzero(special.betainc(w + 1.0, m - w, alpha) > rho))


def check_assured(correct_certified: ArrayLike, m: int, alpha: float, rho: float) -> Floats:
    """The counts as float64; raise InputError unless they lie in 0..m, and alpha and rho in (0, 1)."""
    check_alpha(alpha)
    check_counts(correct_certified, m)
    if not 0.0 < rho < 1.0:
        raise InputError(f"rho={rho!r} must lie strictly between 0 and 1; Cohen et al. use 0.001")
    return np.asarray(correct_certified, np.float64)
