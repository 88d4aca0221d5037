"""Bounds for a set of classes: that one of them is the most likely class."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.bounds.binomial import q_upper, upper
from randsmooth.bounds.levels import check_alpha
from randsmooth.errors import BadValue

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def set_bounds(
    counts: ArrayLike, members: ArrayLike, alpha: float
) -> tuple[Floats, Floats]:
    """Return upper bounds (N, s) on 1 - p of sets of classes, and (N,) on any other class.

    All bounds hold together with probability >= 1 - alpha. `Noise.set_radius` says
    within which radius one of the `members` is then the smoothed classifier's class.

    The sets are nested: the first t of the members, for t = 1..s. One more bound is
    for the strongest class outside of all members. If a single class is outside, the
    bound on all members is one on it as well. Else the bound is on the truly most
    likely class outside, fixed though unknown: the largest bound of all classes outside
    is above it. Each bound gets an equal share of alpha.

    Args:
        counts: (N, K) class counts of the n samples.
        members: (N, s) classes, chosen without these samples; s from 1 to K - 1.
        alpha: probability that a bound fails.

    Raises:
        Problem: shapes that do not match, a class that is none of K or occurs twice, or
            alpha out of range.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> counts = [[500, 450, 50]]  # the first two classes are close
        >>> for members in ([[0]], [[0, 1]]):
        ...     q, p_other = set_bounds(counts, members, alpha=0.001)
        ...     print(Gaussian(0.5).set_radius(q, p_other).round(3).tolist())
        [0.0]
        [0.498]
    """
    check_alpha(alpha)
    counts = np.asarray(counts, np.int64)
    members = np.asarray(members, np.int64)
    is_member = _membership(counts, members)
    n = counts.sum(axis=1)
    of_sets = np.take_along_axis(counts, members, axis=1).cumsum(axis=1)
    outside = counts.shape[1] - members.shape[1]
    if outside == 1:
        q = q_upper(of_sets, n[:, None], alpha / members.shape[1])
        return q, q[:, -1]
    alpha_of_each = alpha / (members.shape[1] + 1)
    q = q_upper(of_sets, n[:, None], alpha_of_each)
    strongest = np.where(is_member, 0, counts).max(axis=1)
    # What is left by all members bounds each class outside, too.
    p_other = np.minimum(upper(strongest, n, alpha_of_each), q[:, -1])
    return q, p_other


def _membership(counts: Ints, members: Ints) -> NDArray[np.bool_]:
    """Return (N, K) whether each class is one of its row's members.

    Raises:
        Problem: see `set_bounds`.
    """
    shapes_match = counts.ndim == members.ndim == 2 and len(counts) == len(members)
    if not shapes_match or not 1 <= members.shape[1] < counts.shape[1]:
        raise BadValue(
            f"counts {counts.shape} must have the shape (N, K), and members "
            f"{members.shape} the shape (N, s) with s from 1 to K - 1"
        )
    K = counts.shape[1]
    if np.any((members < 0) | (members >= K)):
        raise BadValue(
            field="members",
            value=members.tolist(),
            expected=f"must be classes 0..{K - 1}",
        )
    is_member = np.zeros(counts.shape, bool)
    np.put_along_axis(is_member, members, True, axis=1)
    if np.any(is_member.sum(axis=1) != members.shape[1]):
        raise BadValue(
            field="members",
            value=members.tolist(),
            expected="must be different classes in each row",
        )
    return is_member
