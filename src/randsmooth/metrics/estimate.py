"""A number measured on a sample of images, with the interval that the sample allows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from randsmooth.errors import InputError

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """`value` measured on `images` images; a 95% confidence interval [low, high] for a fresh such sample."""

    value: float
    low: float
    high: float
    images: int


def share(hits: NDArray[np.bool_]) -> Estimate:
    """Share of True among (N,) with Wilson's score interval.

    Raises:
        InputError: N is 0.
    """
    require_images(len(hits))
    successes, n = int(hits.sum()), len(hits)
    interval = stats.binomtest(successes, n).proportion_ci(LEVEL, method="wilson")
    return Estimate(successes / n, float(interval.low), float(interval.high), n)


def wilson(
    successes: ArrayLike, n: ArrayLike, *, level: float = LEVEL
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of Wilson's score interval for many shares at once; `share` gives the same for one, at 95%.

    Args:
        successes, n: counts that broadcast; n >= 1. level: of confidence.

    Source: Wilson 1927: the p with |successes / n - p| = z sqrt(p (1 - p) / n).
    """
    n = np.asarray(n, np.float64)
    p = np.asarray(successes, np.float64) / n
    z = float(special.ndtri(0.5 + level / 2.0))
    centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)


def mean(values: NDArray[np.float64], *, resamples: int = 2000, seed: int = 0) -> Estimate:
    """Mean of (N,) with the percentile bootstrap interval; equal values or one image give [value, value].

    Raises:
        InputError: N is 0.
    """
    require_images(len(values))
    value = float(values.mean())
    if np.ptp(values) == 0.0:
        return Estimate(value, value, value, len(values))
    result = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, 2**22 // len(values)),  # memory: about 32 MiB at a time
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return Estimate(value, float(result.confidence_interval.low), float(result.confidence_interval.high), len(values))


def require_images(n: int) -> None:
    """Raise InputError for an empty table: no metric is defined on no image."""
    if n == 0:
        raise InputError("the table holds no image; a metric needs at least one")
