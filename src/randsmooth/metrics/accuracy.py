"""What one table says: certified accuracy, abstention, ACR and the area up to a radius; all of them in a summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth.bounds.binomial import CAP
from randsmooth.certificates import ABSTAIN, Certificates, CertificatesLike, as_certificates, rule_of
from randsmooth.certificates.logs.inferred import LOOSEST
from randsmooth.certificates.logs.tsv import LARGEST
from randsmooth.errors import InputError
from randsmooth.metrics.estimate import Estimate, mean, require_labels, share
from randsmooth.metrics.p_a_estimates import knows_p_a, p_a
from randsmooth.noise import NORMS, Gaussian
from randsmooth.rules import MOST_SAMPLES

NORMAL = Gaussian(1.0)


def largest_possible(table: Certificates) -> float:
    """What no radius of the table can exceed, given its rule, noise, n and alpha.

    An unknown n or alpha is taken to be one that certifies the most. Where the noise is unknown, it is the largest
    radius of a right image; if there is none, LARGEST, beyond which no log is read.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> uncertified = from_radii([0.0, 0.0], sigma=0.5, n=100_000, alpha=0.001)
        >>> round(largest_possible(uncertified), 2), largest_possible(from_radii([0.0, 0.3]))
        (1.91, 0.3)
    """
    seen = float(np.max(table.radius * table.correct, initial=0.0))  # a log may have rounded it up
    header = table.header
    if not header.names_noise:
        return seen or LARGEST
    if not header.settled:
        return max(seen, table.smoothing.largest_radius(header.n or MOST_SAMPLES, header.alpha or LOOSEST))
    if header.bound != "randomised":
        return max(seen, farthest(table))
    least_q = NORMAL.tail(NORMAL.largest_radius(header.n or 0, header.alpha or 0.0) + CAP)
    return max(seen, float(table.smoothing.radius(least_q)))


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
    return not as_certificates(table).header.label_aware


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


def accuracy_area(table: CertificatesLike, up_to: float) -> Estimate:
    """Area under the certified-accuracy curve from radius 0 to `up_to`, in units of pixels in [0, 1].

    It is the mean of min(radius, up_to) * correct, with its 95% interval, and ACR when `up_to` is beyond every
    radius. Divided by `up_to` it is the mean certified accuracy over these radii.

    What can game it: below `up_to` it is ACR and pays for the same thing, radius on images that are certified already
    rather than a first radius on a hard one; only what lies beyond `up_to` no longer counts. And `up_to` itself, chosen
    after the curves were seen: state it beforehand, for what the application must withstand, and report where the
    curves cross.

    Raises:
        InputError: no image, or `up_to` is not a finite number above 0.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> accuracy_area(table, up_to=1.0).value  # (0.3 + 0.8 + 1.0) / 4
        0.525
    """
    table = as_certificates(table)
    require_labels(table)
    check_radius(up_to)
    if up_to == 0.0:
        raise InputError("up_to=0 leaves no area; give the largest radius that matters, in units of pixels in [0, 1]")
    return mean(np.minimum(table.radius, up_to) * table.correct, (0.0, min(up_to, largest_possible(table))))


STEP = 0.25  # in L2, as the literature has it
COLUMNS = 8
TINY = 1e-12  # what rounding takes from a radius
P_A_LEVELS = (0.5, 0.75, 0.9, 0.99)  # where the p_A curve is read off for a table of figures


@dataclass(frozen=True)
class Summary:
    """The metrics of one table, with intervals.

    Attributes:
        name, images: of the table, and how many it holds.
        acr: average certified radius; None where the images have no labels.
        accuracy: radius -> certified accuracy; None likewise.
        abstention: share of abstentions; None if unknown (see `knows_abstention`).
        p_a: x -> share of images with p_A >= x; empty if unknown (see `knows_p_a`).

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> summary = summarise(table, [0.0, 0.5])
        >>> summary.images, summary.accuracy[0.5].value, summary.p_a[0.5].value
        (4, 0.5, 0.75)
    """

    name: str
    images: int
    acr: Estimate | None
    accuracy: dict[float, Estimate | None]
    abstention: Estimate | None
    p_a: dict[float, Estimate]


def summarise(table: CertificatesLike, radii: Sequence[float] | None = None) -> Summary:
    """Every metric of `table`: certified accuracy at each of `radii`, and shares of p_A at each of P_A_LEVELS.

    Without `radii`, the accuracies are those at the `usual_radii` of the table.

    Raises:
        InputError: no image, or a radius that is negative or not finite.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> summary = summarise(table, [0.0, 0.5])
        >>> summary.acr.value, summary.accuracy[0.5].value, summary.abstention.value
        (0.575, 0.5, 0.25)
        >>> list(summarise(table).accuracy)
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    table = as_certificates(table)
    radii = usual_radii([table]) if radii is None else radii
    for r in radii:
        check_radius(r)
    accuracy = {r: certified_accuracy(table, r) if table.labelled else None for r in radii}
    average = acr(table) if table.labelled else None
    abstained = abstention(table) if knows_abstention(table) else None
    measured = p_a(table) if knows_p_a(table) else None
    shares = {} if measured is None else {x: measured.share(x) for x in P_A_LEVELS}
    return Summary(table.name, len(table), average, accuracy, abstained, shares)


