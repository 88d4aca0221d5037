"""A number measured on a sample of images, with the interval that the sample allows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from randsmooth import bounds
from randsmooth.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


LEVEL = 0.95
CRITICAL = float(
    special.ndtri(0.5 + LEVEL / 2.0)
)  # of one two-sided interval at LEVEL: 1.96
STEPS = 60  # at most, of the search for an end; a dozen do
NEAR = 1e-10  # of the critical value: when it has ended
FARTHEST, SPACING = 30.0, 0.1  # of the points of the integral, in asinh(u) of its width
TINY = 1e-9  # of the integrand's size at the saddlepoint: what lies beyond is left out
UNEQUAL = 1e-12  # of the distance between the bounds; values nearer to each other are the same, apart from rounding


def mean_interval(
    values: ArrayLike,
    bounds: tuple[float, float],
    z: float,
    counts: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Both ends of an interval for the expectation of values between two bounds, from N of them drawn independently.

    To the values one is added that was not seen: the upper bound for the upper end and the lower bound for the lower
    one. The upper end is the quantile of level Phi(z) of the weighted mean of all N + 1, their weights uniform on the
    simplex (of Dirichlet's distribution with parameters 1). Nothing is assumed of the distribution but its bounds: each
    end fails with probability at most Phi(-z), however few values there are and however far those lie that none of
    them resembles. The order of the values does not matter.

    Of values that are 0 or 1 these are Clopper and Pearson's ends; of paired shares the interval contains 0 exactly
    where McNemar's exact test does not reject.

    Args:
        values: (..., J) that occurred, between the bounds.
        bounds: the least and the most that any value can be.
        z: the critical value, 1.96 for a single interval at 95%.
        counts: (..., J) how often each occurred, broadcasts with `values`; each once by default.

    Returns:
        low, high: (...)

    Source: Gaffke 2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
        variable", who conjectured that its level holds for every distribution. A proof is announced (Vlassis & Thomas
        2026, "An exact distribution-free test for means of nonnegative random variables"), known here by citation
        only; `tests/metrics/test_intervals.py` enumerates populations of three values. The quantile: Lugannani &
        Rice 1980, in Barndorff-Nielsen's form, corrected by the inversion integral that it approximates.

    Example:
        >>> low, high = mean_interval([0.0, 0.5, 1.0, 1.5], (0.0, 2.0), 1.96)
        >>> float(low.round(2)), float(high.round(2))
        (0.18, 1.56)
        >>> low, high = mean_interval(np.zeros(300), (0.0, 1.0), 1.96)  # 1 - 0.025^(1/300) = 0.0122
        >>> float(low), float(high.round(4))
        (0.0, 0.0122)
    """
    x = np.asarray(values, np.float64)
    c = np.ones_like(x) if counts is None else np.asarray(counts, np.float64)
    x, c = np.broadcast_arrays(x, c)
    least, most = bounds
    return 0.0 - _upper(-x, c, -least, z, most - least), _upper(
        x, c, most, z, most - least
    )  # 0.0: never -0.0


def paired_shares(
    only_a: ArrayLike, only_b: ArrayLike, images: int, z: float = CRITICAL
) -> tuple[Floats, Floats]:
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
    return mean_interval(
        [-1.0, 0.0, 1.0], (-1.0, 1.0), z, np.stack([b, images - a - b, a], axis=-1)
    )


def _upper(x: Floats, c: Floats, most: float, z: float, span: float) -> Floats:
    """(...) the upper ends; the lower ones are those of the negative values."""
    unseen = np.full((*x.shape[:-1], 1), most)
    x, c = (
        np.concatenate([x, unseen], axis=-1),
        np.concatenate([c, np.ones_like(unseen)], axis=-1),
    )
    mean = (c * x).sum(-1, keepdims=True) / c.sum(-1, keepdims=True)
    apart = np.where(c > 0.0, x - mean, 0.0)
    top = apart.max(axis=-1)
    spread = (
        top > UNEQUAL * span
    )  # else all values are the bound, or there is nothing between the bounds
    found = _quantile(apart[spread] / top[spread, None], c[spread], z)
    ends = np.array(mean[..., 0])
    ends[spread] += found * top[spread]
    return np.asarray(np.minimum(ends, most))


