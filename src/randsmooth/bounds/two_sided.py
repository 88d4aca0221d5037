"""The L2 radius from a bound on the top class and one on the runner-up."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats, q_upper, upper
from randsmooth.bounds.limits import check_alpha, check_sigma
from randsmooth.bounds.rivals import own_and_rivals


def two_sided_radius(counts: ArrayLike, picked: ArrayLike, sigma: float, alpha: float) -> Floats:
    """Certified L2 radius of `picked` that takes the runner-up from the same counts.

    With probability at least 1 - alpha over these n samples, the smoothed classifier answers `picked` at every
    perturbation smaller than the radius; 0 claims nothing. `picked` may not depend on these counts.

    Of alpha, one half goes to p_A and one half to p_B = max_{c != A} p_c, whose bound is that of the *largest* count.
    No correction for K classes is needed: let c* be the class that attains p_B, fixed though unknown. The largest
    count is at least n_{c*}, and the bound rises with the count, so it fails only where the bound of c* fails.
    Where p_A holds, 1 - p_A bounds p_B as well, so the radius is never below the one-sided radius at alpha / 2;
    it gains where several classes share the rest, and may certify even p_A < 1/2.

    Args:
        counts: (N, K) class counts of the n samples.
        picked: (N,) classes, chosen by other samples.
        sigma: standard deviation of the noise, in units of pixels in [0, 1].
        alpha: probability that the radius is wrong.

    Raises:
        InputError: shapes that do not match, a class outside 0..K-1, alpha or sigma out of range.

    Source: Cohen et al. 2019, theorem 1; the bounds are Clopper-Pearson's.

    Example:
        >>> counts = [[600, 200, 200], [600, 400, 0]]  # the runner-up of the first is weaker
        >>> two_sided_radius(counts, [0, 0], sigma=0.5, alpha=0.001).round(3).tolist()
        [0.203, 0.06]
    """
    return radius_of_pair(*two_sided_tails(counts, picked, alpha), sigma)


def two_sided_tails(counts: ArrayLike, picked: ArrayLike, alpha: float) -> tuple[Floats, Floats]:
    """Upper bounds (N,) on 1 - p_A and on p_B that hold together with probability at least 1 - alpha.

    Args and errors as `two_sided_radius`, which says why they hold.

    Example:
        >>> q, p_b = two_sided_tails([[600, 300, 100]], [0], alpha=0.001)
        >>> float(q[0].round(3)), float(p_b[0].round(3))  # above 0.4 and 0.3
        (0.452, 0.35)
    """
    check_alpha(alpha)
    own, rivals, n = own_and_rivals(counts, picked, k=1)
    return q_upper(own, n, alpha / 2.0), upper(rivals[:, 0], n, alpha / 2.0)


def radius_of_pair(q: ArrayLike, p_b: ArrayLike, sigma: float) -> Floats:
    """R = sigma / 2 * (Phi^-1(p_A) - Phi^-1(p_B)), never below 0, for q = 1 - p_A and p_B at most q.

    Args:
        q: bound on 1 minus the top class's probability, in (0, 1].
        p_b: upper bound on every other class's probability; where it exceeds q, q takes its place.

    Source: Cohen et al. 2019, theorem 1.

    Example:
        >>> float(radius_of_pair(0.1587, 0.0228, sigma=0.5).round(3))  # (1 sigma + 2 sigma) / 2
        0.75
    """
    check_sigma(sigma)
    q = np.asarray(q, np.float64)
    p_b = np.minimum(np.asarray(p_b, np.float64), q)
    return np.asarray(np.maximum(0.0, -sigma / 2.0 * (special.ndtri(q) + special.ndtri(p_b))))
