"""A class's own count, and the largest counts of the classes against it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.bounds.binomial import Ints
from randsmooth.errors import InputError


def check_class_counts(counts: ArrayLike, label: ArrayLike) -> None:
    """Raise InputError unless counts are (N, K >= 2) and >= 0, with one class 0..K-1 in `label` for every row."""
    counts, label = np.asarray(counts), np.asarray(label)
    if counts.ndim != 2 or counts.shape[1] < 2:
        raise InputError(
            f"counts of shape {counts.shape} must be (N, K): a row an image, a column each of K >= 2 classes"
        )
    if np.any(counts < 0):
        raise InputError(f"class counts must be >= 0; the smallest is {counts.min()}")
    if label.shape != counts.shape[:1]:
        raise InputError(f"labels of shape {label.shape} must hold one class for each of {len(counts)} rows of counts")
    if np.any((label < 0) | (label >= counts.shape[1])):
        raise InputError(
            f"class {label[(label < 0) | (label >= counts.shape[1])][0]} must lie in 0..{counts.shape[1] - 1}; "
            "leave out the images on which the classifier abstained"
        )


def check_k(k: int, classes: int) -> None:
    """Raise InputError unless 1 <= k <= K - 1: every class is among the K most likely."""
    if not 1 <= k <= classes - 1:
        raise InputError(f"k={k} must lie in 1..{classes - 1}, below the number of classes ({classes})")


def own_and_rivals(counts: ArrayLike, label: ArrayLike, k: int) -> tuple[Ints, Ints, Ints]:
    """Split (N, K) class counts at a class of each row.

    Returns:
        own: (N,) the count of `label`.
        rivals: (N, k) the k largest of the other counts, descending.
        n: (N,) samples of each row.

    Raises:
        InputError: shapes that do not match, a class outside 0..K-1, k outside 1..K-1.
    """
    check_class_counts(counts, label)
    counts, label = np.asarray(counts, np.int64), np.asarray(label, np.int64)
    check_k(k, counts.shape[1])
    rows = np.arange(len(counts))
    others = counts.copy()
    others[rows, label] = -1  # last in the order
    return counts[rows, label], -np.sort(-others, axis=1)[:, :k], counts.sum(axis=1)
