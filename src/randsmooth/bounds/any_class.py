"""A bound for the class that the samples themselves pick, where no others were drawn to pick it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Floats, q_upper
from randsmooth.bounds.limits import check_alpha


def any_class_q_upper(k: ArrayLike, n: ArrayLike, alpha: float) -> Floats:
    """q = 1 - p_lower for whichever class is picked, also by these samples: Clopper-Pearson at alpha / 2, above 1/2.

    The one-sided bound at alpha holds for one class that was picked without these samples. The most frequent class of
    the same samples is not such a class: of two classes with probability 1/2 each, one or the other is claimed twice
    as often. Twice is the worst case, however many classes there are, so that alpha / 2 suffices.

    Let c be the fewest successes whose bound at alpha / 2 exceeds 1/2, and f(p) = P(Bin(n, p) >= c). A class of
    probability p <= 1/2 is claimed falsely with probability f(p). As c > n / 2, f is convex on [0, 1/2]; with f(0) = 0
    and f(1/2) <= alpha / 2, this gives f(p) <= p * alpha. A class of probability p > 1/2, of which there is at most
    one, is claimed falsely with probability at most alpha / 2, which is below p * alpha. All classes together are
    claimed falsely with probability at most alpha times the sum of their probabilities, which is 1. Where the bound is
    1/2 or less the argument does not hold, and nothing is claimed.

    Args:
        k: how often the picked class came out, any shape that broadcasts with `n`.
        n: samples.
        alpha: probability that any class is claimed falsely, in (0, 1).

    Returns:
        q below 1/2, or 1.0 where nothing is claimed.

    Raises:
        InputError: counts that cannot be, or alpha outside (0, 1).

    Example:
        >>> any_class_q_upper([50, 90, 100], 100, alpha=0.001).round(4).tolist()
        [1.0, 0.2338, 0.0732]
    """
    check_alpha(alpha)
    q = q_upper(k, n, alpha / 2.0)
    return np.where(q < 0.5, q, 1.0)
