"""A number measured on a sample of images, with the interval that the sample allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from randsmooth.errors import InputError

Floats = NDArray[np.float64]

LEVEL = 0.95
FEW = 1000  # images up to which the redrawn ones are kept for the next table of as many: 16 MB
BLOCK = 2**16  # images redrawn at a time: half a megabyte of places, which stays in a processor's cache


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
    z = float(special.ndtri(0.5 + level / 2.0))
    centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n)
    low, high = np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    low, high = np.where(successes == 0, 0.0, low), np.where(successes == n, 1.0, high)  # exactly, despite rounding
    return low[()], high[()]


def mean(values: ArrayLike, *, resamples: int = 2000, seed: int = 0) -> Estimate:
    """The mean over N images, with the percentile bootstrap interval; equal values or one image give [value, value].

    Args:
        values: (N,) one number an image.
        resamples: how often the images are redrawn.
        seed: of the redrawing.

    Raises:
        InputError: there is no image.

    Source: Efron 1979, the percentile method.

    Example:
        >>> mean([0.0, 0.5, 1.0, 1.5])
        Estimate(value=0.75, low=0.25, high=1.25, images=4)
    """
    values = np.asarray(values, np.float64)
    require_images(len(values))
    value = float(values.mean())
    if np.ptp(values) == 0.0:
        return Estimate(value, value, value, len(values))
    half = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(_redrawn_means(values, resamples, seed), [half, 1.0 - half])
    return Estimate(value, float(low), float(high), len(values))


def _redrawn_means(values: Floats, resamples: int, seed: int) -> Floats:
    """(resamples,) means of N values drawn with replacement from `values` (N,)."""
    n = len(values)
    redrawn = _kept if n <= FEW else _redrawn
    return np.concatenate([values.take(images).mean(axis=1) for images in redrawn(n, resamples, seed)])


def _redrawn(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """The places (rows, N) of the images that are redrawn, block by block."""
    rng, rows = np.random.default_rng(seed), max(1, BLOCK // n)
    for start in range(0, resamples, rows):
        yield rng.integers(0, n, (min(rows, resamples - start), n))


@lru_cache(maxsize=1)
def _kept(n: int, resamples: int, seed: int) -> list[NDArray[np.int64]]:
    return list(_redrawn(n, resamples, seed))


def require_images(n: int) -> None:
    """Raise InputError for an empty table: no metric is defined on no image."""
    if n == 0:
        raise InputError("the table holds no image; a metric needs at least one")
