"""Certified accuracy, abstention and the average certified radius of a table, and the most that a radius can be."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from randsmooth.bounds.binomial import CAP
from randsmooth.certificates import ABSTAIN, Certificates, CertificatesLike, Header, as_certificates, rule_of
from randsmooth.certificates.logs.inferred import LOOSEST
from randsmooth.certificates.logs.tsv import LARGEST
from randsmooth.errors import InputError
from randsmooth.metrics.estimate import Estimate, mean, share
from randsmooth.noise import Gaussian
from randsmooth.rules import MOST_SAMPLES


def largest_possible(table: Certificates) -> float:
    """What no radius of the table can exceed, given its rule, sigma, n and alpha.

    An unknown n or alpha is taken to be one that certifies the most. Where sigma is unknown, it is the largest radius
    of a right image; if there is none, LARGEST, beyond which no log is read.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> uncertified = from_radii([0.0, 0.0], sigma=0.5, n=100_000, alpha=0.001)
        >>> round(largest_possible(uncertified), 2), largest_possible(from_radii([0.0, 0.3]))
        (1.91, 0.3)
    """
    seen = float(np.max(table.radius * table.correct, initial=0.0))  # a log may have rounded it up
    if table.header.sigma is None:
        return seen or LARGEST
    return max(seen, _largest(table.header, table.header.sigma))


def _largest(header: Header, sigma: float) -> float:
    if header.n is None or header.alpha is None:
        return Gaussian(sigma).largest_radius(header.n or MOST_SAMPLES, header.alpha or LOOSEST)
    beyond = CAP * sigma if header.bound == "randomised" else 0.0
    return rule_of(header).farthest + beyond


def check_radius(r: float) -> None:
    """Raise InputError unless `r` is a finite radius >= 0.

    Example:
        >>> check_radius(0.5)
        >>> check_radius(-0.5)
        Traceback (most recent call last):
            ...
        randsmooth.errors.InputError: radius -0.5 must be a finite number >= 0, in units of pixels in [0, 1]
    """
    if not (math.isfinite(r) and r >= 0.0):
        raise InputError(f"radius {r} must be a finite number >= 0, in units of pixels in [0, 1]")


def require_labels(table: Certificates) -> None:
    """Raise InputError for images without labels, of which it is unknown whether an answer is right."""
    if not table.labelled:
        raise InputError(
            f"{table.name or 'this table'} is about images without labels, so that accuracy, ACR and p_A are not "
            "known: certify images with labels"
        )


def knows_accuracy(table: CertificatesLike) -> bool:
    """Whether `table` determines accuracy and ACR: its images have labels.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> knows_accuracy(from_radii([0.0, 0.3, 0.8, 1.2]))
        True
    """
    return as_certificates(table).labelled


def certified(table: CertificatesLike, r: float) -> NDArray[np.bool_]:
    """(N,) whether each image is classified correctly with a certified radius of at least `r`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> certified(table, 0.5).tolist()
        [False, False, True, True]
    """
    table = as_certificates(table)
    require_labels(table)
    check_radius(r)
    return np.asarray(table.correct & (table.radius >= r))


def certified_accuracy(table: CertificatesLike, r: float) -> Estimate:
    """Certified accuracy at `r`: the share of *all* images that are right and certified there (Cohen et al. 2019).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> certified_accuracy(table, 0.5).value
        0.5
    """
    return share(certified(table, r))


def certified_shares(table: CertificatesLike, radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """`certified_accuracy` at many radii at once: (M,) shares of all images for `radii` (M,).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> certified_shares(table, np.array([0.0, 0.5, 1.0])).tolist()
        [0.75, 0.5, 0.25]
    """
    steps, shares = accuracy_curve(table)
    return np.asarray(np.append(shares, 0.0)[np.searchsorted(steps, radii, side="left")])


def knows_abstention(table: CertificatesLike) -> bool:
    """Whether `table` determines the share of abstentions.

    A label-aware one does not: of an image whose picked class missed the label, or whose label alone was tested, it is
    unknown whether another class would have been certified, wrongly, or abstained on.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> knows_abstention(table)
        True
    """
    table = as_certificates(table)
    return not table.header.label_aware


def abstention(table: CertificatesLike) -> Estimate:
    """Share of images on which the certification abstained.

    Raises:
        InputError: no image, or a label-aware table, for which the share is unknown (see `knows_abstention`).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> abstention(table).value
        0.25
    """
    table = as_certificates(table)
    if not knows_abstention(table):
        raise InputError(
            f"{table.name or 'this table'} is label-aware: no class but the label was tested, so it is unknown on how "
            "many images the certification abstains; certify without --label-aware"
        )
    return share(table.predict == ABSTAIN)


def acr(table: CertificatesLike) -> Estimate:
    """Average certified radius: mean over all images of radius * correct (Zhai et al. 2020).

    Known to reward giving up on hard images (Sun et al. 2025): read it beside the p_A curve.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> acr(table).value  # (0.3 + 0.8 + 1.2) / 4
        0.575
    """
    table = as_certificates(table)
    require_labels(table)
    return mean(table.radius * table.correct, (0.0, largest_possible(table)))


def accuracy_curve(table: CertificatesLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Certified accuracy at every radius, which is a staircase.

    Returns:
        radii: (M,) ascending, from 0: the certified radii of right images.
        shares: (M,) certified accuracy at each of these; it drops just after each radius.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> radii, shares = accuracy_curve(table)
        >>> radii.tolist(), shares.tolist()
        ([0.0, 0.3, 0.8, 1.2], [0.75, 0.75, 0.5, 0.25])
    """
    table = as_certificates(table)
    require_labels(table)
    held = np.sort(table.radius[table.correct])
    radii = np.unique(np.concatenate(([0.0], held)))
    return radii, (len(held) - np.searchsorted(held, radii, side="left")) / max(1, len(table))
