"""The images that a method gave up, and those that it won, against a reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import CertificatesLike, as_certificates
from randsmooth.metrics.accuracy import certified
from randsmooth.metrics.difference import require_same_images
from randsmooth.metrics.estimate import require_images

Ints = NDArray[np.int64]


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
