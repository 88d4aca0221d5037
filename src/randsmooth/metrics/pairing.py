"""Two tables restricted to the images that they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import require_labels

Ints = NDArray[np.int64]
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
