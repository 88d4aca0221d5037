"""The best of several tables at each radius."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from randsmooth.certificates import CertificatesLike, as_certificates
from randsmooth.errors import MissingValue
from randsmooth.metrics.accuracy import certified_shares
from randsmooth.metrics.confidence import LEVEL
from randsmooth.metrics.estimate import require_images
from randsmooth.metrics.intervals import Floats, Ints, share_interval
from randsmooth.metrics.pairing import require_same_images
from randsmooth.metrics.radii import check_radius

# The warning beside a drawn envelope.
NO_ONE_CLASSIFIER = (
    "this is no one classifier's certified accuracy: at each radius it is that of the "
    "table which certifies most images there, chosen by these very images"
)


@dataclass(frozen=True)
class Envelope:
    """The pointwise maximum of several tables' curves.

    It belongs to no single classifier (see `NO_ONE_CLASSIFIER`).

    Attributes:
        radii: (M,) those asked for.
        share: (M,) share of images that the best table certifies at each radius.
        low, high: (M,) pointwise 95% interval of the largest of the tables' true
            shares, corrected for the number of tables, since the largest of several
            estimates is too high on average. It is exact (see `share_interval`), also
            where few images are certified.
        best: (M,) which table has the largest share, the first of equals; -1 where none
            certifies an image.

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
    best: Ints


def envelope(
    tables: Sequence[CertificatesLike], radii: ArrayLike | None = None
) -> Envelope:
    """Return the best certified accuracy at each radius among tables of the same images.

    The tables are usually at several widths of noise. Sun et al. (2025, section 7)
    propose to report it beside certified accuracy at fixed radii, since a model and its
    sigma may be tuned for one radius.

    Args:
        tables: one or more.
        radii: (M,); by default every certified radius of a right image, from 0.

    Raises:
        Problem: no table, one without images, tables of different images (see `pair`),
            or radii that are negative or not finite.

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
        raise MissingValue(
            "an envelope is of one table or more; got none", field="tables"
        )
    require_images(len(given[0]))
    for table in given[1:]:
        require_same_images(given[0], table)

    if radii is None:
        radii_of_tables = [table.radius[table.correct] for table in given]
        x = np.unique(np.concatenate([[0.0], *radii_of_tables]))
    else:
        x = np.atleast_1d(np.asarray(radii, np.float64))
    check_radius(*x.tolist())

    images = len(given[0])
    shares = np.stack([certified_shares(table, x) for table in given])  # (tables, M)
    # Bonferroni: the intervals of all tables hold at once.
    level = 1.0 - (1.0 - LEVEL) / len(given)
    low, high = share_interval(np.rint(shares * images), images, level=level)
    largest_share = shares.max(axis=0)
    return Envelope(
        radii=x,
        share=largest_share,
        low=low.max(axis=0),
        high=high.max(axis=0),
        best=np.where(largest_share > 0.0, shares.argmax(axis=0), -1),
    )
