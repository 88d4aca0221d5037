"""Certified accuracy at each radius by the best of several tables (Sun et al. 2025, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import certified_shares, check_radius
from randsmooth.metrics.estimate import LEVEL, require_images, wilson
from randsmooth.metrics.paired import require_same_images

Floats = NDArray[np.float64]
NO_ONE_CLASSIFIER = (
    "this is no one classifier's certified accuracy: at each radius it is that of the table which certifies most "
    "images there, chosen by these very images"
)


@dataclass(frozen=True)
class Envelope:
    """The pointwise maximum of several tables' curves; it belongs to no single classifier (see `NO_ONE_CLASSIFIER`).

    Attributes:
        radii: (M,) ascending.
        share: (M,) share of images that the best table certifies at each radius.
        low, high: (M,) pointwise 95% interval of the largest of the tables' true shares, corrected for the number of
            tables, since the largest of several estimates is too high on average.
        best: (M,) which table has the largest share, the first of equals; -1 where none certifies an image.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> envelope([a, b], [0.25, 0.75]).best.tolist()
        [0, 1]
    """

    radii: Floats
    share: Floats
    low: Floats
    high: Floats
    best: NDArray[np.int64]


def envelope(tables: Sequence[CertificatesLike], radii: ArrayLike | None = None) -> Envelope:
    """The best certified accuracy at each radius among tables of the same images, usually at several sigmas.

    Sun et al. (2025, section 7) propose to report it beside certified accuracy at fixed radii, since a model and its
    sigma may be tuned for one radius.

    Args:
        tables: one or more.
        radii: (M,) ascending; by default every certified radius of a right image, from 0.

    Raises:
        InputError: no table, one without images, tables of different images (see `pair`), or radii that are negative,
            not finite or not ascending.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> best = envelope([a, b], [0.25, 0.75])
        >>> best.share.tolist(), best.best.tolist()
        ([0.75, 0.25], [0, 1])
    """
    given = [as_certificates(table) for table in tables]
    if not given:
        raise InputError("an envelope is of one table or more; got none")
    require_images(len(given[0]))
    for table in given[1:]:
        require_same_images(given[0], table)
    x = _steps(given) if radii is None else _checked(radii)
    shares = np.stack([certified_shares(table, x) for table in given])  # (tables, M)
    images = len(given[0])
    low, high = wilson(np.rint(shares * images), images, level=1.0 - (1.0 - LEVEL) / len(given))
    best = np.where(shares.max(axis=0) > 0.0, shares.argmax(axis=0), -1)
    return Envelope(x, shares.max(axis=0), low.max(axis=0), high.max(axis=0), best)


def _steps(tables: Sequence[Certificates]) -> Floats:
    held = [table.radius[table.correct] for table in tables]
    return np.unique(np.concatenate([[0.0], *held]))


def _checked(radii: ArrayLike) -> Floats:
    x = np.atleast_1d(np.asarray(radii, np.float64))
    for r in x:
        check_radius(float(r))
    if np.any(np.diff(x) < 0.0):
        raise InputError(f"radii={x.tolist()} must ascend")
    return x
