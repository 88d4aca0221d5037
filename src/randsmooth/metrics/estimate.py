"""A number measured on a sample of images, with the interval that the sample allows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from randsmooth.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


LEVEL = 0.95
CRITICAL = float(special.ndtri(0.5 + LEVEL / 2.0))  # of one two-sided interval at LEVEL: 1.96
FEW = 20  # values that differ, up to which nothing is assumed of those not seen but their bounds
STEPS = 60  # at most, of the search for an end; a dozen do
NEAR = 1e-10  # of the critical value: when it has ended
UNEQUAL = 1e-12  # of the distance between the bounds; values nearer to each other are the same, apart from rounding


def mean_interval(
    values: ArrayLike, bounds: tuple[float, float], z: float, counts: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """Both ends of an interval for the expectation of values between two bounds, from N of them drawn independently.

    To the values one is added that was not seen, as high as it might be for the upper end and as low for the lower one.
    The upper end is the quantile of level Phi(z) of the weighted mean of all N + 1, their weights uniform on the
    simplex (of Dirichlet's distribution with parameters 1). Of values that are 0 or 1 these are Clopper and Pearson's
    ends; of paired shares the interval contains 0 where McNemar's exact test does not reject. The quantile is computed
    by a saddlepoint approximation, which puts it at most 0.7% too far from the mean, and that only where no value
    differs.

    How high the unseen value is: k values differ from the median, and those above it have the mean t. Up to FEW of
    them, the value is the bound, and nothing is assumed of the distribution; of more, it lies (FEW / k)^2 of the way
    from t to the bound.

    Args:
        values: (..., J) that occurred, between the bounds.
        bounds: the least and the most that any value can be.
        z: the critical value, 1.96 for a single interval at 95%.
        counts: (..., J) how often each occurred, broadcasts with `values`; each once by default.

    Returns:
        low, high: (...)

    Source: Gaffke 2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
        variable"; that its level holds for every distribution is proved in special cases, and no counterexample is
        known (Learned-Miller & Thomas 2019). The quantile: Lugannani & Rice 1980, in Barndorff-Nielsen's form.

    Example:
        >>> low, high = mean_interval([0.0, 0.5, 1.0, 1.5], (0.0, 2.0), 1.96)
        >>> float(low.round(2)), float(high.round(2))
        (0.18, 1.56)
        >>> low, high = mean_interval(np.zeros(300), (0.0, 1.0), 1.96)  # 1 - 0.025^(1/300) = 0.0122
        >>> float(low), float(high.round(4))
        (0.0, 0.0123)
    """
    x = np.asarray(values, np.float64)
    c = np.ones_like(x) if counts is None else np.asarray(counts, np.float64)
    x, c = np.broadcast_arrays(x, c)
    least, most = bounds
    return 0.0 - _upper(-x, c, -least, z, most - least), _upper(x, c, most, z, most - least)  # 0.0: never -0.0


def paired_shares(only_a: ArrayLike, only_b: ArrayLike, images: int, z: float = CRITICAL) -> tuple[Floats, Floats]:
    """`mean_interval` of p(only a) - p(only b): an image that only the one or only the other certifies is 1 or -1.

    Args:
        only_a, only_b: (...) counts of these images.
        images: how many were compared.
        z: the critical value; by default that of a single interval at 95%.

    Example:
        >>> low, high = paired_shares([30, 0], [10, 0], 1000, 1.96)
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.007, -0.004], [0.034, 0.004])
    """
    a, b = np.broadcast_arrays(only_a, only_b)
    return mean_interval([-1.0, 0.0, 1.0], (-1.0, 1.0), z, np.stack([b, images - a - b, a], axis=-1))


def _upper(x: Floats, c: Floats, most: float, z: float, span: float) -> Floats:
    """(...) the upper ends; the lower ones are those of the negative values."""
    unseen = _unseen(x, c, most, span)[..., None]
    x, c = np.concatenate([x, unseen], axis=-1), np.concatenate([c, np.ones_like(unseen)], axis=-1)
    mean = (c * x).sum(-1, keepdims=True) / c.sum(-1, keepdims=True)
    apart = np.where(c > 0.0, x - mean, 0.0)
    top = apart.max(axis=-1)
    spread = top > UNEQUAL * span  # else all values are the bound, or there is nothing between the bounds
    found = _quantile(apart[spread] / top[spread, None], c[spread], z)
    ends = np.array(mean[..., 0])
    ends[spread] += found * top[spread]
    return np.asarray(np.minimum(ends, most))


def _unseen(x: Floats, c: Floats, most: float, span: float) -> Floats:
    """(...) the value that is added for the upper end."""
    median = _median(x, c)[..., None]
    differs = np.where(np.abs(x - median) > UNEQUAL * span, c, 0.0)
    above = np.where(x > median, differs, 0.0)
    some = above.sum(-1)
    usual = np.where(some > 0.0, (above * x).sum(-1) / np.maximum(some, 1.0), median[..., 0])
    way = np.minimum(1.0, (FEW / np.maximum(differs.sum(-1), 1.0)) ** 2)
    return np.asarray(usual + way * (most - usual))


def _median(x: Floats, c: Floats) -> Floats:
    """(...) of the values with their counts, the mean of both middle ones where there are two."""
    order = np.argsort(x, axis=-1)
    x, below = np.take_along_axis(x, order, -1), np.cumsum(np.take_along_axis(c, order, -1), axis=-1)
    half = below[..., -1:] / 2.0
    low, high = (below < half).sum(-1, keepdims=True), (below <= half).sum(-1, keepdims=True)
    return np.asarray((np.take_along_axis(x, low, -1) + np.take_along_axis(x, high, -1))[..., 0] / 2.0)


def _quantile(y: Floats, c: Floats, z: float) -> Floats:
    """(M,) quantiles of level Phi(z) of weighted means of the rows of y (M, J), of mean 0 and of maximum 1.

    P(weighted mean > m) = P(sum E_i (y_i - m) > 0) for exponential E_i, which the saddlepoint approximation says in
    terms of one tilt between 0 and 1: `_at` gives m and the critical value of each, and the tilt is found by secants
    in its logit, in which the logarithm of the critical value is nearly a line.
    """
    at = np.log(z / np.sqrt((c * y * y).sum(-1))) + np.array([[0.0], [0.1]])  # of small tilts, and a bit farther
    (before, place), off = at, np.log(_at(at[0], y, c)[1] / z)
    for _ in range(STEPS):
        m, critical = _at(place, y, c)
        now = np.log(critical / z)
        if np.all(np.abs(now) < NEAR):
            break
        slope = np.where(place == before, 1.0, (now - off) / np.where(place == before, 1.0, place - before))
        step = np.where(np.abs(now) < NEAR, 0.0, -now / np.maximum(slope, 1e-3))
        before, off, place = place, now, place + np.clip(step, -5.0, 5.0)
    return m


def _at(logit: Floats, y: Floats, c: Floats) -> tuple[Floats, Floats]:
    """(M,) the mean that each tilt gives, and the critical value at which it is the quantile."""
    tilt, rest = special.expit(logit)[:, None], special.expit(-logit)[:, None]
    left = rest + tilt * (1.0 - y)  # 1 - tilt y, without loss of digits where the tilt is almost 1
    v = c / left
    m = (v * y).sum(-1, keepdims=True) / v.sum(-1, keepdims=True)
    exponent = (c * np.log(left)).sum(-1) - c.sum(-1) * np.log1p(-tilt * m)[:, 0]
    w = np.sqrt(2.0 * exponent)
    u = tilt[:, 0] * np.sqrt((v * (y - m) ** 2 / left).sum(-1))
    return m[:, 0], w + np.log(u / w) / w


@dataclass(frozen=True)
class Estimate:
    """A value measured on a sample of images, with a 95% confidence interval for a fresh sample of that size.

    Attributes:
        value: what was measured.
        low, high: the ends of the interval.
        images: how many images were measured.

    Example:
        >>> from randsmooth.metrics import share
        >>> share([True, True, False, True])
        Estimate(value=0.75, low=0.300..., high=0.954..., images=4)
        >>> print(share([True, True, False, True]))
        0.750 (0.301 to 0.954, 4 images)
    """

    value: float
    low: float
    high: float
    images: int

    def __str__(self) -> str:
        images = "1 image" if self.images == 1 else f"{self.images:,} images"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f}, {images})"


def share(hits: ArrayLike) -> Estimate:
    """The share of True among N images, with Wilson's score interval.

    Args:
        hits: (N,) truth values.

    Raises:
        InputError: there is no image.

    Source: Wilson 1927; see `wilson`.

    Example:
        >>> share([True, True, False, True]).value
        0.75
    """
    hits = np.asarray(hits, np.bool_)
    require_images(len(hits))
    successes, n = int(hits.sum()), len(hits)
    low, high = wilson(successes, n)
    return Estimate(successes / n, float(low), float(high), n)


def wilson(successes: ArrayLike, n: ArrayLike, *, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Both ends of Wilson's score interval, for many shares at once.

    Args:
        successes, n: counts with 0 <= successes <= n and n >= 1, shapes that broadcast.
        level: confidence of the interval.

    Source: Wilson 1927: the ends are the p with |successes / n - p| = z sqrt(p (1 - p) / n).

    Example:
        >>> low, high = wilson([50, 500], [100, 1000])
        >>> (high - low).round(3).tolist()
        [0.192, 0.062]
    """
    successes, n = np.asarray(successes, np.float64), np.asarray(n, np.float64)
    p = successes / n
    z = special.ndtri(0.5 + level / 2.0)
    centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n)
    low, high = np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    low, high = np.where(successes == 0, 0.0, low), np.where(successes == n, 1.0, high)  # exactly, despite rounding
    return low[()], high[()]


def mean(values: ArrayLike, bounds: tuple[float, float]) -> Estimate:
    """The mean over N images of a value that lies between two bounds, with the interval of `mean_interval`.

    Args:
        values: (N,) one number an image.
        bounds: the least and the most that it can be for any image; few images, or few that differ, tell nothing else.

    Raises:
        InputError: there is no image, or a value lies outside the bounds.

    Source: see `mean_interval`.

    Example:
        >>> print(mean([0.0, 0.5, 1.0, 1.5], (0.0, 2.0)))
        0.750 (0.176 to 1.564, 4 images)
        >>> print(mean([0.0] * 300, (0.0, 2.0)))
        0.000 (0.000 to 0.025, 300 images)
    """
    values = np.asarray(values, np.float64)
    require_images(len(values))
    least, most = bounds
    if not (least <= values.min() and values.max() <= most):
        raise InputError(f"values from {values.min():g} to {values.max():g} must lie between {least:g} and {most:g}")
    low, high = mean_interval(values, bounds, CRITICAL)
    return Estimate(float(values.mean()), float(low), float(high), len(values))


def require_images(n: int) -> None:
    """Raise InputError for an empty table: no metric is defined on no image."""
    if n == 0:
        raise InputError("the table holds no image; a metric needs at least one")
