"""Each method against the baseline: verdict, where its ACR came from, paired differences, who was given up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.metrics import Comparison, GivenUp, Point, Waterfall
from randsmooth.report.sheet.content import Sheet

SHOWN = 12  # lost images to show


@dataclass(frozen=True)
class Pair:
    """The table of `row` and the baseline, both on the images in common (see `metrics.pair`)."""

    row: int
    ours: Certificates
    theirs: Certificates


@dataclass(frozen=True)
class Versus:
    """One method against the baseline, on the images that both have.

    Attributes:
        row: of the method in the sheet.
        comparison: at every radius and in ACR, judged together with all other methods' (see `metrics.compare`).
        points: the difference in certified accuracy at each of the sheet's radii; None where it cannot be compared.
        waterfall: of the difference in ACR, by the baseline's p_A; None where one of the two is not known.
        given_up: at radius 0 and at the page's middle radius.
        shown: idx of images lost at radius `shown_at`, those that the baseline certifies farthest first.
    """

    row: int
    comparison: Comparison
    points: list[Point | None]
    waterfall: Waterfall | None
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
    pairs = [Pair(row, *metrics.pair(sheet.tables[row], reference)) for row in rows]
    return [] if sheet.baseline is None else against(sheet, pairs)


def possible(sheet: Sheet) -> tuple[list[Versus], dict[str, str]]:
    """As `view`, of the tables that can be paired with the baseline; and why each other one cannot, by name."""
    pairs, refused = [], {}
    for row, table in enumerate(sheet.tables):
        if sheet.baseline in (None, row):
            continue
        try:
            pairs.append(Pair(row, *metrics.pair(table, sheet.tables[sheet.baseline or 0])))
        except InputError as reason:
            refused[table.name] = str(reason)
    return against(sheet, pairs), refused


def against(sheet: Sheet, pairs: Sequence[Pair]) -> list[Versus]:
    """All pairs, judged together."""
    compared = metrics.compare([(pair.ours, pair.theirs) for pair in pairs], sheet.radii)
    return [_versus(sheet, pair, one) for pair, one in zip(pairs, compared, strict=True)]


def _versus(sheet: Sheet, pair: Pair, one: Comparison) -> Versus:
    ours, theirs = pair.ours, pair.theirs
    given_up = [metrics.given_up(ours, theirs, r) for r in dict.fromkeys((0.0, middle(sheet.radii)))]
    at = next((change for change in given_up if len(change.lost)), given_up[0])
    told = one.acr is not None and metrics.knows_p_a(theirs)
    return Versus(
        pair.row,
        one,
        [one.at(r) for r in sheet.radii],
        metrics.waterfall(ours, theirs) if told else None,
        given_up,
        _shown(theirs, at),
        at.r,
    )


def shown(sheet: Sheet, compared: Sequence[Versus]) -> list[list[int]]:
    """[row][column of the sheet]: 1 or -1 where the figure is shown to be above or below the baseline's, else 0."""
    judged = [[0] * len(sheet.columns) for _ in sheet.tables]
    for one in compared:
        accuracy = [at.shown if at else 0 for at in one.points]
        judged[one.row] = [one.comparison.acr_shown, *accuracy, 0]
    return judged


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
