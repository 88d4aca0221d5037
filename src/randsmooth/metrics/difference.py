"""Two tables over the same images: the difference between their ACRs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.estimate import Estimate, mean
from randsmooth.metrics.largest import largest_possible


def require_same_images(a: CertificatesLike, b: CertificatesLike) -> None:
    """Raise InputError unless both tables are about the same images in the same order.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> require_same_images(from_radii([0.5, 0.0]), from_radii([0.0, 0.3]))
        >>> require_same_images(from_radii([0.5, 0.0], name="a"), from_radii([0.3], name="b"))
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: a (2 images) and b (1 images) are not about the same images, ...
    """
    a, b = as_certificates(a), as_certificates(b)
    if not (np.array_equal(a.idx, b.idx) and np.array_equal(a.label, b.label)):
        raise InputError(
            f"{a.name} ({len(a)} images) and {b.name} ({len(b)} images) are not about the same images, so "
            "they cannot be compared image by image; certify both with the same --dataset, --take or --skip"
        )


def acr_difference(a: CertificatesLike, b: CertificatesLike) -> Estimate:
    """ACR of `a` minus ACR of `b`, with the 95% interval of a mean of paired differences.

    The interval is for this one difference; of several methods, take `compare`.

    Raises:
        InputError: the tables are not about the same images, or hold none.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> round(acr_difference(a, b).value, 6)  # (1.5 - 1.1) / 4
        0.1
    """
    a, b = as_certificates(a), as_certificates(b)
    require_same_images(a, b)
    return mean(gains(a, b), gain_bounds(a, b))


def gains(a: Certificates, b: Certificates) -> NDArray[np.float64]:
    """(N,) what each image adds to ACR of `a` minus ACR of `b`."""
    return np.asarray(a.radius * a.correct - b.radius * b.correct)


def gain_bounds(a: Certificates, b: Certificates) -> tuple[float, float]:
    """The least and the most that an image can add."""
    return -largest_possible(b), largest_possible(a)
