"""The labels that a router learns: which expert certifies an image furthest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from randsmooth.certificates.evidence import Floats, Ints
from randsmooth.certificates.files import as_table
from randsmooth.certificates.routes import check_experts
from randsmooth.certificates.table import Certificates
from randsmooth.errors import WrongTable
from randsmooth.urls import Place


@dataclass(frozen=True)
class RouterLabels:
    """The expert that each image should get.

    Attributes:
        idx: (M,) positions of the images, ascending.
        label: (M,) numbers of the experts.
        left_out: (L,) positions of images that no expert gets right.

    Example:
        >>> labels = RouterLabels(np.array([0, 2]), np.array([1, 0]), np.array([1]))
        >>> dict(zip(labels.idx.tolist(), labels.label.tolist(), strict=True))
        {0: 1, 2: 0}
    """

    idx: Ints
    label: Ints
    left_out: Ints


def router_labels(experts: Sequence[Place | Certificates]) -> RouterLabels:
    """Return the labels that a router should learn, from certificates of training images.

    The label of an image is the expert that certifies it furthest with the right class;
    of equal radii the first. If no expert certifies the right class, it is the one whose
    samples show the right class most often, provided that this is its most frequent
    class. Images that no expert gets right are left out. A hundred samples an image
    suffice.

    What experts certify on images that they were trained on flatters them: take images
    that they have not seen.

    Args:
        experts: the tables of the experts, or their files, in the order of the router's
            classes, all about the same images of a training split.

    Raises:
        Problem: fewer than two tables, tables of different images or without labels, or
            an expert that is the best for no image.

    Example:
        >>> from randsmooth.certificates import from_counts
        >>> how = {"n": 1000, "label": [3, 5]}
        >>> small = from_counts([999, 990], picked=[3, 5], sigma=0.25, **how)
        >>> large = from_counts([995, 520], picked=[3, 5], sigma=1.0, **how)
        >>> router_labels([small, large]).label.tolist()
        [1, 0]
    """
    check_experts(len(experts))
    tables = [as_table(expert) for expert in experts]
    ordered = [table.rows(np.argsort(table.idx)) for table in tables]
    _check_same_images(ordered)
    radius = np.stack([table.radius * table.correct for table in ordered], axis=1)
    share = np.stack([_share_of_label(table) for table in ordered], axis=1)
    certified = radius.max(axis=1) > 0.0
    label = np.where(certified, radius.argmax(axis=1), share.argmax(axis=1))
    known = certified | (share.max(axis=1) > 0.0)
    for k, table in enumerate(ordered):
        if not np.any(label[known] == k):
            raise WrongTable(
                f"{table.name or f'expert {k}'} is the best expert for no image",
                fix="leave it out",
            )
    idx = ordered[0].idx
    return RouterLabels(idx[known], label[known], idx[~known])


def _check_same_images(tables: Sequence[Certificates]) -> None:
    """Raise WrongTable unless all tables, in one order, have the same labelled images."""
    first = tables[0]
    for table in tables:
        same_images = np.array_equal(table.idx, first.idx)
        if not table.labelled or not same_images:
            raise WrongTable(
                f"{table.name or 'a table'} has other images than "
                f"{first.name or 'the first'}, or none of their labels: certify the same "
                "training images with each expert"
            )
        if not np.array_equal(table.label, first.label):
            raise WrongTable("the tables state different labels of the same images")


def _share_of_label(table: Certificates) -> Floats:
    """Return (N,) the share of samples with the label where it is the most frequent class.

    It is 0 elsewhere, and for a table without counts.
    """
    if table.counts is None:
        return np.zeros(len(table))
    own = np.take_along_axis(table.counts, table.label[:, None], axis=1)[:, 0]
    is_most_frequent = own == table.counts.max(axis=1)
    share = own / np.maximum(1, table.counts.sum(axis=1))
    return np.where(is_most_frequent, share, 0.0)