def _quantile(y: Floats, c: Floats, z: float) -> Floats:
    """(M,) quantiles of level Phi(z) of weighted means of the rows of y (M, J), of mean 0 and of maximum 1.

    P(weighted mean > m) = P(sum E_i (y_i - m) > 0) for exponential E_i. The saddlepoint approximation of it is off by
    5% at most; integrated exactly where it puts the quantile, it shows by how much to aim at another critical value.
    """
    wanted = np.full(len(y), z)
    reached = -special.ndtri(_beyond(_tilt(y, c, wanted), y, c))
    return _at(_tilt(y, c, 2.0 * wanted - reached), y, c)[0]


def _tilt(y: Floats, c: Floats, z: Floats) -> Floats:
    """(M,) logits of the tilts at which the approximation gives the critical values z (M,).

    `_at` gives the quantile and the critical value of each tilt between 0 and 1, and the tilt is found by secants in
    its logit, in which the logarithm of the critical value is nearly a line.
    """
    before = np.log(z / np.sqrt((c * y * y).sum(-1)))  # of small tilts
    place = before + 0.1
    off = np.log(_at(before, y, c)[1] / z)
    for _ in range(STEPS):
        now = np.log(_at(place, y, c)[1] / z)
        if np.all(np.abs(now) < NEAR):
            break
        slope = np.where(
            place == before,
            1.0,
            (now - off) / np.where(place == before, 1.0, place - before),
        )
        step = np.where(np.abs(now) < NEAR, 0.0, -now / np.maximum(slope, 1e-3))
        before, off, place = place, now, place + np.clip(step, -5.0, 5.0)
    return np.asarray(place)


def _beyond(logit: Floats, y: Floats, c: Floats) -> Floats:
    """(M,) the chance that the weighted mean exceeds the quantile of each tilt.

    It is 1/pi times the integral of Re(exp K(s + iu) / (s + iu)) over u > 0, K being the logarithm of the moment
    generating function of sum E_i (y_i - m), along the line through the saddlepoint s, by the trapezoidal rule in
    asinh(u).
    """
    tilt, left, m, exponent = _tilted(logit, y, c)
    scale = 1.0 - tilt * m
    saddle = (tilt / scale)[:, 0]
    apart = (y - m) * scale / left
    width = 1.0 / np.sqrt((c * apart * apart).sum(-1))
    total = np.zeros(len(y))
    for t in np.arange(0.0, FARTHEST, SPACING):
        u = width * np.sinh(t)
        ahead = u[:, None] * apart
        size = np.exp(-(0.5 * c * np.log1p(ahead * ahead)).sum(-1))
        turned = (c * np.arctan(ahead)).sum(-1)
        real = (saddle * np.cos(turned) + u * np.sin(turned)) / (
            saddle * saddle + u * u
        )
        total += size * real * width * np.cosh(t) * (0.5 if t == 0.0 else 1.0)
        if np.all(size * np.cosh(t) < TINY):
            break
    return np.asarray(np.exp(-exponent) * total * SPACING / np.pi)


def _at(logit: Floats, y: Floats, c: Floats) -> tuple[Floats, Floats]:
    """(M,) the mean that each tilt gives, and the critical value at which it is the quantile."""
    tilt, left, m, exponent = _tilted(logit, y, c)
    w = np.sqrt(2.0 * exponent)
    u = tilt[:, 0] * np.sqrt((c * ((y - m) / left) ** 2).sum(-1))
    return m[:, 0], w + np.log(u / w) / w


