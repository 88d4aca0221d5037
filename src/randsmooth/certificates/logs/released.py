"""Whether a table is one of the certification logs that were released, or made from one.

`released.npz` holds a sketch of each of these logs: for 32 images that tell models apart,
how far the log certifies each, in one byte. Which images these are depends on the images
that a log is about. The logs are of six repositories, all that are listed in
docs/field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates.logs.ranks import rank_correlation
from randsmooth.certificates.table import Certificates

FILE = "released.npz"

Ints = NDArray[np.int64]
Levels = NDArray[np.uint8]

# A level is the radius in 255ths of the largest one.
LARGEST_LEVEL = 255

# From this share of the largest radius on, an image is at the end of what n and alpha
# certify, where many images are equal.
AT_THE_END = 0.988

# How many of the images of a sketch a table must hold, with the labels of the log.
FEWEST_IMAGES = 24

# How many images must be certified, and not to the end, for their order to tell anything.
FEWEST_ORDERED = 8

# A table comes from a log if it certifies or misses the same images, all but a tenth, and
# orders them alike by radius. Of all pairs of released logs of 60 images and more, none
# passes by chance: those that do are copies, or one model certified twice.
SAME_OUTCOME_SHARE = 0.9

# The least correlation of the ranks of two tables in the same order; and, to choose
# logs from their sketches, the least correlation of their levels.
SAME_ORDER = 0.995
NEARLY_SAME_ORDER = 0.95


@dataclass(frozen=True)
class ReleasedLog:
    """A released log that a table agrees with.

    Attributes:
        name: OWNER/NAME of the repository, and the path below it.
        equal: whether no radius differs, as far as they were compared. Radii that were
            scaled are not told from those that were not.
        images: how many images were compared.
    """

    name: str
    equal: bool
    images: int


@dataclass(frozen=True)
class _Sketches:
    """The sketches of L logs about one set of images.

    Attributes:
        idx, label: (M,) positions of the images that a sketch has, and their labels.
        levels: (L, M) the level of each log for each of these images.
        names: the names of the logs.
    """

    idx: Ints
    label: Ints
    levels: Levels
    names: tuple[str, ...]


def find_released(table: Certificates) -> list[ReleasedLog]:
    """Return the released logs that the table is, or comes from; those with equal radii
    first.

    None is found for a table whose rows were renumbered, or that has fewer than
    FEWEST_IMAGES of the images of a sketch.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> find_released(from_radii([0.5, 0.0, 0.3]))
        []
    """
    if not table.labelled or len(table) < FEWEST_IMAGES:
        return []
    level_of_image = dict(zip(table.idx.tolist(), levels(table).tolist(), strict=True))
    label_of_image = dict(zip(table.idx.tolist(), table.label.tolist(), strict=True))

    # Two sets of sketches may name one log: it is returned once.
    log_by_name: dict[str, ReleasedLog] = {}
    for sketches in _read_sketches():
        sketched_images = zip(
            sketches.idx.tolist(), sketches.label.tolist(), strict=True
        )
        # The columns of `sketches.levels` whose images the table holds, too. An image of
        # another label is another image.
        held = [
            column
            for column, (image, label) in enumerate(sketched_images)
            if label_of_image.get(image) == label
        ]
        if len(held) < FEWEST_IMAGES:
            continue
        own_levels = np.array(
            [level_of_image[image] for image in sketches.idx[held].tolist()]
        )
        for log in _matches(own_levels, sketches.levels[:, held], sketches.names):
            log_by_name[log.name] = log
    # False sorts before True: equal logs come first.
    return sorted(log_by_name.values(), key=lambda log: not log.equal)


def levels(table: Certificates) -> Levels:
    """Return (N,) the radii of right images in 255ths of the largest one, and 0 for
    images that are not right.
    """
    radii = table.radius * table.correct
    largest = float(radii.max(initial=0.0))
    if largest == 0.0:
        return np.zeros(len(table), np.uint8)
    return np.rint(LARGEST_LEVEL * radii / largest).astype(np.uint8)


def _matches(
    own_levels: Ints, others: Levels, names: tuple[str, ...]
) -> Iterator[ReleasedLog]:
    """Yield the logs that agree with the levels of a table.

    Args:
        own_levels: (M,) levels of the table.
        others: (L, M) levels of the logs, for the same images.
        names: the names of the L logs.
    """
    # (L,) the share of the images that both certify, or both miss.
    same_outcome = ((others == 0) == (own_levels == 0)).mean(axis=1)
    alike = same_outcome >= SAME_OUTCOME_SHARE
    # Ranks take long to compute: first the plain correlation, which is nearly as high.
    alike[alike] = _correlations(own_levels, others[alike]) >= NEARLY_SAME_ORDER
    for row in np.flatnonzero(alike):
        log_levels = others[row].astype(np.int64)
        if same_order(own_levels, log_levels):
            # Levels are rounded: those of equal radii may differ by 1.
            differs = np.abs(own_levels - log_levels) > 1
            yield ReleasedLog(
                name=names[row], equal=not bool(differs.any()), images=len(own_levels)
            )


def _correlations(own_levels: Ints, others: Levels) -> NDArray[np.float64]:
    """Return (L,) the correlation of a table's levels (M,) with those of L logs (L, M).

    Images that the table or the log misses are left out.
    """
    # (L, M) 1 where both certify the image: sums with it leave out the others.
    both = ((own_levels > 0) & (others > 0)).astype(np.float64)
    number = np.maximum(both.sum(axis=1, keepdims=True), 1.0)
    a = both * own_levels
    b = both * others
    a_deviation = both * (a - a.sum(axis=1, keepdims=True) / number)
    b_deviation = both * (b - b.sum(axis=1, keepdims=True) / number)
    covariance = (a_deviation * b_deviation).sum(axis=1)
    variances = (a_deviation**2).sum(axis=1) * (b_deviation**2).sum(axis=1)
    # Levels that do not vary have no correlation: this makes it 0.
    return np.asarray(covariance / np.sqrt(np.maximum(variances, 1e-12)))


def same_order(
    a: NDArray[Any], b: NDArray[Any], share_at_the_end: float = AT_THE_END
) -> bool:
    """Return whether two tables order images alike by radius.

    Images are left out that one of them misses or certifies to the end, where many radii are equal.

    Args:
        a, b: (N,) radii of the same images, or their levels; 0 of wrong ones.
        share_at_the_end: the share of the largest radius from which on an image is at
            the end.

    Example:
        >>> radii = np.linspace(0.1, 1.0, 20)
        >>> same_order(radii, 2.0 * radii), same_order(radii, radii[::-1])
        (True, False)
    """
    end_of_a = share_at_the_end * a.max(initial=0)
    end_of_b = share_at_the_end * b.max(initial=0)
    ordered = (a > 0) & (a < end_of_a) & (b > 0) & (b < end_of_b)
    if ordered.sum() < FEWEST_ORDERED:
        return False
    correlation = rank_correlation(a[ordered], b[ordered])
    return correlation is not None and correlation >= SAME_ORDER


@cache
def _read_sketches() -> tuple[_Sketches, ...]:
    """Return the sketches that come with the package."""
    with resources.files(__package__).joinpath(FILE).open("rb") as file:
        arrays: dict[str, NDArray[Any]] = dict(np.load(file, allow_pickle=False))
    names = bytes(arrays["names"]).decode().split("\n")
    # Each log is about one of several sets of images; `set` numbers that of each log.
    numbers_of_sets = range(len(arrays["idx"]))
    return tuple(
        _Sketches(
            idx=arrays["idx"][number],
            label=arrays["label"][number],
            levels=arrays["levels"][arrays["set"] == number],
            names=tuple(names[log] for log in np.flatnonzero(arrays["set"] == number)),
        )
        for number in numbers_of_sets
    )
