"""Certified accuracy, abstention, ACR and the area under the curve of one table."""

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    CertificatesLike,
    as_certificates,
)
from randsmooth.errors import BadValue, WrongTable
from randsmooth.metrics.estimate import Estimate, mean, share
from randsmooth.metrics.radii import check_radius, largest_possible


def labelled(table: CertificatesLike) -> Certificates:
    """Return the table as `Certificates`.

    Raises:
        Problem: the images have no labels, so that it is unknown which are right.
    """
    table = as_certificates(table)
    if not table.labelled:
        raise WrongTable(
            f"{table.name or 'this table'} is about images without labels, so that "
            "accuracy, ACR and p_A are not known: certify images with labels"
        )
    return table


def certified(table: CertificatesLike, r: float) -> NDArray[np.bool_]:
    """Return (N,) whether each image is right with a certified radius of at least `r`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> certified(table, 0.5).tolist()
        [False, False, True, True]
    """
    table = labelled(table)
    check_radius(r)
    return np.asarray(table.correct & (table.radius >= r))


def certified_accuracy(table: CertificatesLike, r: float) -> Estimate:
    """Return certified accuracy at `r`: the share of *all* images right and certified.

    Source: Cohen et al. 2019.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> certified_accuracy(table, 0.5).value
        0.5
    """
    return share(certified(table, r))


def certified_shares(
    table: CertificatesLike, radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return `certified_accuracy` at many radii at once.

    Args:
        table: the certificates, with labels.
        radii: (M,) the radii, in the norm of the table.

    Returns:
        (M,) shares of all images.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> certified_shares(table, np.array([0.0, 0.5, 1.0])).tolist()
        [0.75, 0.5, 0.25]
    """
    steps, shares = accuracy_curve(table)
    # Beyond the last step no image is certified.
    shares_and_end = np.append(shares, 0.0)
    return np.asarray(shares_and_end[np.searchsorted(steps, radii, side="left")])


def accuracy_curve(
    table: CertificatesLike,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return certified accuracy at every radius, which is a staircase.

    Returns:
        radii: (M,) ascending, from 0: the certified radii of right images. shares: (M,)
        certified accuracy at each of these; it drops just after each radius.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> radii, shares = accuracy_curve(table)
        >>> radii.tolist(), shares.tolist()
        ([0.0, 0.3, 0.8, 1.2], [0.75, 0.75, 0.5, 0.25])
    """
    table = labelled(table)
    right_radii = np.sort(table.radius[table.correct])
    radii = np.unique(np.concatenate(([0.0], right_radii)))

    images_below = np.searchsorted(right_radii, radii, side="left")
    shares = (len(right_radii) - images_below) / max(1, len(table))
    return radii, shares


def abstention(table: CertificatesLike) -> Estimate:
    """Return the share of images on which the certification abstained.

    A label-aware table does not tell it: of an image whose picked class missed the
    label, or whose label alone was tested, it is unknown whether another class would
    have been certified, wrongly, or abstained on.

    Raises:
        Problem: no image, or a label-aware table.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> abstention(table).value
        0.25
    """
    table = as_certificates(table)
    if table.header.label_aware:
        raise WrongTable(
            f"{table.name or 'this table'} is label-aware: no class but the label was "
            "tested, so it is unknown on how many images the certification abstains; "
            "certify with label_aware=False"
        )
    return share(table.predict == ABSTAIN)


def declined(table: CertificatesLike) -> Estimate:
    """Return the share of images that are certified as declined.

    Such an image is neither right nor wrong: certified accuracy counts it as not right.

    Raises:
        Problem: no image, a base classifier that may not decline, or a label-aware table,
            which tests no class but the label.

    Example:
        >>> import numpy as np
        >>> from randsmooth.certificates import Header, from_evidence
        >>> picked = np.array([[97, 3], [4, 96]])
        >>> counts = np.array([[95, 5], [3, 97]])
        >>> table = from_evidence(
        ...     Header(sigma=0.5, n0=100, n=100, alpha=0.001, refusal=1),
        ...     idx=np.arange(2),
        ...     label=np.zeros(2, np.int64),
        ...     counts0=picked,
        ...     counts=counts,
        ...     seconds=np.zeros(2),
        ... )
        >>> declined(table).value
        0.5
    """
    table = as_certificates(table)
    if table.header.refusal is None or table.header.label_aware:
        raise WrongTable(
            f"{table.name or 'this table'} does not tell on which images the model "
            "declines: certify with refusal='class', and not label-aware"
        )
    return share(table.declined)


def acr(table: CertificatesLike) -> Estimate:
    """Return the average certified radius: the mean of radius * correct over all images.

    ACR is known to reward giving up on hard images (Sun et al. 2025): read it beside
    the p_A curve.

    Source: Zhai et al. 2020.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> acr(table).value  # (0.3 + 0.8 + 1.2) / 4
        0.575
    """
    table = labelled(table)
    return mean(table.radius * table.correct, (0.0, largest_possible(table)))


def accuracy_area(table: CertificatesLike, up_to: float) -> Estimate:
    """Return the area under the certified-accuracy curve from radius 0 to `up_to`.

    It is the mean of min(radius, up_to) * correct, with its 95% interval, and ACR when
    `up_to` is beyond every radius. Divided by `up_to` it is the mean certified accuracy
    over these radii.

    The area can be gamed in two ways. Below `up_to` it is ACR and rewards the same
    thing, radius on images that are certified already rather than a first radius on a
    hard one; only radius beyond `up_to` no longer counts. And `up_to` itself may be
    chosen after the curves were seen: state it beforehand, for the perturbations that
    the application must withstand, and report where the curves cross.

    Args:
        table: the certificates, with labels.
        up_to: the last radius that counts, in units of pixels in [0, 1].

    Raises:
        Problem: no image, or `up_to` is not a finite number above 0.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> accuracy_area(table, up_to=1.0).value  # (0.3 + 0.8 + 1.0) / 4
        0.525
    """
    table = labelled(table)
    check_radius(up_to)
    if up_to == 0.0:
        raise BadValue(
            field="up_to",
            value=up_to,
            expected="leaves no area",
            fix="give the largest radius that matters, in units of pixels in [0, 1]",
        )

    counted_radii = np.minimum(table.radius, up_to) * table.correct
    largest_counted = min(up_to, largest_possible(table))
    return mean(counted_radii, (0.0, largest_counted))
