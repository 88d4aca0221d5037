"""Each method against the baseline: verdict, where its ACR came from, paired differences, who was given up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import Estimate, GivenUp, PairedAccuracy, Verdict, Waterfall
from randsmooth.report.sheet import Sheet

RESAMPLES = 200  # bootstrap resamples of the figures here, said on the page: twenty pairs are to take seconds
CERTAIN = 0.05  # corrected p-value below which a difference is marked
SHOWN = 12  # lost images to show


@dataclass(frozen=True)
class Versus:
    """One method against the baseline, on the images that both have.

    Attributes:
        row: of the method in the sheet. images: in common.
        verdict: on the p_A curves; None where these cannot be compared, for the reason that `untold` gives.
        acr: the method's ACR minus the baseline's.
        waterfall: of that difference, by the baseline's p_A; None where this is not known.
        paired: certified accuracy at the sheet's radii.
        given_up: at radius 0 and at the page's middle radius.
        shown: idx of images lost at radius `shown_at`, those that the baseline certifies farthest first.
    """

    row: int
    images: int
    verdict: Verdict | None
    untold: str
    acr: Estimate
    waterfall: Waterfall | None
    paired: list[PairedAccuracy]
    given_up: list[GivenUp]
    shown: list[int]
    shown_at: float


def view(sheet: Sheet) -> list[Versus]:
    """Every table but the baseline against it; none without a baseline.

    Raises:
        InputError: a table shares no image with the baseline (the first table where there is none), or calls a shared
            image otherwise.
    """
    reference = sheet.tables[sheet.baseline or 0]
    rows = [row for row, table in enumerate(sheet.tables) if table is not reference]
    pairs = [(row, metrics.pair(sheet.tables[row], reference)) for row in rows]
    if sheet.baseline is None:
        return []
    return [against(sheet, row, *pair) for row, pair in pairs]


def against(sheet: Sheet, row: int, ours: Certificates, theirs: Certificates) -> Versus:
    """The table of `row` and the baseline, both on the images in common (see `metrics.pair`)."""
    given_up = [metrics.given_up(ours, theirs, r) for r in dict.fromkeys((0.0, middle(sheet.radii)))]
    at = next((change for change in given_up if len(change.lost)), given_up[0])
    untold = _untold(ours, theirs)
    return Versus(
        row,
        len(ours),
        None if untold else metrics.verdict(ours, theirs, resamples=RESAMPLES),
        untold,
        metrics.acr_difference(ours, theirs, resamples=RESAMPLES),
        metrics.waterfall(ours, theirs) if metrics.tells_p_a(theirs) else None,
        metrics.paired_accuracy(ours, theirs, sheet.radii),
        given_up,
        _shown(theirs, at),
        at.r,
    )


def _untold(ours: Certificates, theirs: Certificates) -> str:
    """Why the p_A curves cannot be compared; empty where they can. Less noise makes p_A larger for nothing."""
    if not (metrics.tells_p_a(ours) and metrics.tells_p_a(theirs)):
        return "p_A is not known"
    return "" if ours.header.sigma == theirs.header.sigma else "p_A was measured at another sigma"


def middle(radii: Sequence[float]) -> float:
    """The radius that the page opens at: the third, 0.5 among the usual ones; 0 without any."""
    return radii[middle_place(radii)] if radii else 0.0


def middle_place(radii: Sequence[float]) -> int:
    """Its place among the radii."""
    return min(2, len(radii) - 1)


def _shown(reference: Certificates, change: GivenUp) -> list[int]:
    lost = np.flatnonzero(np.isin(reference.idx, change.lost))
    farthest = lost[np.argsort(-reference.radius[lost], kind="stable")][:SHOWN]
    return [int(idx) for idx in reference.idx[farthest]]
