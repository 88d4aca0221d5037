"""The metrics of one table together, and the radii at which tables are usually compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.metrics.accuracy import abstention, acr, certified_accuracy, check_radius, knows_abstention
from randsmooth.metrics.estimate import Estimate
from randsmooth.metrics.p_a_estimates import knows_p_a, p_a

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
