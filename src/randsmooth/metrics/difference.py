"""Two tables over the same images: what separates their ACR and their p_A curves, beyond chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.metrics.estimate import LEVEL, Estimate, mean
from randsmooth.metrics.p_a import PA, p_a

Floats = NDArray[np.float64]


def require_same_images(a: Certificates, b: Certificates) -> None:
    """Raise InputError unless both tables are about the same images in the same order."""
    if not (np.array_equal(a.idx, b.idx) and np.array_equal(a.label, b.label)):
        raise InputError(
            f"{a.name} ({len(a)} images) and {b.name} ({len(b)} images) are not about the same images, so "
            "they cannot be compared image by image; certify both with the same --dataset, --take or --skip"
        )


def acr_difference(a: Certificates, b: Certificates, *, resamples: int = 2000) -> Estimate:
    """ACR of `a` minus ACR of `b`, with the paired bootstrap interval: images are redrawn with both radii.

    Raises:
        InputError: the tables are not about the same images, or hold none.
    """
    require_same_images(a, b)
    return mean(a.radius * a.correct - b.radius * b.correct, resamples=resamples)


@dataclass(frozen=True)
class CurveDifference:
    """p_A curve of one table minus that of another, on a grid.

    Attributes:
        x: (M,) values of p_A.
        difference: (M,) share of images with p_A >= x, first table minus second.
        band: half-width that covers the whole curve at once with 95% probability.
    """

    x: Floats
    difference: Floats
    band: float

    @property
    def above(self) -> NDArray[np.bool_]:
        """(M,) the first table's curve is higher, beyond chance."""
        return np.asarray(self.difference > self.band)

    @property
    def below(self) -> NDArray[np.bool_]:
        """(M,) the first table's curve is lower, beyond chance."""
        return np.asarray(self.difference < -self.band)


def curve_difference(
    a: Certificates, b: Certificates, *, points: int = 99, resamples: int = 1000, seed: int = 0
) -> CurveDifference:
    """Paired difference of the p_A curves with a simultaneous band.

    The band is the 95% quantile of the largest deviation over the grid, by bootstrap over the images (each
    image keeps both of its values, so that what the two models share cancels).

    Raises:
        InputError: the tables are not about the same images, or p_A is unknown (see `p_a`).
    """
    require_same_images(a, b)
    first, second = p_a(a), p_a(b)
    start = max(first.known_from, second.known_from)
    x = np.arange(1, points + 1) / (points + 1)  # divided, as counts are: k/n = x is then met exactly
    x = x[x >= start]
    paired = _indicators(first, x) - _indicators(second, x)  # (N, M)
    difference = paired.mean(axis=0)
    images = len(paired)
    picks = np.random.default_rng(seed).multinomial(images, np.full(images, 1.0 / images), size=resamples)
    deviation = np.abs(picks @ paired / images - difference).max(axis=1)  # (resamples,)
    return CurveDifference(x, difference, float(np.quantile(deviation, LEVEL)))


def _indicators(p: PA, x: Floats) -> Floats:
    """(N, M) 1.0 where the image's p_A reaches x."""
    return (np.nan_to_num(p.values, nan=-1.0)[:, None] >= x).astype(np.float64)
