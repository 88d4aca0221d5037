"""The metrics of one table together, those to report instead of ACR, and the usual radii to compare at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import (
    abstention,
    acr,
    certified_accuracy,
    check_radius,
    knows_abstention,
    largest_possible,
    require_labels,
)
from randsmooth.metrics.estimate import LEVEL, Estimate, mean
from randsmooth.metrics.p_a_estimates import ImageProbabilities, knows_p_a, p_a


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


def p_a_quantiles(table: CertificatesLike, q: Sequence[float]) -> dict[float, Estimate]:
    """The p_A that a share `q` of the images does not exceed, for each q, with an exact 95% interval.

    The value is the order statistic ceil(q N). The interval runs between two other ones and covers the population's
    quantile with 95% or more, whatever the distribution: how many images lie below it is binomial. A log
    determines p_A for right images only: a value or an end that it does not determine is NaN. An end beyond the sample
    is 0 or 1.

    What can game them: a quantile sees one point of the curve. A method that gives up all images below the lowest
    quantile reported loses nothing, and one that lifts the images just below a quantile over it wins all; the highest
    ones are 1 as soon as all n samples agree, and hide what lies between there and certainty. So report low quantiles
    too, several and the same ones always, beside the clean accuracy. Only tables of one sigma compare.

    Args:
        q: shares in (0, 1).

    Raises:
        InputError: a share outside (0, 1), and as `p_a`.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2], sigma=0.5, n=1000, alpha=0.001)
        >>> p_a_quantiles(table, [0.5])[0.5].value
        0.769
    """
    for share in q:
        if not 0.0 < share < 1.0:
            raise InputError(f"q={share} must lie strictly between 0 and 1; 0.5 is the median")
    measured = p_a(table)
    return {share: _quantile(measured, share) for share in q}


def _quantile(measured: ImageProbabilities, q: float) -> Estimate:
    from scipy import stats  # here, since it takes long to load

    images = len(measured.values)
    ordered = _known(measured)
    half = (1.0 - LEVEL) / 2.0
    # X_(i) exceeds the quantile if fewer than i images lie at or below it, and misses it if i or more lie under it
    low = int(stats.binom.ppf(half, images, q))
    high = int(stats.binom.isf(half, images, q)) + 1
    value = ordered[max(0, int(np.ceil(np.round(q * images, 9))) - 1)]  # 0.07 * 100 is not 7 in floating point
    return Estimate(
        float(value),
        float(ordered[low - 1]) if low >= 1 else 0.0,
        float(ordered[high - 1]) if high <= images else 1.0,
        images,
    )


def _known(measured: ImageProbabilities) -> NDArray[np.float64]:
    """(N,) ascending, NaN first: the values that a log does not determine are smaller than all others."""
    ordered = np.sort(np.nan_to_num(measured.values, nan=-1.0))
    return np.where(ordered < 0.0, np.nan, ordered)


STEP = 0.25
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
    return Summary(table.name, len(table), average, accuracy, abstained, _p_a_shares(table))


def _p_a_shares(table: Certificates) -> dict[float, Estimate]:
    if not knows_p_a(table):
        return {}
    measured = p_a(table)
    return {x: measured.share(x) for x in P_A_LEVELS}


def usual_radii(tables: Sequence[CertificatesLike]) -> list[float]:
    """The usual columns of a table of results: 0, 0.25, 0.5, ... as far as any table certifies a right image.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> table = from_radii([0.0, 0.3, 0.8, 1.2])
        >>> usual_radii([table])
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    given = [as_certificates(table) for table in tables]
    farthest = max((float(np.max(t.radius * t.correct, initial=0.0)) for t in given), default=0.0)
    return [STEP * i for i in range(math.floor(farthest / STEP) + 1)]