def usual_radii(tables: Sequence[CertificatesLike]) -> list[float]:
    """The usual columns of a table of results: 0, 0.25, 0.5, ... as far as any table certifies a right image.

    In other norms than L2 the step is 1, 2 or 5 times a power of ten, so that there are at most COLUMNS of them above
    0; where radii are whole numbers, so is the step.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> usual_radii([table])
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    given = [as_certificates(table) for table in tables]
    farthest = max((float(np.max(t.radius * t.correct, initial=0.0)) for t in given), default=0.0)
    norm = given[0].norm if given else "l2"
    step = STEP if norm == "l2" or farthest <= 0.0 else round_step(farthest, COLUMNS)
    step = max(1.0, step) if NORMS[norm].whole else step
    return [round(step * i, 12) for i in range(math.floor(farthest / step * (1.0 + TINY)) + 1)]


def round_step(end: float, most: int) -> float:
    """The smallest of 1, 2 and 5 times the powers of ten that goes into `end`, above 0, at most so many times.

    Example:
        >>> round_step(1.9, 8), round_step(9.0, 8)
        (0.5, 2.0)
    """
    exponent = math.floor(math.log10(end / most))
    steps = (s * 10.0**e for e in (exponent, exponent + 1) for s in (1.0, 2.0, 5.0))
    return next(s for s in steps if end <= s * most * (1.0 + TINY))


def farthest(table: CertificatesLike) -> float:
    """The largest radius that the table's rule asks about; for a log without n, the largest that occurs.

    It is proved if all samples of an image agree. Samples that stop once a target is proved are asked about the target
    only.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> round(farthest(table), 3)  # n of n successes
        1.232
    """
    table = as_certificates(table)
    if not table.header.settled:
        return float(table.radius.max(initial=0.0))
    return float(_seen(table, rule_of(table.header).farthest))


def can_certify(table: CertificatesLike, r: float) -> bool:
    """Whether any image can be certified at radius `r` with the table's noise, n and alpha; True if they are unknown.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> can_certify(table, 1.0), can_certify(table, 2.0)
        (True, False)
    """
    table = as_certificates(table)
    return not table.header.settled or r <= largest_possible(table)


def asked_radii(table: Certificates) -> NDArray[np.float64] | None:
    """(K,) the only radii that the table's samples were asked about; None if they were asked about all."""
    asked = rule_of(table.header).asked_radii if table.header.settled else None
    return None if asked is None else _seen(table, asked)


def _seen(table: Certificates, r: ArrayLike) -> NDArray[np.float64]:
    """Radii of the noise in the norm of the table."""
    return np.asarray(r, np.float64) if table.converted is None else table.converted.from_own(r)
