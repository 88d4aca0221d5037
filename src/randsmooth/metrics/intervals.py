"""Intervals for a share and for the mean of a bounded value, from N images."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from randsmooth import bounds
from randsmooth.metrics import weighted_means
from randsmooth.metrics.confidence import LEVEL

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The critical value of one two-sided interval at LEVEL: 1.96.
CRITICAL = float(special.ndtri(0.5 + LEVEL / 2.0))

# Values that lie nearer to each other than this share of the distance between their
# bounds are the same, apart from rounding.
SMALLEST_SPREAD = 1e-12


def mean_interval(
    values: ArrayLike,
    bounds: tuple[float, float],
    z: float,
    counts: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Return an interval for the expectation of values between two bounds.

    The N values are drawn independently. The function appends one pseudo-observation:
    the upper bound for the upper end, and the lower bound for the lower one. The upper
    end is the quantile of level Phi(z) of the weighted mean of all N + 1 values. Their
    weights are uniform on the simplex (Dirichlet with parameters 1). The interval
    assumes nothing about the distribution except its bounds. Each end fails with
    probability at most Phi(-z), however few the values, and however far unseen values
    lie. The order of the values does not matter.

    For values that are 0 or 1, the ends are those of Clopper and Pearson. For paired
    shares, the interval contains 0 exactly where McNemar's exact test does not reject.

    Args:
        values: (..., J) that occurred, between the bounds.
        bounds: the least and the most that any value can be.
        z: the critical value, 1.96 for a single interval at 95%.
        counts: (..., J) how often each occurred, broadcasts with `values`; each once by
            default.

    Returns:
        low, high: (...)

    Source: Gaffke 2005, "Three test statistics for a nonparametric one-sided hypothesis
        on the mean of a nonnegative variable", who conjectured that its level holds for
        every distribution. A proof is announced (Vlassis & Thomas 2026, "An exact
        distribution-free test for means of nonnegative random variables"), known here
        by citation only; `tests/metrics/test_intervals.py` enumerates populations of
        three values. The quantile: see `metrics.weighted_means`.

    Example:
        >>> low, high = mean_interval([0.0, 0.5, 1.0, 1.5], (0.0, 2.0), 1.96)
        >>> float(low.round(2)), float(high.round(2))
        (0.18, 1.56)
        >>> low, high = mean_interval(np.zeros(300), (0.0, 1.0), 1.96)  # 1 - 0.025^(1/300) = 0.0122
        >>> float(low), float(high.round(4))
        (0.0, 0.0122)
    """
    x = np.asarray(values, np.float64)
    once = np.ones_like(x)
    c = once if counts is None else np.asarray(counts, np.float64)
    x, c = np.broadcast_arrays(x, c)

    least, most = bounds
    high = _upper_end(x, c, most, z, span=most - least)
    # 0.0 - x instead of -x, which may be -0.0
    low = 0.0 - _upper_end(-x, c, -least, z, span=most - least)
    return low, high


def _upper_end(x: Floats, c: Floats, most: float, z: float, span: float) -> Floats:
    """Return (...) the upper ends; the lower ones are those of the negative values.

    Args:
        x: (..., J) values.
        c: (..., J) how often each occurred.
        most: the upper bound of the values.
        z: the critical value.
        span: the distance from the lower to the upper bound.
    """
    unseen = np.full((*x.shape[:-1], 1), most)
    x = np.concatenate([x, unseen], axis=-1)
    c = np.concatenate([c, np.ones_like(unseen)], axis=-1)

    mean = (c * x).sum(-1, keepdims=True) / c.sum(-1, keepdims=True)
    deviation = np.where(c > 0.0, x - mean, 0.0)
    largest = deviation.max(axis=-1)

    # Elsewhere all values are the bound, or there is nothing between the bounds.
    spread = largest > SMALLEST_SPREAD * span
    y = deviation[spread] / largest[spread, None]
    ends = np.array(mean[..., 0])
    ends[spread] += weighted_means.quantile(y, c[spread], z) * largest[spread]
    return np.asarray(np.minimum(ends, most))


def paired_shares(
    only_a: ArrayLike, only_b: ArrayLike, images: int, z: float = CRITICAL
) -> tuple[Floats, Floats]:
    """Return `mean_interval` of p(only a) - p(only b).

    An image that only the one or only the other certifies counts 1 or -1.

    Args:
        only_a, only_b: (...) counts of these images.
        images: the number of images that were compared.
        z: the critical value; by default that of a single interval at 95%.

    Example:
        >>> low, high = paired_shares([30, 0], [10, 0], 1000, 1.96)
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.007, -0.004], [0.034, 0.004])
    """
    a, b = np.broadcast_arrays(only_a, only_b)
    counts = np.stack([b, images - a - b, a], axis=-1)
    return mean_interval([-1.0, 0.0, 1.0], (-1.0, 1.0), z, counts)


def share_interval(
    successes: ArrayLike, n: ArrayLike, *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Return both ends of Clopper and Pearson's interval, for many shares at once.

    It holds the true share with probability `level` or more, whatever that share is,
    also near 0 and 1. Each end alone fails with probability (1 - level) / 2 at most.

    Args:
        successes, n: counts with 0 <= successes <= n and n >= 1, shapes that broadcast.
        level: confidence of the interval.

    Raises:
        Problem: counts that cannot be, or a level outside (0, 1).

    Source: Clopper & Pearson 1934.

    Example:
        >>> low, high = share_interval([0, 50, 500], [100, 100, 1000])
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.0, 0.398, 0.469], [0.036, 0.602, 0.531])
    """
    alpha_of_end = (1.0 - level) / 2.0
    low = bounds.lower(successes, n, alpha_of_end)
    high = bounds.upper(successes, n, alpha_of_end)
    return low[()], high[()]
