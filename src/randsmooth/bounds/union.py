"""Clopper-Pearson bounds at several looks at once, by a union bound: a radius for any threshold, without tables."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats, q_upper
from randsmooth.bounds.limits import check_alpha
from randsmooth.bounds.look_times import check_looks
from randsmooth.errors import InputError


def union_levels(K: int, alpha: float) -> Floats:
    """The level of each of `K` looks (K,): half of alpha at the cap, the other half shared evenly by the rest.

    Example:
        >>> union_levels(3, alpha=0.001).tolist()
        [0.00025, 0.00025, 0.0005]
    """
    check_alpha(alpha)
    if isinstance(K, bool) or not isinstance(K, int | np.integer) or K < 1:
        raise InputError(f"K={K!r} must be a whole number of looks, at least 1")
    if K == 1:
        return np.array([alpha])
    return np.append(np.full(K - 1, 0.5 * alpha / (K - 1)), 0.5 * alpha)


def union_q_upper(successes: ArrayLike, looks: ArrayLike, alpha: float) -> Floats:
    """q = 1 - p_lower, where p_lower is the largest of the bounds at the looks made so far.

    P(p_lower > p after any number of looks) <= alpha: one may stop at any of them.

    Args:
        successes: successes so far at each look made (..., k), k <= K.
        looks: the samples so far at all looks that may be made (K,), the cap last.
        alpha: probability of failure, in (0, 1).

    Returns:
        q (...), the smallest of the k bounds at the levels of `union_levels`.

    Raises:
        InputError: looks that do not increase, or successes that cannot be at these looks.

    Example:
        >>> float(union_q_upper([32, 64], [32, 64, 96], alpha=0.05).round(4))  # 1 - 0.0125^(1/64)
        0.0662
    """
    successes, looks = np.asarray(successes), check_looks(looks)
    levels = union_levels(looks.size, alpha)
    k = successes.shape[-1] if successes.ndim else 0
    if not 1 <= k <= looks.size:
        raise InputError(f"successes (..., k) must have 1 <= k <= {looks.size} looks; got shape {successes.shape}")
    gained, drawn = np.diff(successes, axis=-1, prepend=0), np.diff(looks[:k], prepend=0)
    if np.any((gained < 0) | (gained > drawn)):
        raise InputError("successes must count from the first sample on, and grow by no more than the samples do")
    early = min(k, looks.size - 1)
    tails = [q_upper(successes[..., :early], looks[:early], float(levels[0]))]
    tails.append(q_upper(successes[..., early:], looks[early:k], float(levels[-1])))
    return np.asarray(np.concatenate(tails, axis=-1).min(axis=-1))
