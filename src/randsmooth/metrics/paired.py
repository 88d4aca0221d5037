"""Two tables over the same images: images paired, the difference of their ACRs, and exact tests at a few radii."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import bounds
from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import certified, largest_possible, require_labels
from randsmooth.metrics.estimate import LEVEL, Estimate, critical, mean, paired_shares, require_images

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def require_same_images(a: CertificatesLike, b: CertificatesLike) -> None:
    """Raise InputError unless both tables are about the same images in the same order.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> require_same_images(from_radii([0.5, 0.0]), from_radii([0.0, 0.3]))
        >>> require_same_images(from_radii([0.5, 0.0], name="a"), from_radii([0.3], name="b"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: a (2 images) and b (1 images) are not about the same images, ...
    """
    a, b = as_certificates(a), as_certificates(b)
    if not (np.array_equal(a.idx, b.idx) and np.array_equal(a.label, b.label)):
        raise InputError(
            f"{a.name} ({len(a)} images) and {b.name} ({len(b)} images) are not about the same images, so "
            "they cannot be compared image by image; certify both with the same --dataset, --take or --skip"
        )


def acr_difference(a: CertificatesLike, b: CertificatesLike) -> Estimate:
    """ACR of `a` minus ACR of `b`, with the 95% interval of a mean of paired differences.

    The interval is for this one difference; of several methods, take `compare`.

    Raises:
        InputError: the tables are not about the same images, or hold none.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> round(acr_difference(a, b).value, 6)  # (1.5 - 1.1) / 4
        0.1
    """
    a, b = as_certificates(a), as_certificates(b)
    require_same_images(a, b)
    return mean(gains(a, b), gain_bounds(a, b))


def gains(a: Certificates, b: Certificates) -> NDArray[np.float64]:
    """(N,) what each image adds to ACR of `a` minus ACR of `b`."""
    return np.asarray(a.radius * a.correct - b.radius * b.correct)


def gain_bounds(a: Certificates, b: Certificates) -> tuple[float, float]:
    """The least and the most that an image can add."""
    return -largest_possible(b), largest_possible(a)


WORDS = {"dataset": "data set", "split": "split"}


def differing_source(a: CertificatesLike, b: CertificatesLike) -> str:
    """Which field shows that the tables are about different images, "dataset" or "split"; "" if neither does.

    Tables whose headers hold the same hash of images and labels are about the same images, whatever their names.

    Example:
        >>> from randsmooth.certificates import from_radii, infer
        >>> paths = ("cifar10-sigma0.5/macer.tsv", "mnist-sigma0.5/macer.tsv")
        >>> cifar10, mnist = (infer(from_radii([0.3]), path) for path in paths)
        >>> differing_source(cifar10, mnist), differing_source(mnist, mnist)
        ('dataset', '')
    """
    a, b = as_certificates(a), as_certificates(b)
    if a.header.data is not None and a.header.data == b.header.data:
        return ""
    named = {field: {getattr(table.header, field) for table in (a, b)} - {None} for field in WORDS}
    return next((field for field, values in named.items() if len(values) > 1), "")


def pair(a: CertificatesLike, b: CertificatesLike) -> tuple[Certificates, Certificates]:
    """Both tables on the images (by idx) that they share, in the order of `a`.

    The two pass `require_same_images`, so that `acr_difference(*pair(a, b))` compares a log of every image with one of
    every tenth.

    Raises:
        InputError: an index occurs twice in a table, no image is shared, the tables are of two data sets or splits, or
            the labels of a shared image differ.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> every, third = from_radii([0.5, 0.0, 0.2, 0.9]), from_radii([0.1, 0.0, 0.0, 0.7]).rows(np.array([0, 3]))
        >>> first, second = pair(every, third)
        >>> first.idx.tolist(), first.radius.tolist(), second.radius.tolist()
        ([0, 3], [0.5, 0.9], [0.1, 0.7])
    """
    a, b = as_certificates(a), as_certificates(b)
    for table in (a, b):
        require_labels(table)
        _require_once(table)
    _, in_a, in_b = np.intersect1d(a.idx, b.idx, assume_unique=True, return_indices=True)
    order = np.argsort(in_a)
    first, second = a.rows(in_a[order]), b.rows(in_b[order])
    _require_shared(first, second, a, b)
    return first, second


def _require_once(table: Certificates) -> None:
    if len(table) and table.idx.min() < 0:
        raise InputError(
            f"{table.name or 'a table'} does not say which images it is about: it and another table "
            "share no image that could be named; compare figures, not images"
        )
    images, times = np.unique(table.idx, return_counts=True)
    if np.any(times > 1):
        place = int(np.argmax(times > 1))
        raise InputError(
            f"image {images[place]} occurs {times[place]} times in {table.name or 'a table'}, so it is not known which "
            "row to pair; keep one row an image"
        )


def _require_shared(first: Certificates, second: Certificates, a: Certificates, b: Certificates) -> None:
    if len(first) == 0:
        raise InputError(
            f"{a.name} ({len(a)} images) and {b.name} ({len(b)} images) share no image, so they cannot be compared "
            "image by image; certify both with the same --dataset, --take or --skip"
        )
    other = differing_source(a, b)
    if other:
        raise InputError(
            f"{a.name} is of the {WORDS[other]} {getattr(a.header, other)} and {b.name} of "
            f"{getattr(b.header, other)}, so they share no image; certify both with the same --dataset and --split"
        )
    wrong = np.flatnonzero(first.label != second.label)
    if len(wrong):
        row = wrong[0]
        raise InputError(
            f"image {first.idx[row]} has label {first.label[row]} in {a.name} and {second.label[row]} in {b.name}: the "
            "tables are about different data sets or splits"
        )


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
