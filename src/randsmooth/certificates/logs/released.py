"""Whether a table is one of the certification logs that were released, or made from one.

`released.npz` holds a sketch of each of these logs: for 32 images that tell models apart,
how far the log certifies each, in two bytes. Which images these are depends on the images
that a log is about. Beside the sketch are the totals over all images of the log, which
tell whether a table with the same sketch is the whole log, a part of it, or a changed
copy. The logs are of six repositories, all that are listed in docs/field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates.logs.ranks import rank_correlation
from randsmooth.certificates.table import Certificates

FILE = "released.npz"

Ints = NDArray[np.int64]

# A level is the radius in 65,280ths of the largest one: its upper byte is a coarse level,
# the radius in 255ths, whose order tells models apart.
LARGEST_COARSE_LEVEL = 255
STEPS_OF_COARSE_LEVEL = 256
LARGEST_LEVEL = LARGEST_COARSE_LEVEL * STEPS_OF_COARSE_LEVEL

# The file has sums of radii in these units: a log prints its smallest radii to 0.0001.
UNIT_OF_SUMS = 1e-4

# Errors of floating point in a sum, and of its rounding to a unit, are below this.
SUM_TOLERANCE = 1.5 * UNIT_OF_SUMS

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

# From this share of equal radii on, the rows of a table are those of the log. Another
# certification of the same model has other noise, and few radii alike to the last digit.
SAME_ROWS_SHARE = 0.5

# Fewer images than these tell no rows apart.
FEWEST_TELLING = 2

# A table that certifies fewer images is not recognised by its totals alone. From this
# number on, hardly two models agree by chance in a number of images and a sum of radii.
FEWEST_CERTIFIED_BY_TOTALS = 200

# The least correlation of the ranks of two tables in the same order; and, to choose
# logs from their sketches, the least correlation of their levels.
SAME_ORDER = 0.995
NEARLY_SAME_ORDER = 0.95


@dataclass(frozen=True)
class Totals:
    """The numbers and sums over all images of a log.

    Attributes:
        images: the number of images.
        certified: how many of them get a class, the right one or another.
        right: how many get the right class.
        radii: the sum of all radii.
        right_radii: the sum of the radii of right images.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> Totals.of(from_radii([0.5, 0.0, 0.3])).acr
        0.26666666666666666
    """

    images: int
    certified: int
    right: int
    radii: float
    right_radii: float

    @classmethod
    def of(cls, table: Certificates) -> Totals:
        """Return the totals of a table."""
        return cls(
            images=len(table),
            certified=int((table.predict >= 0).sum()),
            right=int(table.correct.sum()),
            radii=float(table.radius.sum()),
            right_radii=float((table.radius * table.correct).sum()),
        )

    @property
    def acr(self) -> float:
        """Return the average certified radius."""
        return self.right_radii / self.images

    def same_numbers(self, other: Totals) -> bool:
        """Return whether as many images are there, certified and right."""
        numbers = (self.images, self.certified, self.right)
        return numbers == (other.images, other.certified, other.right)

    def same_right(self, other: Totals) -> bool:
        """Return whether as many images are right, with the same sum of radii."""
        distance = abs(self.right_radii - other.right_radii)
        return self.right == other.right and distance <= SUM_TOLERANCE

    def same_answers(self, other: Totals) -> bool:
        """Return whether as many images are certified, with the same sum of radii."""
        same_numbers = (self.images, self.certified) == (other.images, other.certified)
        return same_numbers and abs(self.radii - other.radii) <= SUM_TOLERANCE

    def same(self, other: Totals) -> bool:
        """Return whether no number and no sum differs."""
        return self.same_answers(other) and self.same_right(other)


@dataclass(frozen=True)
class ReleasedLog:
    """A released log that a table agrees with.

    Attributes:
        name: OWNER/NAME of the repository, and the path below it.
        equal: whether all compared radii have about the same share of the largest one, as
            radii have that were all scaled.
        same_rows: whether most of the compared radii are equal to the last digit.
        images: how many images were compared; 0 where the totals alone agree.
        totals: the totals of the released log.
        largest: its largest radius.
        radii: (M,) its radii for the images that were compared, 0 where it is not right.
        radii_of_table: (M,) those of the table.
    """

    name: str
    equal: bool
    same_rows: bool
    images: int
    totals: Totals
    largest: float
    radii: NDArray[np.float64] = field(compare=False)
    radii_of_table: NDArray[np.float64] = field(compare=False)


@dataclass(frozen=True)
class _Sketches:
    """The sketches of L logs about one set of images.

    Attributes:
        idx, label: (M,) positions of the images that a sketch has, and their labels.
        levels: (L, M) the level of each log for each of these images.
        names: the names of the logs.
        totals: the totals of the logs.
        largest: (L,) the largest radius of a right image of each log.
    """

    idx: Ints
    label: Ints
    levels: NDArray[np.uint16]
    names: tuple[str, ...]
    totals: tuple[Totals, ...]
    largest: NDArray[np.float64]


def find_released(table: Certificates) -> list[ReleasedLog]:
    """Return the released logs that the table is, or comes from; the most alike first.

    None is found for a table whose rows were renumbered, or that has fewer than
    FEWEST_IMAGES of the images of a sketch.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> find_released(from_radii([0.5, 0.0, 0.3]))
        []
    """
    if not table.labelled or len(table) < FEWEST_IMAGES:
        return []
    radii = table.radius * table.correct
    own_totals = Totals.of(table)
    # Two sets of sketches may name one log: it is returned once.
    log_by_name: dict[str, ReleasedLog] = {}
    for sketches in _read_sketches():
        _, columns, rows = np.intersect1d(sketches.idx, table.idx, return_indices=True)
        # An image of another label is another image.
        is_same = table.label[rows] == sketches.label[columns]
        held = columns[is_same]
        if len(held) < FEWEST_IMAGES:
            continue
        own_radii = radii[rows[is_same]]
        largest = float(radii.max())
        for log in _matches(own_radii, largest, own_totals, sketches, held):
            log_by_name[log.name] = log

    def unlikeness(log: ReleasedLog) -> tuple[bool, bool, bool, bool]:
        """Return a key that sorts logs: False comes before True."""
        return (
            not log.totals.same(own_totals),
            not log.same_rows,
            log.totals.images != own_totals.images,
            not log.equal,
        )

    return sorted(log_by_name.values(), key=unlikeness)


def find_rearranged(table: Certificates) -> list[ReleasedLog]:
    """Return the released logs whose answers, or right images, have the table's totals.

    They are found whatever the order of the rows, their numbers and the labels, also where
    images that are not right were left out.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> find_rearranged(from_radii([0.5, 0.0, 0.3]))
        []
    """
    own_totals = Totals.of(table)
    if own_totals.certified < FEWEST_CERTIFIED_BY_TOTALS:
        return []
    return [
        ReleasedLog(
            name=name,
            equal=False,
            same_rows=True,
            images=0,
            totals=totals,
            largest=float(largest),
            radii=np.zeros(0),
            radii_of_table=np.zeros(0),
        )
        for sketches in _read_sketches()
        for name, totals, largest in zip(
            sketches.names, sketches.totals, sketches.largest, strict=True
        )
        if totals.same_right(own_totals) or totals.same_answers(own_totals)
    ]


def levels(radii: NDArray[np.float64], largest: Any) -> Ints:
    """Return the radii as levels, of at most LARGEST_LEVEL.

    Args:
        radii: the radii (N,) of right images, 0 for images that are not right.
        largest: the largest radius, or several as (L, 1), each of which gives a row.
    """
    # Nothing is right where the largest radius is 0.
    share = radii / np.maximum(largest, np.finfo(np.float64).tiny)
    of_largest = np.rint(LARGEST_LEVEL * np.minimum(share, 1.0))
    return np.asarray(of_largest, np.int64)


def coarse(fine_levels: NDArray[Any]) -> Ints:
    """Return levels as 255ths of the largest radius; one above 0 stays above 0.

    Example:
        >>> coarse(np.array([0, 3, 300, LARGEST_LEVEL])).tolist()
        [0, 1, 1, 255]
    """
    rounded = np.rint(fine_levels / STEPS_OF_COARSE_LEVEL).astype(np.int64)
    return np.asarray(np.where(fine_levels > 0, np.maximum(rounded, 1), 0))


def _matches(
    own_radii: NDArray[np.float64],
    largest: float,
    own_totals: Totals,
    sketches: _Sketches,
    held: Ints,
) -> Iterator[ReleasedLog]:
    """Yield the logs that agree with the radii of a table.

    Args:
        own_radii: (M,) radii of the table, 0 where it is not right.
        largest: its largest radius.
        own_totals: its totals.
        sketches: the sketches of logs about one set of images.
        held: the columns of the sketches (M of them) whose images the table has.
    """
    others = sketches.levels[:, held].astype(np.int64)  # (L, M)
    # Shares of the largest radius of each log: a part may lack the image that has it.
    in_units_of_logs = levels(own_radii, sketches.largest[:, None])  # (L, M)
    same_rows = _have_same_rows(in_units_of_logs, others)

    own_coarse = coarse(levels(own_radii, largest))
    coarse_others = coarse(others)
    # (L,) the share of the images that both certify, or both miss.
    same_outcome = ((others == 0) == (own_coarse == 0)).mean(axis=1)
    alike = same_outcome >= SAME_OUTCOME_SHARE
    # Ranks take long to compute: first the plain correlation, which is nearly as high.
    alike[alike] = _correlations(own_coarse, coarse_others[alike]) >= NEARLY_SAME_ORDER
    for row in np.flatnonzero(same_rows | alike | (same_outcome == 1.0)):
        totals = sketches.totals[row]
        # The log itself, where too few radii tell it from others.
        is_whole_log = bool(same_outcome[row] == 1.0) and totals.same(own_totals)
        has_same_rows = bool(same_rows[row]) or is_whole_log
        has_same_order = bool(alike[row]) and same_order(own_coarse, coarse_others[row])
        if has_same_rows or has_same_order:
            # Coarse levels are rounded: those of equal radii may differ by 1.
            differs = np.abs(own_coarse - coarse_others[row]) > 1
            yield ReleasedLog(
                name=sketches.names[row],
                equal=not bool(differs.any()),
                same_rows=has_same_rows,
                images=len(own_radii),
                totals=totals,
                largest=float(sketches.largest[row]),
                radii=others[row] * sketches.largest[row] / LARGEST_LEVEL,
                radii_of_table=own_radii,
            )


def _have_same_rows(own_levels: Ints, others: Ints) -> NDArray[np.bool_]:
    """Return (L,) whether most telling levels of a table are those of each log.

    Images that the table misses or certifies to the end are not telling, as all logs may
    agree on them. Where fewer than FEWEST_ORDERED are telling, all levels must be equal.

    Args:
        own_levels: (L, M) radii of the table as levels of each log.
        others: (L, M) levels of the logs, for the same images.
    """
    # A level may be rounded up in one and down in the other.
    equal = np.abs(others - own_levels) <= 1
    telling = (own_levels > 0) & (own_levels < AT_THE_END * LARGEST_LEVEL)
    number = telling.sum(axis=1)
    share = (equal & telling).sum(axis=1) / np.maximum(number, 1)
    few_but_all_equal = (number >= FEWEST_TELLING) & equal.all(axis=1)
    most_equal = (number >= FEWEST_ORDERED) & (share >= SAME_ROWS_SHARE)
    return np.asarray(few_but_all_equal | most_equal)


def _correlations(own_levels: Ints, others: Ints) -> NDArray[np.float64]:
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


def same_order(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Return whether two tables order images alike by radius.

    Images are left out that one of them misses or certifies to the end, where many radii are equal.

    Args:
        a, b: (N,) radii of the same images, or their levels; 0 of wrong ones.

    Example:
        >>> radii = np.linspace(0.1, 1.0, 20)
        >>> same_order(radii, 2.0 * radii), same_order(radii, radii[::-1])
        (True, False)
    """
    end_of_a = AT_THE_END * a.max(initial=0)
    end_of_b = AT_THE_END * b.max(initial=0)
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
    # The upper bytes of all levels stand apart from the lower ones, which hardly compress.
    all_levels = STEPS_OF_COARSE_LEVEL * arrays["upper"].astype(np.uint16)
    all_levels += arrays["lower"]
    # Each log is about one of several sets of images; `set` numbers that of each log.
    sketches = []
    for number, images in enumerate(arrays["images"].tolist()):
        logs = np.flatnonzero(arrays["set"] == number)
        numbers = arrays["numbers"][logs].tolist()
        sums = (arrays["sums"][logs] * UNIT_OF_SUMS).tolist()
        sketches.append(
            _Sketches(
                idx=arrays["idx"][number],
                label=arrays["label"][number],
                levels=all_levels[logs],
                names=tuple(names[log] for log in logs),
                largest=arrays["largest"][logs],
                totals=tuple(
                    Totals(images, certified, right, radii, right_radii)
                    for (certified, right), (radii, right_radii) in zip(
                        numbers, sums, strict=True
                    )
                ),
            )
        )
    return tuple(sketches)
