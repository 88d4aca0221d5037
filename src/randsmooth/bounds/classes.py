"""Bounds from the counts of all classes.

They are on the runner-up, against each rival, and for a place among the first k.

They speak of probabilities; `noise.Gaussian.radius` and `top_k_radius` say what radius
they prove.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.bounds.binomial import Floats, Ints, q_upper, upper
from randsmooth.bounds.levels import check_alpha
from randsmooth.errors import BadValue

# The share of alpha for what the two classes of a pair hold together; the rest is for
# how they divide it.
FOR_THE_PAIR = 0.1


def two_sided_bounds(
    counts: ArrayLike, picked: ArrayLike, alpha: float
) -> tuple[Floats, Floats]:
    """Return upper bounds (N,) on 1 - p_A and on p_B, the runner-up's.

    They hold together with probability >= 1 - alpha.

    Of alpha, one half goes to p_A and one half to p_B = max_{c != A} p_c, whose bound
    is that of the *largest* count. No correction for K classes is needed: let c* be the
    class that attains p_B, fixed though unknown. The largest count is at least n_{c*},
    and the bound rises with the count, so it fails only where the bound of c* fails.
    Where p_A holds, 1 - p_A bounds p_B as well, so a radius is never below the
    one-sided radius at alpha / 2; it gains where several classes share the rest, and
    may certify even p_A < 1/2.

    Args:
        counts: (N, K) class counts of the n samples.
        picked: (N,) classes, chosen by other samples.
        alpha: probability that one of the two fails.

    Raises:
        Problem: shapes that do not match, a class outside 0..K-1, alpha out of range.

    Source: Cohen et al. 2019, theorem 1; the bounds are Clopper-Pearson's.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> counts = [[600, 200, 200], [600, 400, 0]]
        >>> q, p_b = two_sided_bounds(counts, [0, 0], alpha=0.001)
        >>> # The runner-up of the first is weaker.
        >>> Gaussian(0.5).radius(q, p_b).round(3).tolist()
        [0.203, 0.06]
    """
    check_alpha(alpha)
    n_A, rivals, n = _own_and_rivals(counts, picked, k=1)
    largest_rival = rivals[:, 0]
    return q_upper(n_A, n, alpha / 2.0), upper(largest_rival, n, alpha / 2.0)


def pairwise_bounds(
    counts: ArrayLike, picked: ArrayLike, alpha: float
) -> tuple[Floats, Floats, Floats]:
    """Return bounds from direct tests against each other class.

    The first (N,) is on 1 - p_A, and there are two of each class c, (N, K).

    The second and third bound 1 - p_A and p_c at their least favourable values that the
    test against c leaves possible. The radius that they prove is the smallest of the
    classes', `noise.radius(q_each, p_each).min(axis=1)`; in the picked class's own
    column both are 0, which leaves it out. With probability at least 1 - alpha over
    these n samples it is certified, and the first bound holds.

    For a rival c, let s = p_A + p_c be what the pair holds, and t = p_A / s the part of
    it that is A's. Of n samples, n_A + n_c ~ Bin(n, s); given that number, n_A ~
    Bin(n_A + n_c, t). So s and t have Clopper-Pearson bounds, at alpha/10 and 9/10
    alpha, which hold together with probability at least 1 - alpha. Under Gaussian noise
    the radius

        R(s, t) = sigma / 2 (Phi^-1(s t) - Phi^-1(s (1 - t)))

    rises with t, and for t >= 1/2 with s, as Phi / phi is increasing: R at the bounds
    is at most R at the truth. It depends on s but weakly, which is why little of alpha
    is spent there. With two classes s is 1, and t has all of alpha: the radius is the
    one-sided one.

    No correction for K classes is needed: the true radius is that against c* = argmax
    p_c, fixed though unknown, and the smallest of the rivals' radii is at most that of
    c*.

    Args:
        counts: (N, K) class counts of the n samples.
        picked: (N,) classes, chosen by other samples.
        alpha: probability that the radius is wrong.

    Raises:
        Problem: shapes that do not match, a class outside 0..K-1, alpha out of range.

    Source: Cohen et al. 2019, theorem 1, for the radius; the conditional test of two
    multinomial probabilities.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> counts = [[600, 200, 200], [600, 400, 0]]
        >>> q, q_each, p_each = pairwise_bounds(counts, [0, 0], alpha=0.001)
        >>> Gaussian(0.5).radius(q_each, p_each).min(axis=1).round(3).tolist()
        [0.204, 0.063]
    """
    check_alpha(alpha)
    counts, picked = _class_counts(counts, picked)
    n_A = np.take_along_axis(counts, picked[:, None], axis=1)
    n = counts.sum(axis=1, keepdims=True)
    is_rival = np.arange(counts.shape[1]) != picked[:, None]
    n_pair = np.where(is_rival, n_A + counts, 1)

    not_s, not_t = _pair_bounds(n_A, n_pair, n, is_rival, alpha)
    # p_A = s t, so that 1 - p_A = 1 - (1 - not_s) (1 - not_t).
    q_of_pairs = 1.0 - (1.0 - not_s) * (1.0 - not_t)
    q = np.where(is_rival, q_of_pairs, 0.0).max(axis=1)
    # Where t may be below 1/2, the rival may be the more likely one.
    claimed = not_t < 0.5
    q_each = np.where(claimed, not_s + not_t - not_s * not_t, 0.5)
    p_each = np.where(claimed, (1.0 - not_s) * not_t, 0.5)
    return (
        np.asarray(q),
        np.where(is_rival, q_each, 0.0),
        np.where(is_rival, p_each, 0.0),
    )


def _pair_bounds(
    n_A: Ints, n_pair: Ints, n: Ints, is_rival: NDArray[np.bool_], alpha: float
) -> tuple[Floats, Floats]:
    """Return upper bounds (N, K) on 1 - s and on 1 - t of each pair.

    Args:
        n_A: (N, 1) counts of the picked class.
        n_pair: (N, K) counts of it and of each rival together.
        n: (N, 1) samples.
        is_rival: (N, K) whether a class is not the picked one.
        alpha: probability that one of both bounds of a pair fails.
    """
    only_one_rival = is_rival.shape[1] == 2
    n_A_of_rivals = np.where(is_rival, n_A, 1)
    samples_of_t = np.maximum(n_pair, 1)
    if only_one_rival:
        # The pair holds all, and t has all of alpha.
        not_s = np.zeros(n_pair.shape)
        not_t = q_upper(n_A_of_rivals, samples_of_t, alpha)
    else:
        not_s = q_upper(n_pair, n, FOR_THE_PAIR * alpha)
        not_t = q_upper(n_A_of_rivals, samples_of_t, (1.0 - FOR_THE_PAIR) * alpha)
    # Of a pair without a sample nothing is known.
    return not_s, np.where(n_pair > 0, not_t, 1.0)


def top_k_bounds(
    counts: ArrayLike, label: ArrayLike, k: int, alpha: float
) -> tuple[Floats, Floats]:
    """Return upper bounds (N,) on 1 - p of `label` and (N, k) on its strongest rivals.

    They hold together with probability >= 1 - alpha.

    `Gaussian.top_k_radius` says within which radius `label` is then one of the smoothed
    classifier's k most likely classes. `label` may not depend on these counts. With k =
    1 these are the bounds of `two_sided_bounds`.

    Each bound gets alpha / (k + 1): one for the label, and k for the rivals, not K - 1.
    Let c_1, ..., c_k be the truly most likely rivals, fixed though unknown. If each of
    their k bounds holds, then for every i <= k at least i classes have a bound above
    the i-th largest probability, so the i-th largest bound is above it too; no more
    than that is used. The paper spends alpha / K on each class.

    Args:
        counts: (N, K) class counts of the n samples.
        label: (N,) classes, chosen without these samples.
        k: 1..K-1.
        alpha: probability that a bound fails.

    Raises:
        Problem: k outside 1..K-1, shapes that do not match, a class outside 0..K-1,
            alpha out of range.

    Source: Jia et al. 2020 (ICLR), with Clopper-Pearson bounds.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> counts = [[400, 390, 200, 10]]  # only the first two classes are close
        >>> for k in (1, 2):
        ...     q, p_rivals = top_k_bounds(counts, [0], k, alpha=0.001)
        ...     print(Gaussian(0.5).top_k_radius(q, p_rivals).round(3).tolist())
        [0.0]
        [0.074]
    """
    check_alpha(alpha)
    n_label, rivals, n = _own_and_rivals(counts, label, k)
    alpha_of_each = alpha / (k + 1)
    return q_upper(n_label, n, alpha_of_each), upper(rivals, n[:, None], alpha_of_each)


def _class_counts(counts: ArrayLike, label: ArrayLike) -> tuple[Ints, Ints]:
    """Return both as integers.

    Raises:
        Problem: counts are not (N, K >= 2) or below 0, or a row's label is no class
            0..K-1.
    """
    counts = np.asarray(counts, np.int64)
    label = np.asarray(label, np.int64)
    if counts.ndim != 2 or counts.shape[1] < 2 or label.shape != counts.shape[:1]:
        raise BadValue(
            f"counts {counts.shape} must have the shape (N, K), K >= 2, and labels "
            f"{label.shape} (N,)"
        )
    if np.any(counts < 0):
        raise BadValue(f"class counts must be >= 0; the smallest is {counts.min()}")
    last_class = counts.shape[1] - 1
    outside = (label < 0) | (label > last_class)
    if np.any(outside):
        raise BadValue(
            f"class {label[outside][0]} must lie in 0..{last_class}; leave out the "
            "images on which the classifier abstained"
        )
    return counts, label


def _own_and_rivals(
    counts: ArrayLike, label: ArrayLike, k: int
) -> tuple[Ints, Ints, Ints]:
    """Return what each row of counts says of its label and of other classes.

    Returns:
        of_label: (N,) the count of the label.
        rivals: (N, k) the largest counts of others, descending.
        n: (N,) the samples.
    """
    counts, label = _class_counts(counts, label)
    if not 1 <= k < counts.shape[1]:
        raise BadValue(
            field="k",
            value=k,
            expected=(
                f"must lie in 1..{counts.shape[1] - 1}, below the number of classes"
            ),
        )
    rows = np.arange(len(counts))
    others = counts.copy()
    # The label comes last in the order.
    others[rows, label] = -1
    descending = -np.sort(-others, axis=1)
    return counts[rows, label], descending[:, :k], counts.sum(axis=1)
