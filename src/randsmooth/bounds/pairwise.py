"""The L2 radius of a class from direct tests against each of its rivals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats, Ints, q_upper
from randsmooth.bounds.limits import check_alpha
from randsmooth.bounds.look_times import check_looks
from randsmooth.bounds.rivals import check_class_counts
from randsmooth.bounds.two_sided import radius_of_pair
from randsmooth.bounds.union import union_levels
from randsmooth.errors import InputError

FOR_THE_PAIR = 0.1  # share of alpha for what the two classes hold together; the rest is for how they divide it


def pairwise_radius(counts: ArrayLike, picked: ArrayLike, sigma: float, alpha: float) -> Floats:
    """Certified L2 radius of `picked`: the smallest that tests against each other class alone prove.

    With probability at least 1 - alpha over these n samples, the smoothed classifier answers `picked` at every
    perturbation smaller than the radius; 0 claims nothing. `picked` may not depend on these counts.

    For a rival c, let s = p_A + p_c be what the pair holds, and t = p_A / s the part of it that is A's. Of n samples,
    n_A + n_c ~ Bin(n, s); given that number, n_A ~ Bin(n_A + n_c, t). So s and t have Clopper-Pearson bounds, at
    alpha/10 and 9/10 alpha, which hold together with probability at least 1 - alpha. The radius

        R(s, t) = sigma / 2 (Phi^-1(s t) - Phi^-1(s (1 - t)))

    rises with t, and for t >= 1/2 with s, as Phi / phi is increasing: R at the bounds is at most R at the truth. It
    depends on s but weakly, which is why little of alpha is spent there. With two classes s is 1, and t has all of
    alpha: the radius is the one-sided one.

    No correction for K classes is needed: the true radius is that against c* = argmax p_c, fixed though unknown, and
    the smallest of the rivals' radii is at most that of c*.

    Args:
        counts: (N, K) class counts of the n samples.
        picked: (N,) classes, chosen by other samples.
        sigma: standard deviation of the noise, in units of pixels in [0, 1].
        alpha: probability that the radius is wrong.

    Raises:
        InputError: shapes that do not match, a class outside 0..K-1, alpha or sigma out of range.

    Source: Cohen et al. 2019, theorem 1, for the radius; the conditional test of two multinomial probabilities.

    Example:
        >>> counts = [[600, 200, 200], [600, 400, 0]]
        >>> pairwise_radius(counts, [0, 0], sigma=0.5, alpha=0.001).round(3).tolist()
        [0.204, 0.063]
    """
    return pairwise_claims(counts, picked, sigma, alpha)[1]


def pairwise_claims(counts: ArrayLike, picked: ArrayLike, sigma: float, alpha: float) -> tuple[Floats, Floats]:
    """Upper bounds (N,) on 1 - p_A and radii (N,), which hold together with probability at least 1 - alpha.

    Args and errors as `pairwise_radius`, which says why they hold.

    Example:
        >>> q, radius = pairwise_claims([[600, 200, 200]], [0], sigma=0.5, alpha=0.001)
        >>> float(q[0].round(3)), float(radius[0].round(3))
        (0.476, 0.204)
    """
    check_alpha(alpha)
    check_class_counts(counts, picked)
    counts, picked = np.asarray(counts, np.int64), np.asarray(picked, np.int64)
    own, n = np.take_along_axis(counts, picked[:, None], axis=1), counts.sum(axis=1, keepdims=True)
    both = own + counts
    rival = np.arange(counts.shape[1]) != picked[:, None]
    rest, other = _tails(np.where(rival, own, 1), np.where(rival, both, 1), n, counts.shape[1], alpha)
    p_a, p_c = (1.0 - rest) * (1.0 - other), (1.0 - rest) * other
    q = np.where(rival, 1.0 - p_a, 0.0).max(axis=1)
    claimed = other < 0.5  # elsewhere the rival may be the more likely one
    above = radius_of_pair(np.where(claimed, rest + other - rest * other, 0.5), np.where(claimed, p_c, 0.5), sigma)
    return np.asarray(q), np.asarray(np.where(rival, above, np.inf).min(axis=1))


def pairwise_union_radius(counts: ArrayLike, looks: ArrayLike, picked: ArrayLike, sigma: float, alpha: float) -> Floats:
    """`pairwise_radius` for counts that one looked at on the way: the largest radius of any look so far.

    P(the radius is too large after any number of looks) <= alpha: one may stop at any of them. Half of alpha belongs
    to the last look that may be made, the other half to the others, as `union_levels` divides it.

    Args:
        counts: (N, k, K) class counts so far at each look made.
        looks: the samples so far at all looks that may be made (L,), L >= k, the cap last.
        picked, sigma, alpha: as `pairwise_radius`.

    Raises:
        InputError: looks that do not increase, counts that do not add up to them, or as `pairwise_radius`.

    Example:
        >>> counts = [[[40, 12, 12], [85, 20, 23]]]  # 64 samples, then 128
        >>> pairwise_union_radius(counts, [64, 128, 1000], [0], sigma=0.5, alpha=0.001).round(3).tolist()
        [0.118]
    """
    counts, looks = np.asarray(counts, np.int64), check_looks(looks)
    levels = union_levels(looks.size, alpha)
    if counts.ndim != 3 or not 1 <= counts.shape[1] <= looks.size:
        raise InputError(f"counts of shape {counts.shape} must be (N, k, K), with 1 <= k <= {looks.size} looks")
    made = counts.shape[1]
    if np.any(counts.sum(axis=2) != looks[:made]) or np.any(np.diff(counts, axis=1) < 0):
        raise InputError(f"counts must grow from look to look, and add up to {looks[:made].tolist()} samples")
    each = [pairwise_radius(counts[:, i], picked, sigma, float(levels[i])) for i in range(made)]
    return np.asarray(np.max(each, axis=0))


def _tails(own: Ints, both: Ints, n: Ints, classes: int, alpha: float) -> tuple[Floats, Floats]:
    """Upper bounds on 1 - s, what the other classes hold, and on 1 - t, the rival's part of the pair."""
    if classes == 2:
        return np.zeros(both.shape), _part(own, both, alpha)
    return q_upper(both, n, FOR_THE_PAIR * alpha), _part(own, both, (1.0 - FOR_THE_PAIR) * alpha)


def _part(own: Ints, both: Ints, alpha: float) -> Floats:
    return np.where(both > 0, q_upper(own, np.maximum(both, 1), alpha), 1.0)
