"""Which images a difference comes from.

It comes from images given up and won, and an ACR has parts by how easy an image was.
"""

from dataclasses import dataclass, replace

import numpy as np

from randsmooth.certificates import CertificatesLike, as_certificates
from randsmooth.metrics.accuracy import certified
from randsmooth.metrics.estimate import require_images
from randsmooth.metrics.intervals import Floats, Ints
from randsmooth.metrics.pairing import require_same_images
from randsmooth.metrics.probabilities import p_a

# The bins of p_A: finer towards 1, where a radius grows fastest.
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)

# An image is easy for a reference that is right about it under more than this share of
# noises.
EASY = 0.5


@dataclass(frozen=True)
class GivenUp:
    """The images that changed hands at radius `r` between a reference and a method.

    Attributes:
        r: radius, in units of pixels in [0, 1].
        lost: idx of the images that the reference certifies at r and the method does
            not.
        won: idx of the images that the method certifies at r and the reference does
            not.
        classes: (C,) labels that occur, ascending.
        images: (C,) the number of images of each class.
        lost_by_class, won_by_class: (C,) the number of these that were lost and won.

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
        """Return the class with the largest share of images lost, net of images won.

        Of several such classes it is the lowest.
        """
        net_share_lost = (self.lost_by_class - self.won_by_class) / self.images
        return int(self.classes[np.argmax(net_share_lost)])


def given_up(
    method: CertificatesLike, reference: CertificatesLike, r: float = 0.0
) -> GivenUp:
    """Return the images that `method` lost and won at radius `r` against `reference`.

    At radius 0, these are images that it classifies. A gain in ACR may hide both, as an
    average does not show which images have the radius.

    Raises:
        Problem: the tables are not about the same images (see `pair`), hold none, or
            `r` is negative or not finite.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> changed = given_up(a, reference=b, r=0.3)
        >>> changed.won.tolist(), changed.lost.tolist()
        ([0, 2], [])
    """
    method = as_certificates(method)
    reference = as_certificates(reference)
    require_same_images(method, reference)
    require_images(len(method))

    now = certified(method, r)
    before = certified(reference, r)
    lost = before & ~now
    won = now & ~before

    classes, place, images = np.unique(
        method.label, return_inverse=True, return_counts=True
    )
    return GivenUp(
        r=r,
        lost=method.idx[lost],
        won=method.idx[won],
        classes=classes,
        images=images,
        lost_by_class=np.bincount(place[lost], minlength=len(classes)),
        won_by_class=np.bincount(place[won], minlength=len(classes)),
    )


@dataclass(frozen=True)
class Waterfall:
    """The ACR of `a` and of `b`, split by the reference's p_A of an image's label.

    Bin i holds the images with edges[i] < p_A <= edges[i + 1], the first bin those with
    p_A = 0 too.

    Attributes:
        edges: (M + 1,) the edges of the bins of p_A, from 0 to 1.
        images: (M,) how many images fall in each bin.
        a, b: (M,) sum of radius * correct over the bin's images, divided by the number
            of *all* images. They sum to the ACR of each table; b is 0 where a table was
            split alone.
        easy_difference: the part of the difference from images with p_A above EASY,
            easy for the reference already.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> b = from_radii([0.0, 0.3, 0.6, 1.0], sigma=0.5, n=1000, alpha=0.001)
        >>> parts = waterfall(a, b)
        >>> parts.images.tolist(), parts.difference.round(3).tolist()
        ([1, 0, 0, 1, 0, 1, 0, 1], [0.0, 0.0, 0.0, 0.0, 0.0, 0.05, 0.0, 0.05])
    """

    edges: Floats
    images: Ints
    a: Floats
    b: Floats
    easy_difference: float

    @property
    def difference(self) -> Floats:
        """Return (M,) the parts of `a` minus those of `b`, which sum to that of the ACRs."""
        return np.asarray(self.a - self.b)

    @property
    def easy_share(self) -> float:
        """Return the share of the difference from images with p_A above EASY.

        It is NaN where there is no difference, above 1 where the other images pull the
        other way, and below 0 where the easy ones do.
        """
        total = float(self.difference.sum())
        return self.easy_difference / total if total else float("nan")


def waterfall(
    a: CertificatesLike,
    b: CertificatesLike | None = None,
    reference: CertificatesLike | None = None,
) -> Waterfall:
    """Return where the difference in ACR between `a` and `b` comes from.

    The bins, EDGES, are of the reference's p_A on an image's own label (see `p_a`). A
    log determines it for right images only, from 1/2 upward: the others fall in the
    first bin, which ends there.

    Args:
        a: the table that is split.
        b: the table that it is compared with; None splits the ACR of `a` alone.
        reference: the table whose p_A splits the images; by default `b`, and without
            it `a`.

    Raises:
        Problem: the tables are not about the same images (see `pair`), hold none, or
            p_A of the reference is unknown.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> b = from_radii([0.0, 0.3, 0.6, 1.0], sigma=0.5, n=1000, alpha=0.001)
        >>> round(waterfall(a, b).easy_share, 3)
        1.0
        >>> float(waterfall(a).a.sum().round(3))  # the ACR
        0.575
    """
    if reference is None:
        reference = a if b is None else b
    reference = as_certificates(reference)
    first = as_certificates(a)
    uncertified = replace(first, radius=np.zeros(len(first)))
    second = uncertified if b is None else as_certificates(b)
    require_same_images(first, second)
    require_same_images(first, reference)

    # An unknown p_A is below 1/2, so that its image belongs to the first bin.
    p_a_of_images = np.nan_to_num(p_a(reference).values, nan=0.0)
    bins = len(EDGES) - 1
    edges_below = np.searchsorted(EDGES, p_a_of_images, side="left")
    bin_of_image = np.maximum(edges_below - 1, 0)

    part_of_first = first.radius * first.correct / len(first)
    part_of_second = second.radius * second.correct / len(second)
    gain = part_of_first - part_of_second
    return Waterfall(
        edges=np.array(EDGES),
        images=np.bincount(bin_of_image, minlength=bins),
        a=np.bincount(bin_of_image, part_of_first, bins).astype(np.float64),
        b=np.bincount(bin_of_image, part_of_second, bins).astype(np.float64),
        easy_difference=float(gain[p_a_of_images > EASY].sum()),
    )
