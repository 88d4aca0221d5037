"""Each table against the baseline on the images that both have: what every format and panel says of the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.metrics import Comparison, GivenUp, Point, Scope, Waterfall
from randsmooth.report.sheet import Sheet

Pair = tuple[Certificates, Certificates]
MOST_PICTURES = 12  # of images given up, for each table


@dataclass(frozen=True)
class AgainstBaseline:
    """One table against the baseline, on the images that both have.

    Attributes:
        row: of the table in the sheet.
        comparison: at every radius and in ACR, judged together with all other tables' (see `metrics.compare`).
        verdict: the comparison in words, as every report prints it.
        scope: what the comparison was judged together with, in a sentence.
        points: the difference in certified accuracy at each of the sheet's radii; None where it cannot be compared.
        waterfall: the difference in ACR by the baseline's p_A; None where either is not known.
        given_up: the images that changed hands at radius 0 and at the third radius of the sheet.
        pictured: idx of images given up at radius `pictured_at`, those that the baseline certifies farthest first.
    """

    row: int
    comparison: Comparison
    verdict: str
    scope: str
    points: list[Point | None]
    waterfall: Waterfall | None
    given_up: list[GivenUp]
    pictured: list[int]
    pictured_at: float


def compare_all(sheet: Sheet) -> list[AgainstBaseline]:
    """Every table but the baseline against it; an empty list without a baseline. Tables without labels are left out.

    Raises:
        InputError: a table shares no image with the baseline (the first table where there is none), or gives a shared
            image another label.
    """
    reference = sheet.tables[sheet.baseline or 0]
    others = [row for row, table in enumerate(sheet.tables) if table is not reference and table.labelled]
    pairs = {row: metrics.pair(sheet.tables[row], reference) for row in others} if reference.labelled else {}
    return [] if sheet.baseline is None else _compare(sheet, pairs)


def compare_possible(sheet: Sheet) -> tuple[list[AgainstBaseline], dict[str, str]]:
    """As `compare_all` for the tables that can be paired with the baseline; and by name, why the others cannot."""
    pairs, refused = {}, {}
    for row, table in enumerate(sheet.tables):
        if sheet.baseline in (None, row):
            continue
        try:
            pairs[row] = metrics.pair(table, sheet.tables[sheet.baseline or 0])
        except InputError as reason:
            refused[table.name] = str(reason)
    return _compare(sheet, pairs), refused


def _compare(sheet: Sheet, pairs: Mapping[int, Pair]) -> list[AgainstBaseline]:
    """The tables of some rows, each with the baseline on the images in common, judged together."""
    compared = metrics.compare(list(pairs.values()), sheet.radii)
    return [_against(sheet, row, *pair, one) for (row, pair), one in zip(pairs.items(), compared, strict=True)]


def _against(sheet: Sheet, row: int, ours: Certificates, theirs: Certificates, one: Comparison) -> AgainstBaseline:
    given_up = [metrics.given_up(ours, theirs, r) for r in dict.fromkeys((0.0, *sheet.radii[:3][-1:]))]
    pictured = next((at for at in given_up if len(at.lost)), given_up[0])
    explained = one.acr is not None and metrics.knows_p_a(theirs)
    return AgainstBaseline(
        row,
        one,
        verdict_words(one),
        joint_scope(one.scope),
        [one.at(r) for r in sheet.radii],
        metrics.waterfall(ours, theirs) if explained else None,
        given_up,
        _farthest(theirs, pictured),
        pictured.r,
    )


def _farthest(reference: Certificates, change: GivenUp) -> list[int]:
    """Idx of the lost images that `reference` certifies farthest."""
    lost = np.flatnonzero(np.isin(reference.idx, change.lost))
    farthest = lost[np.argsort(-reference.radius[lost], kind="stable")][:MOST_PICTURES]
    return [int(idx) for idx in reference.idx[farthest]]


def verdict_words(one: Comparison) -> str:
    """What certified accuracy says of the two, and how far the comparison reaches where it is limited."""
    if one.verdict is None:
        return f"not compared: {one.limit}"
    return f"{one.verdict} [{one.limit}]" if one.limit else str(one.verdict)


def joint_scope(scope: Scope) -> str:
    """One sentence: how many differences the intervals hold for at once."""
    methods = "the method" if scope.pairs == 1 else f"all {scope.pairs} methods"
    return (
        f"All radii and the ACR of {methods} are judged together, {scope.figures:,} differences whose intervals hold "
        "all at once with 95% confidence: many methods and many radii make no difference appear by chance."
    )
