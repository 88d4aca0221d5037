"""A number measured on a sample of images, with the interval that the sample allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from randsmooth.errors import InputError
from randsmooth.metrics.intervals import mean_interval

Floats = NDArray[np.float64]

LEVEL = 0.95


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
    z = critical(level)
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
        raise InputError(
            f"values from {values.min():g} to {values.max():g} must lie between the bounds {least:g} and {most:g}"
        )
    low, high = mean_interval(values, bounds, critical(LEVEL))
    return Estimate(float(values.mean()), float(low), float(high), len(values))


def critical(level: float) -> float:
    """The critical value of a two-sided interval at a level: 1.96 at 95%."""
    return float(special.ndtri(0.5 + level / 2.0))


def require_images(n: int) -> None:
    """Raise InputError for an empty table: no metric is defined on no image."""
    if n == 0:
        raise InputError("the table holds no image; a metric needs at least one")
