"""Certified accuracy of two tables at a few radii: exact tests on the images on which they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import certified
from randsmooth.metrics.difference import require_same_images
from randsmooth.metrics.estimate import LEVEL, Estimate, critical, require_images
from randsmooth.metrics.intervals import paired_shares

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedAccuracy:
    """Certified accuracy of `a` minus that of `b` at one radius.

    Attributes:
        r: radius, in units of pixels in [0, 1].
        difference: with the 95% interval for fresh images (see `fresh_difference`).
        conditional: the same value with the exact interval given how many images differ (`conditional_difference`).
        only_a, only_b: images that only the one or only the other certifies at r.
        p_value: of McNemar's exact test that neither certifies more.
        holm: the p-value corrected for all the radii asked for together.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> (at,) = paired_accuracy(a, b, [0.3])
        >>> at.only_a, at.only_b, at.p_value
        (2, 0, 0.5)
    """

    r: float
    difference: Estimate
    conditional: Estimate
    only_a: int
    only_b: int
    p_value: float
    holm: float


def paired_accuracy(a: CertificatesLike, b: CertificatesLike, radii: Sequence[float]) -> list[PairedAccuracy]:
    """The difference in certified accuracy between two tables at each of a few `radii`.

    For several methods, or for every radius, use `compare`, which corrects for all of them together.

    Raises:
        InputError: the tables are not about the same images (see `pair`), hold none, or a radius is negative or not
            finite.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> [(at.r, at.difference.value, at.p_value) for at in paired_accuracy(a, b, [0.3, 0.6])]
        [(0.3, 0.5, 0.5), (0.6, -0.25, 1.0)]
    """
    a, b = as_certificates(a), as_certificates(b)
    require_same_images(a, b)
    require_images(len(a))
    counts = [_discordant(a, b, r) for r in radii]
    p_values = [mcnemar(only_a, only_b) for only_a, only_b in counts]
    return [
        PairedAccuracy(r, fresh_difference(*only, len(a)), conditional_difference(*only, len(a)), *only, p, corrected)
        for r, only, p, corrected in zip(radii, counts, p_values, holm(p_values).tolist(), strict=True)
    ]


def _discordant(a: Certificates, b: Certificates, r: float) -> tuple[int, int]:
    held_a, held_b = certified(a, r), certified(b, r)
    return int((held_a & ~held_b).sum()), int((held_b & ~held_a).sum())


def mcnemar(only_a: int, only_b: int) -> float:
    """p-value of the exact two-sided test that a discordant pair is as likely to favour `a` as `b`; 1 without pairs.

    Source: McNemar 1947, in its exact form: only_a ~ Bin(only_a + only_b, 1/2).

    Raises:
        InputError: a count below 0.

    Example:
        >>> mcnemar(0, 6)  # 2 / 2^6
        0.03125
    """
    pairs = only_a + only_b
    _check_pairs(only_a, only_b, max(pairs, 1))
    return bounds.two_sided_p_value(only_a, pairs) if pairs else 1.0


def fresh_difference(only_a: int, only_b: int, images: int) -> Estimate:
    """(only_a - only_b) / images with a 95% interval for the difference over fresh images.

    It is that of the mean of N numbers that are 1, -1 or 0 (see `paired_shares`), and as long as few images differ it
    contains 0 exactly where `mcnemar` gives 0.05 or more. Unlike `conditional_difference` it allows for another number
    of discordant pairs in another sample.

    Raises:
        InputError: a count below 0, no image, or more pairs than images.

    Source: see `mean_interval`.

    Example:
        >>> estimate = fresh_difference(only_a=30, only_b=10, images=1000)
        >>> estimate.value, round(estimate.low, 3), round(estimate.high, 3)
        (0.02, 0.007, 0.034)
    """
    _check_pairs(only_a, only_b, images)
    low, high = paired_shares(only_a, only_b, images, critical(LEVEL))
    return Estimate((only_a - only_b) / images, float(low), float(high), images)


def conditional_difference(only_a: int, only_b: int, images: int) -> Estimate:
    """(only_a - only_b) / images with a 95% interval that is exact given the number of discordant pairs.

    With D = only_a + only_b pairs that differ, of which a share theta would favour `a`, the difference is
    (2 theta - 1) D / images, and theta gets the Clopper-Pearson interval of only_a of D. It contains 0 exactly where
    `mcnemar` gives 0.05 or more. It covers the difference *given D* and ignores that D itself varies from sample to
    sample, so where one table wins most pairs it is too narrow for fresh images, and without a discordant pair it is
    [0, 0]. For fresh images take `fresh_difference`.

    Raises:
        InputError: a count below 0, no image, or more pairs than images.

    Source: Clopper & Pearson 1934; conditioning on D as in McNemar 1947.

    Example:
        >>> estimate = conditional_difference(only_a=30, only_b=10, images=1000)
        >>> estimate.value, round(estimate.low, 3), round(estimate.high, 3)
        (0.02, 0.007, 0.03)
    """
    _check_pairs(only_a, only_b, images)
    pairs = only_a + only_b
    if pairs == 0:
        return Estimate(0.0, 0.0, 0.0, images)
    half = (1.0 - LEVEL) / 2.0
    low, high = float(bounds.lower(only_a, pairs, half)), float(bounds.upper(only_a, pairs, half))
    scale = pairs / images
    return Estimate((only_a - only_b) / images, (2.0 * low - 1.0) * scale, (2.0 * high - 1.0) * scale, images)


def _check_pairs(only_a: int, only_b: int, images: int) -> None:
    require_images(images)
    if min(only_a, only_b) < 0:
        raise InputError(f"only_a={only_a} and only_b={only_b} are counts of images, which are never below 0")
    if only_a + only_b > images:
        raise InputError(f"only_a={only_a} and only_b={only_b} are more than the {images} images there are")


def holm(p_values: ArrayLike) -> Floats:
    """(M,) p-values corrected so that P(any true hypothesis below 0.05) <= 0.05, however they depend on each other.

    Raises:
        InputError: a p-value outside [0, 1].

    Source: Holm 1979: the i-th smallest of M is multiplied by M - i + 1, and none falls below a smaller one.

    Example:
        >>> holm([0.01, 0.04, 0.03]).round(3).tolist()  # 3 * 0.01, then 2 * 0.03
        [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, np.float64)
    if np.any(~((p >= 0.0) & (p <= 1.0))):
        raise InputError(f"p-values {p.tolist()} must lie in [0, 1]")
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
