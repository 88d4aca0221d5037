"""The L2 radius at which a class stays among the k most likely of the smoothed classifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from randsmooth.bounds.binomial import Floats, q_upper, upper
from randsmooth.bounds.limits import check_alpha, check_sigma
from randsmooth.bounds.rivals import own_and_rivals
from randsmooth.errors import InputError

HALVINGS = 64  # of a bracket below 100, to less than the spacing of doubles
MARGIN = 1e-14  # on a logarithm: what rounding may hide is not claimed


def top_k_radius(counts: ArrayLike, label: ArrayLike, k: int, sigma: float, alpha: float) -> Floats:
    """Certified L2 radius within which `label` is one of the smoothed classifier's k most likely classes.

    With probability at least 1 - alpha over these n samples, that holds at every perturbation smaller than the
    radius; 0 claims nothing. `label` may not depend on these counts. With k = 1 this is `two_sided_radius`.

    Each bound gets alpha / (k + 1): one for the label, and k for the rivals, not K - 1. Let c_1, ..., c_k be the truly
    most likely rivals, fixed though unknown. If each of their k bounds holds, then for every i <= k at least i
    classes have a bound above the i-th largest probability, so the i-th largest bound is above it too; no more than
    that is used. The paper spends alpha / K on each class: give such bounds to `top_k_radius_of_bounds`.

    Args:
        counts: (N, K) class counts of the n samples.
        label: (N,) classes, chosen without these samples.
        k: 1..K-1.
        sigma: standard deviation of the noise, in units of pixels in [0, 1].
        alpha: probability that the radius is wrong.

    Returns:
        (N,) radii.

    Raises:
        InputError: k outside 1..K-1, shapes that do not match, a class outside 0..K-1, alpha or sigma out of range.

    Source: Jia et al. 2020 (ICLR), theorem 1, with Clopper-Pearson bounds.

    Example:
        >>> counts = [[400, 390, 200, 10]]  # the first two classes are close, the others are not
        >>> [float(top_k_radius(counts, [0], k, sigma=0.5, alpha=0.001)[0].round(3)) for k in (1, 2)]
        [0.0, 0.074]
    """
    check_alpha(alpha)
    own, rivals, n = own_and_rivals(counts, label, k)
    each = alpha / (k + 1)
    return top_k_radius_of_bounds(q_upper(own, n, each), upper(rivals, n[:, None], each), sigma)


def top_k_radius_of_bounds(q: ArrayLike, rivals: ArrayLike, sigma: float) -> Floats:
    """`top_k_radius` from bounds that are already known to hold.

    A set S of t rivals has at most Phi(Phi^-1(p_S) + R / sigma) between them at distance R (Neyman & Pearson), p_S
    being their summed bounds and never more than q. If k rivals all beat the label, each of their subsets holds at
    least t times the label's probability. So the label stays in if, for some t,

        Phi(Phi^-1(1 - q) - R / sigma) > Phi(Phi^-1(p_S) + R / sigma) / t,

    S being the t smallest of the k largest bounds: no other k rivals have smaller subsets with larger sums.

    Args:
        q: (N,) bounds on 1 minus the label's probability, in (0, 1].
        rivals: (N, k) the k largest upper bounds on the other classes' probabilities, in (0, 1], in any order.

    Raises:
        InputError: a bound outside (0, 1], sigma out of range.

    Source: Jia et al. 2020 (ICLR), theorem 1.

    Example:
        >>> float(top_k_radius_of_bounds([0.6], [[0.45, 0.2]], sigma=0.5)[0].round(3))
        0.147
    """
    check_sigma(sigma)
    q, rivals = np.asarray(q, np.float64)[:, None], np.asarray(rivals, np.float64)
    check_bounds(q)
    check_bounds(rivals)
    p_s = np.minimum(np.cumsum(np.sort(rivals, axis=1), axis=1), q)  # (N, k), column t - 1: the t smallest
    a, b = -special.ndtri(q), special.ndtri(p_s)
    one = (a - b[:, :1]) / 2.0  # t = 1 has a closed form
    more = crossing(a, b[:, 1:], np.arange(2, rivals.shape[1] + 1))
    return np.asarray(sigma * np.maximum(0.0, np.max(np.concatenate((one, more), axis=1), axis=1)))


def check_bounds(p: Floats) -> None:
    """Raise InputError unless every bound lies in (0, 1]: 0 would claim an infinite radius."""
    outside = ~((p > 0.0) & (p <= 1.0))
    if np.any(outside):
        raise InputError(f"a bound on a probability must lie in (0, 1]; got {p[outside].flat[0]}")


def crossing(a: Floats, b: Floats, t: ArrayLike) -> Floats:
    """Largest z >= 0 with Phi(a - z) >= Phi(b + z) / t, approached from below; 0 where none is.

    Args:
        a, b: broadcast with `t`, the left side falls and the right side rises with z.
        t: >= 1.
    """
    a, b, t = np.broadcast_arrays(a, b, np.asarray(t, np.float64))
    low = np.zeros(b.shape)
    high = np.maximum(0.0, np.maximum(-b, a - special.ndtri(0.5 / t)))  # here 1 / (2 t) lies between the two sides
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        # logarithms, for far out in the tail both sides are 0
        holds = special.log_ndtr(a - middle) + np.log(t) >= special.log_ndtr(b + middle) + MARGIN
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low
