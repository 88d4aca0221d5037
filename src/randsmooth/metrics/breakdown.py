"""Which images a difference comes from: those given up and won, and the parts of an ACR by how easy an image was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from randsmooth.certificates import CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import certified
from randsmooth.metrics.estimate import Floats, Ints, require_images
from randsmooth.metrics.p_a_estimates import p_a
from randsmooth.metrics.paired import require_same_images


@dataclass(frozen=True)
class GivenUp:
    """What changed hands at radius `r` between a reference and a method.

    Attributes:
        r: radius, in units of pixels in [0, 1].
        lost: idx of the images that the reference certifies at r and the method does not.
        won: idx of those that the method certifies at r and the reference does not.
        classes: (C,) labels that occur, ascending.
        images: (C,) images of each.
        lost_by_class, won_by_class: (C,) how many of them were lost and won.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> given_up(a, b, 0.6).lost.tolist()
        [1]
    """

    r: float
    lost: Ints
    won: Ints
    classes: Ints
    images: Ints
    lost_by_class: Ints
    won_by_class: Ints

    @property
    def worst_class(self) -> int:
        """The class with the largest share of its images lost, net of those won; the lowest such class."""
        return int(self.classes[np.argmax((self.lost_by_class - self.won_by_class) / self.images)])


def given_up(method: CertificatesLike, reference: CertificatesLike, r: float = 0.0) -> GivenUp:
    """The images that `method` lost and won at radius `r` against `reference`; at 0, those that it classifies.

    A gain in ACR may hide both, as an average does not show which images have the radius.

    Raises:
        InputError: the tables are not about the same images (see `pair`), hold none, or `r` is negative or not finite.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> changed = given_up(a, reference=b, r=0.3)
        >>> changed.won.tolist(), changed.lost.tolist()
        ([0, 2], [])
    """
    method, reference = as_certificates(method), as_certificates(reference)
    require_same_images(method, reference)
    require_images(len(method))
    now, before = certified(method, r), certified(reference, r)
    lost, won = before & ~now, now & ~before
    classes, place, images = np.unique(method.label, return_inverse=True, return_counts=True)
    by_class = [np.bincount(place[changed], minlength=len(classes)) for changed in (lost, won)]
    return GivenUp(r, method.idx[lost], method.idx[won], classes, images, *by_class)


EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # finer towards 1, where a radius grows fastest
EASY = 0.5  # above it the reference is right at most noises


@dataclass(frozen=True)
class Waterfall:
    """ACR of `a` and of `b`, split by the p_A that the reference gives to an image's label.

    Bin i holds the images with edges[i] < p_A <= edges[i + 1], the first bin those with p_A = 0 too.

    Attributes:
        edges: (M + 1,) from 0 to 1.
        images: (M,) how many images fall in each bin.
        a, b: (M,) sum of radius * correct over the bin's images, divided by the number of *all* images. They sum to
            the ACR of each table; b is 0 where a table was split alone.
        easy: the p_A above which an image was already easy for the reference.
        easy_difference: the part of the difference that lies above `easy`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> b = from_radii([0.0, 0.3, 0.6, 1.0], sigma=0.5, n=1000, alpha=0.001)
        >>> parts = waterfall(a, b, edges=[0.0, 0.9, 1.0])
        >>> parts.images.tolist(), parts.difference.round(3).tolist()
        ([2, 2], [0.0, 0.1])
    """

    edges: Floats
    images: Ints
    a: Floats
    b: Floats
    easy: float
    easy_difference: float

    @property
    def difference(self) -> Floats:
        """(M,) part of `a` minus part of `b`; they sum to the difference of the ACRs."""
        return np.asarray(self.a - self.b)

    @property
    def easy_share(self) -> float:
        """Share of the difference that comes from images with p_A above `easy`; NaN where there is no difference.

        Above 1 where the other images pull the other way, below 0 where the easy ones do.
        """
        total = float(self.difference.sum())
        return self.easy_difference / total if total else float("nan")


def contributions(table: CertificatesLike) -> Floats:
    """(N,) radius * correct / N: what each image adds to the ACR.

    Raises:
        InputError: no image.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> contributions(table).round(3).tolist()
        [0.0, 0.075, 0.2, 0.3]
    """
    table = as_certificates(table)
    require_images(len(table))
    return np.asarray(table.radius * table.correct / len(table))


def acr_waterfall(
    table: CertificatesLike,
    reference: CertificatesLike | None = None,
    *,
    edges: Sequence[float] = EDGES,
    easy: float = EASY,
) -> Waterfall:
    """Where the ACR of `table` comes from; `reference` is the table itself if none is given.

    Raises:
        InputError: as `waterfall`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> b = from_radii([0.0, 0.3, 0.6, 1.0], sigma=0.5, n=1000, alpha=0.001)
        >>> parts = acr_waterfall(a, edges=[0.0, 0.9, 1.0])
        >>> parts.a.round(3).tolist()  # their sum is the ACR, 0.575
        [0.075, 0.5]
    """
    table = as_certificates(table)
    nothing = replace(table, radius=np.zeros(len(table)))
    return waterfall(table, nothing, table if reference is None else reference, edges=edges, easy=easy)


def waterfall(
    a: CertificatesLike,
    b: CertificatesLike,
    reference: CertificatesLike | None = None,
    *,
    edges: Sequence[float] = EDGES,
    easy: float = EASY,
) -> Waterfall:
    """Where the difference in ACR between `a` and `b` comes from; `reference` is `b` if none is given.

    The bins are of the reference's p_A on an image's own label (see `p_a`). A log determines it for right images
    only, from 1/2 upward: the others fall in the first bin, and no other edge may lie below 1/2.

    Raises:
        InputError: the tables are not about the same images (see `pair`), hold none, p_A of the reference is unknown,
            or edges that do not rise from 0 to 1 or lie where p_A is unknown.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> b = from_radii([0.0, 0.3, 0.6, 1.0], sigma=0.5, n=1000, alpha=0.001)
        >>> parts = waterfall(a, b, edges=[0.0, 0.9, 1.0])
        >>> parts.difference.round(3).tolist(), round(parts.easy_share, 3)
        ([0.0, 0.1], 1.0)
    """
    a, b = as_certificates(a), as_certificates(b)
    judge = b if reference is None else as_certificates(reference)
    require_same_images(a, b)
    require_same_images(a, judge)
    parts, measured, borders = (contributions(a), contributions(b)), p_a(judge), np.asarray(edges, np.float64)
    if len(borders) < 2 or borders[0] != 0.0 or borders[-1] != 1.0 or not np.all(np.diff(borders) > 0.0):
        raise InputError(f"edges={list(edges)} must rise from 0 to 1, so that every image falls in one bin")
    for x in (*borders[1:], easy):
        if not measured.known_from <= x <= 1.0:
            raise InputError(f"p_A={x} as a border must lie in [{measured.known_from}, 1], where p_A is known")
    values = np.nan_to_num(measured.values, nan=0.0)  # unknown means below `known_from`: the first bin
    place, bins = np.maximum(np.searchsorted(borders, values, side="left") - 1, 0), len(borders) - 1
    in_a, in_b = (np.bincount(place, part, bins).astype(np.float64) for part in parts)
    above = float((parts[0] - parts[1])[values > easy].sum())
    return Waterfall(borders, np.bincount(place, minlength=bins), in_a, in_b, easy, above)
