"""The p_A curve with a band around all of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates import CertificatesLike, as_certificates
from randsmooth.metrics.estimate import LEVEL, require_images
from randsmooth.metrics.p_a_estimates import p_a_curve

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ProbabilityBand:
    """A p_A curve and a band that covers the population's whole curve at once.

    Attributes:
        x: (M,) values of p_A.
        share: (M,) share of images with p_A >= x; NaN, like the ends of the band, where it is unknown.
        low, high: (M,) ends of the 95% band.
        images: how many were measured.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> band = p_a_band(table, [0.5, 0.9])
        >>> band.share.tolist(), band.images
        ([0.75, 0.5], 4)
    """

    x: Floats
    share: Floats
    low: Floats
    high: Floats
    images: int


def dkw(images: int) -> float:
    """Half-width e of the 95% band around a distribution function: sqrt(log(2 / 0.05) / (2 images)).

    P(the sample's curve leaves the population's by more than e anywhere) <= 0.05, for any distribution.

    Raises:
        InputError: no image.

    Source: Dvoretzky, Kiefer & Wolfowitz 1956, with the constant 2 of Massart 1990, corollary 1.

    Example:
        >>> round(dkw(500), 3), round(dkw(10_000), 3)
        (0.061, 0.014)
    """
    require_images(images)
    return math.sqrt(math.log(2.0 / (1.0 - LEVEL)) / (2.0 * images))


def p_a_band(table: CertificatesLike, x: ArrayLike) -> ProbabilityBand:
    """`p_a_curve` at `x` (M,) with a 95% band that holds at all x simultaneously.

    It is about fresh images whose p_A is measured with as many samples. That two bands overlap does not mean that two
    tables over the same images do not differ: for that, see `compare`.

    Raises:
        InputError: no image, or p_A is unknown (see `p_a`).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> band = p_a_band(table, [0.5, 0.9])
        >>> band.share.tolist(), band.low.round(2).tolist()
        ([0.75, 0.5], [0.07, 0.0])
    """
    table = as_certificates(table)
    x = np.asarray(x, np.float64)
    share = p_a_curve(table, x)
    half = dkw(len(table))
    return ProbabilityBand(x, share, np.maximum(share - half, 0.0), np.minimum(share + half, 1.0), len(table))