def _tilted(
    logit: Floats, y: Floats, c: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """What a tilt between 0 and 1 makes of the values.

    Returns:
        tilt: (M, 1)
        left: (M, J) 1 - tilt y, without loss of digits where the tilt is almost 1.
        m: (M, 1) the mean under the tilt.
        exponent: (M,) minus the logarithm of the moment generating function of sum E_i (y_i - m) at the saddlepoint.
    """
    tilt, rest = special.expit(logit)[:, None], special.expit(-logit)[:, None]
    left = rest + tilt * (1.0 - y)
    v = c / left
    m = (v * y).sum(-1, keepdims=True) / v.sum(-1, keepdims=True)
    exponent = (c * np.log(left)).sum(-1) - c.sum(-1) * np.log1p(-tilt * m)[:, 0]
    return tilt, left, m, exponent


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
        Estimate(value=0.75, low=0.194..., high=0.993..., images=4)
        >>> print(share([True, True, False, True]))
        0.750 (0.194 to 0.994, 4 images)
    """

    value: float
    low: float
    high: float
    images: int

    def __str__(self) -> str:
        images = "1 image" if self.images == 1 else f"{self.images:,} images"
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f}, {images})"


def share(hits: ArrayLike) -> Estimate:
    """The share of True among N images, with Clopper and Pearson's exact interval.

    Args:
        hits: (N,) truth values.

    Raises:
        InputError: there is no image.

    Source: see `share_interval`.

    Example:
        >>> share([True, True, False, True]).value
        0.75
    """
    hits = np.asarray(hits, np.bool_)
    require_images(len(hits))
    successes, n = int(hits.sum()), len(hits)
    low, high = share_interval(successes, n)
    return Estimate(successes / n, float(low), float(high), n)


def share_interval(
    successes: ArrayLike, n: ArrayLike, *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Both ends of Clopper and Pearson's interval, for many shares at once.

    It holds the true share with probability `level` or more, whatever that share is, also
    near 0 and 1. Each end alone fails with probability (1 - level) / 2 at most.

    Args:
        successes, n: counts with 0 <= successes <= n and n >= 1, shapes that broadcast.
        level: confidence of the interval.

    Raises:
        InputError: counts that cannot be, or a level outside (0, 1).

    Source: Clopper & Pearson 1934.

    Example:
        >>> low, high = share_interval([0, 50, 500], [100, 100, 1000])
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.0, 0.398, 0.469], [0.036, 0.602, 0.531])
    """
    each = (1.0 - level) / 2.0
    low, high = bounds.lower(successes, n, each), bounds.upper(successes, n, each)
    return low[()], high[()]


def share_if_chosen(share: Estimate, tables: int) -> Estimate:
    """The share of a table that was chosen among several by these images, with an interval that allows for the choice.

    The best of several equal tables owes its place to chance, so that its figure is too high on average, and its own
    interval misses the truth more often than 5%. This one holds for all tables at once, and so for any that is chosen.

    Args:
        share: of the chosen table, as `share` gives it.
        tables: among how many it was chosen.

    Raises:
        InputError: there is no table.

    Example:
        >>> best = share([True] * 430 + [False] * 70)
        >>> print(best)
        0.860 (0.826 to 0.889, 500 images)
        >>> print(share_if_chosen(best, 20))
        0.860 (0.807 to 0.903, 500 images)
    """
    if tables < 1:
        raise InputError(f"tables={tables}: the table was chosen among one or more")
    level = 1.0 - (1.0 - LEVEL) / tables
    low, high = share_interval(
        round(share.value * share.images), share.images, level=level
    )
    return Estimate(share.value, float(low), float(high), share.images)


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
        0.750 (0.178 to 1.560, 4 images)
        >>> print(mean([0.0] * 300, (0.0, 2.0)))
        0.000 (0.000 to 0.024, 300 images)
    """
    values = np.asarray(values, np.float64)
    require_images(len(values))
    least, most = bounds
    if not (least <= values.min() and values.max() <= most):
        raise InputError(
            f"values from {values.min():g} to {values.max():g} must lie between {least:g} and {most:g}"
        )
    low, high = mean_interval(values, bounds, CRITICAL)
    return Estimate(float(values.mean()), float(low), float(high), len(values))


def require_images(n: int) -> None:
    """Raise InputError for an empty table: no metric is defined on no image."""
    if n == 0:
        raise InputError("the table holds no image; a metric needs at least one")
