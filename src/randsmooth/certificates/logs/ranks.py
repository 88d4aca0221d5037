"""Spearman's rank correlation in NumPy alone: `scipy.stats` takes as long to load as all
that reads and judges tables.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return (N,) the rank of each value from 1 up; equal ones share their mean rank.

    Example:
        >>> ranks(np.array([0.3, 0.1, 0.3])).tolist()
        [2.5, 1.0, 2.5]
    """
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(sizes)
    mean_ranks = last_ranks - (sizes - 1) / 2.0
    return np.asarray(mean_ranks[group])


def rank_correlation(a: NDArray[Any], b: NDArray[Any]) -> float | None:
    """Return Spearman's correlation of `a` (N,) and `b` (N,).

    It is None where all values of one of them are equal.

    Example:
        >>> values = np.array([0.1, 0.2, 0.7])
        >>> rank_correlation(values, values**2), rank_correlation(values, np.ones(3))
        (1.0, None)
    """
    ranks_of_a = ranks(a)
    ranks_of_b = ranks(b)
    if ranks_of_a.std() == 0.0 or ranks_of_b.std() == 0.0:
        return None
    # Rounded, so that values in the same order have a correlation of just 1.
    return round(float(np.corrcoef(ranks_of_a, ranks_of_b)[0, 1]), 12)
