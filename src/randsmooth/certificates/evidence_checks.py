"""The checks on the evidence of a table, before anything is derived from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates.header import Header
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.rules import Evidence, Rule

Array = NDArray[Any]
Ints = NDArray[np.int64]

NO_LABEL = -1  # in place of the label of every image of data that have none
ADDRESS = 32  # bytes of an image's address
KINDS = {"seconds": "iuf", "u": "f", "image": "u"}  # of NumPy types; of all others whole numbers
OPTIONAL = ("machine", "image", "u")


def check_columns(header: Header, columns: Mapping[str, Any], paths: Sequence[Array] | None) -> None:
    """Raise InputError unless these are N rows of K classes in the shapes and types that `Certificates` names.

    Images are numbered from 0, each has one row, times are finite and not below 0, machines are among those of the
    header, and uniform numbers are there under the randomised bound alone.
    """
    idx, counts = columns["idx"], columns["counts"]
    N = len(idx) if isinstance(idx, np.ndarray) and idx.ndim == 1 else 0
    K = max(1, counts.shape[1]) if isinstance(counts, np.ndarray) and counts.ndim == 2 else 1
    shapes = {"counts0": (N, K), "counts": (N, K), "image": (N, ADDRESS)}
    for name, array in columns.items():
        if array is not None or name not in OPTIONAL:
            _check_array(name, array, shapes.get(name, (N,)), KINDS.get(name, "iu"))
    for path in paths or ():
        _check_array("a path", path, (len(path),), "iu")
    if paths is not None and len(paths) != N:
        raise InputError(f"there are looks of {len(paths):,} images, and {N:,} images")
    check_images(idx)
    seconds, machine, u = columns["seconds"], columns["machine"], columns["u"]
    refuse(idx, ~(np.isfinite(seconds) & (seconds >= 0)), lambda row: f"took {seconds[row]} seconds")
    if machine is not None:
        known = (machine >= -1) & (machine < len(header.machines))
        refuse(idx, ~known, lambda row: f"is of machine {machine[row]}, and the header tells {len(header.machines)}")
    if (u is None) == (header.bound == "randomised") or not (u is None or np.all((u > 0.0) & (u < 1.0))):
        raise InputError(
            f"bound={header.bound} with u={shown(u)}: the randomised bound, and no other, keeps a number strictly "
            "between 0 and 1 of each image"
        )


def _check_array(name: str, array: object, shape: tuple[int, ...], kinds: str) -> None:
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype.kind not in kinds:
        got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        what = "numbers" if "f" in kinds else "whole numbers"
        raise InputError(f"{name} must be an array of {what} of shape {shape}; got {got}")


def refuse(idx: Array, wrong: ArrayLike, say: Callable[[int], str]) -> None:
    """Raise InputError for the first of the images `idx` (N,) that is `wrong` (N,), with what `say` says of its row."""
    rows = np.flatnonzero(wrong)
    if len(rows):
        raise InputError(f"image {idx[rows[0]]} {say(int(rows[0]))}")


def check_images(idx: Array) -> None:
    """Raise InputError for an image below 0, or there twice."""
    if len(idx) and idx.min() < 0:
        raise InputError(f"image {idx.min()} is not a position; positions start at 0")
    unique, times = np.unique(idx, return_counts=True)
    if len(unique) < len(idx):
        raise InputError(
            f"the table holds image {unique[times > 1][0]} twice; it has one row per image. Were tables put together "
            "by hand? `randsmooth merge` puts shards together"
        )


def check_evidence(header: Header, rule: Rule, evidence: Evidence, counts0: Ints, label: Ints) -> None:
    """Raise InputError unless a certification under `header` by `rule` can have given these counts and labels.

    Args:
        header: of the table; its classes, n0, bound, lumped and label_aware are used.
        rule: the one that it names.
        evidence: the samples of N images that bound p_A.
        counts0: (N, K) class counts of the samples that picked the class.
        label: (N,) true classes, or NO_LABEL for all images.
    """
    idx, num_classes = evidence.idx, evidence.counts.shape[1] - header.lumped
    if header.classes is not None and len(header.classes) != num_classes:
        raise InputError(f"the header names {len(header.classes)} classes, and {num_classes} are counted")
    if header.lumped and header.bound in ("two-sided", "pairwise"):
        raise InputError(f"bound={header.bound} needs the counts of all classes; only the picked one was counted")
    _check_sums("counts0", counts0, np.full(len(idx), header.selected), idx)
    _check_marks(header, rule, evidence, label)
    _check_paths(header, rule, evidence, label)
    if not len(label) or not (label == NO_LABEL).all():
        _check_known("label", label, num_classes, idx)
    elif header.label_aware:
        raise InputError("the header is label-aware, and the images have no labels: certify without --label-aware")
    _check_known("picked class", evidence.picked, num_classes, idx)


def _check_sums(what: str, counts: Ints, total: Ints, idx: Ints) -> None:
    outside = (counts < 0) | (counts > total[:, None])  # the sum of very large ones overflows, and would not show it
    wrong = (counts.sum(axis=1) != total) | outside.any(axis=1)
    refuse(idx, wrong, lambda row: f"has {what} {shown(counts[row].tolist())}, not of sum {total[row]}: damaged")


def _check_marks(header: Header, rule: Rule, evidence: Evidence, label: Ints) -> None:
    """Raise InputError unless, where no samples picked a class, it is one that the header's settings bound."""
    if header.n0 != 0:
        return
    if not (header.label_aware or rule.any_class):
        raise InputError(
            f"n0=0 says that no other samples picked the class, and rule={shown(repr(header.rule))}, "
            f"bound={shown(str(header.bound))} holds for a class that was picked without the samples that bound it: "
            'give the n0 that picked it, or bound="any-class" where the rule has it'
        )
    meant = label if header.label_aware else evidence.counts.argmax(axis=1)
    what = "label" if header.label_aware else "most frequent class"
    refuse(evidence.idx, evidence.picked != meant, lambda row: f"marks another class than its {what}: damaged")


def _check_paths(header: Header, rule: Rule, evidence: Evidence, label: Ints) -> None:
    """Raise InputError unless each path is one that the rule allows, may end there, and ends in the image's counts.

    Where n0 samples picked a class under a label-aware header, images whose class is not the label have no path.
    """
    walked = (evidence.picked == label) | (not header.gives_up_others)
    paths = [path.tolist() if walks else [] for path, walks in zip(evidence.paths, walked, strict=True)]
    _check_sums("counts", evidence.counts, np.array([rule.samples(path) for path in paths], np.int64), evidence.idx)
    n_a = np.take_along_axis(evidence.counts, evidence.picked[:, None], axis=1)[:, 0]

    def torn(row: int, path: list[int]) -> bool:
        if not walked[row]:
            return len(evidence.paths[row]) > 0
        falls = any(later < earlier for earlier, later in pairwise(path))
        return falls or not rule.complete(path) or path[-1] != n_a[row]

    wrong = [torn(row, path) for row, path in enumerate(paths)]
    refuse(evidence.idx, wrong, lambda row: "has looks that do not fit its counts: damaged")


def _check_known(what: str, classes: Ints, num_classes: int, idx: Ints) -> None:
    outside = (classes < 0) | (classes >= num_classes)
    refuse(idx, outside, lambda row: f"has {what} {classes[row]}, and {num_classes} classes are counted")
