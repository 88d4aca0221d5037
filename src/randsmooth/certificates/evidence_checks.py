"""Whether the class counts of a table are possible under its header and rule."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates.header import Header
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.rules import Evidence, Rule

Ints = NDArray[np.int64]

NO_LABEL = -1  # in place of the label of every image of data that have none


def check_evidence(header: Header, rule: Rule, evidence: Evidence, counts0: Ints, label: Ints) -> None:
    """Raise InputError unless a certification under `header` by `rule` can have given these counts and labels.

    Args:
        header: of the table; its classes, n0, bound, lumped and label_aware are used.
        rule: the one that it names.
        evidence: the samples of N images that bound p_A.
        counts0: (N, K) class counts of the samples that picked the class.
        label: (N,) true classes, or NO_LABEL for all images.
    """
    num_classes = evidence.counts.shape[1] - header.lumped
    _check_classes(header, num_classes)
    _check_sums("counts0", counts0, np.full(len(evidence.idx), header.selected), evidence.idx)
    _check_marks(header, rule, evidence, label)
    _check_paths(header, rule, evidence, label)
    _check_labels(header, label, num_classes, evidence.idx)
    _check_known("picked class", evidence.picked, num_classes, evidence.idx)


def _check_classes(header: Header, num_classes: int) -> None:
    if header.classes is not None and len(header.classes) != num_classes:
        raise InputError(f"the header names {len(header.classes)} classes, and {num_classes} are counted")
    if header.lumped and header.bound in ("two-sided", "pairwise"):
        raise InputError(
            f"the {header.bound} bound needs the counts of all classes, and only the picked one was counted"
        )


def _check_sums(what: str, counts: Ints, total: Ints, idx: Ints) -> None:
    outside = (counts < 0) | (counts > total[:, None])  # the sum of very large ones overflows, and would not show it
    wrong = np.flatnonzero((counts.sum(axis=1) != total) | outside.any(axis=1))
    if len(wrong):
        row = wrong[0]
        sums = f"sum to {sum(counts[row].tolist())}, not to {total[row]}"
        fault = "are below 0" if (counts[row] < 0).any() else sums
        raise InputError(f"{what} of image {idx[row]} {fault}: the table is damaged")


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
    wrong = np.flatnonzero(evidence.picked != (label if header.label_aware else evidence.counts.argmax(axis=1)))
    if len(wrong):
        what = "label" if header.label_aware else "most frequent class"
        raise InputError(f"image {evidence.idx[wrong[0]]} marks another class than its {what}: the table is damaged")


def _check_paths(header: Header, rule: Rule, evidence: Evidence, label: Ints) -> None:
    """Raise InputError unless each path is one that the rule allows, may end there, and ends in the image's counts.

    Where n0 samples picked a class under a label-aware header, images whose class is not the label have no path.
    """
    walked = (evidence.picked == label) | (not header.gives_up_others)
    paths = [path.tolist() if walks else [] for path, walks in zip(evidence.paths, walked, strict=True)]
    _check_sums("counts", evidence.counts, np.array([rule.samples(path) for path in paths], np.int64), evidence.idx)
    n_a = np.take_along_axis(evidence.counts, evidence.picked[:, None], axis=1)[:, 0]
    for row, path in enumerate(paths):
        torn = not rule.complete(path) or path[-1] != n_a[row]
        torn = torn if walked[row] else len(evidence.paths[row]) > 0
        if torn or any(later < earlier for earlier, later in pairwise(path)):
            raise InputError(f"the looks of image {evidence.idx[row]} do not fit its counts: the table is damaged")


def _check_labels(header: Header, label: Ints, num_classes: int, idx: Ints) -> None:
    if len(label) and (label == NO_LABEL).all():
        if header.label_aware:
            raise InputError("the header is label-aware, and the images have no labels: certify without --label-aware")
        return
    _check_known("label", label, num_classes, idx)


def _check_known(what: str, classes: Ints, num_classes: int, idx: Ints) -> None:
    wrong = np.flatnonzero((classes < 0) | (classes >= num_classes))
    if len(wrong):
        row = wrong[0]
        raise InputError(f"{what} {classes[row]} of image {idx[row]} is not among the {num_classes} counted classes")
