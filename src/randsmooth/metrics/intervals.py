"""Intervals of paired differences at any critical value: of shares, for many radii at once, and of means."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

HALVINGS = 45  # of an interval no longer than 2: to far below one image of any table


def paired_shares(only_a: ArrayLike, only_b: ArrayLike, images: int, z: float) -> tuple[Floats, Floats]:
    """Both ends of an interval for p(only a) - p(only b): at each end the wider of `agresti_min` and `tango`.

    Where few images differ, all in favour of one side, the first is too narrow away from 0, as few differing images
    feign a small standard error, and the second is too narrow towards 0. Elsewhere the two agree.

    Args:
        only_a, only_b: (...) counts of images that only the one or only the other certifies.
        images: how many were compared.
        z: the critical value, 1.96 for a single interval at 95%.
    """
    ends = agresti_min(only_a, only_b, images, z), tango(only_a, only_b, images, z)
    return np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])


def agresti_min(only_a: ArrayLike, only_b: ArrayLike, images: int, z: float) -> tuple[Floats, Floats]:
    """Both ends of the normal interval after half an image was added to each of the four cells; see `paired_shares`.

    Source: Agresti & Min 2005, section 3.
    """
    a, b = (np.asarray(counts, np.float64) for counts in (only_a, only_b))
    total, ahead = images + 2.0, a - b
    half = z * np.sqrt(a + b + 1.0 - ahead * ahead / total) / total
    return np.maximum(ahead / total - half, -1.0), np.minimum(ahead / total + half, 1.0)


def tango(only_a: ArrayLike, only_b: ArrayLike, images: int, z: float) -> tuple[Floats, Floats]:
    """Both ends of the score interval; arguments as `paired_shares`.

    It holds the differences d that (only_a - only_b - images d) / s(d) does not reject, s(d) being the standard error
    that the counts have if d is true: without a single image that differs it still reaches to z^2 / (images + z^2).
    It excludes 0 exactly where McNemar's statistic |only_a - only_b| / sqrt(only_a + only_b) is above z.

    Source: Tango 1998, section 3, with the constrained estimate in closed form.
    """
    a, b = (np.asarray(counts, np.float64) for counts in (only_a, only_b))
    return -_upper(b, a, images, z), _upper(a, b, images, z)


def _upper(a: Floats, b: Floats, images: int, z: float) -> Floats:
    """(...) the largest difference that is not rejected: the statistic falls as the difference grows."""
    inside, outside = (a - b) / images, np.ones_like(a)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2.0
        kept = images * middle - (a - b) <= z * _error(a, b, images, middle)
        inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
    return np.asarray(inside)


def _error(a: Floats, b: Floats, images: int, d: Floats) -> Floats:
    """Standard error of a - b if the difference is `d`: p(only b) is its maximum-likelihood estimate given d."""
    linear = (2.0 * images - a + b) * d - a - b
    root = np.sqrt(np.maximum(linear**2 + 8.0 * images * b * d * (1.0 - d), 0.0))
    only_b = np.maximum((root - linear) / (4.0 * images), np.maximum(-d, 0.0))
    return np.asarray(np.sqrt(images * np.maximum(2.0 * only_b + d * (1.0 - d), 0.0)))


def paired_mean(values: Floats, z: float) -> tuple[float, float]:
    """Both ends of an interval for the mean of (N,) differences: the means m whose t = sum(x - m) / s(m) is within z.

    s(m)^2 is the sum of (x - m)^2 and of z^2 / 2 times the largest x^2, as though so many images more differed by that
    much: where a few large differences make the mean, their number is as uncertain as their sum.
    """
    images, middle, most = len(values), float(values.mean()), float(np.abs(values).max())
    if images <= z * z:
        return -most, most
    squares = float(values @ values) + 0.5 * z * z * most * most
    half = z * math.sqrt((squares / images - middle * middle) / (images - z * z))
    return max(middle - half, -most), min(middle + half, most)
