"""The sheet for programs: JSON at full precision, every figure with its interval and image count."""

from __future__ import annotations

import dataclasses
from typing import Any

from randsmooth import escape, metrics
from randsmooth.metrics import LEVEL, Comparison, Estimate, Point
from randsmooth.report.sheet.against_baseline import AgainstBaseline, compare_possible
from randsmooth.report.sheet.content import Sheet

CURVE_POINTS = 800  # at least, of a curve of differences, which is judged at all its radii


def render(sheet: Sheet) -> str:
    """One object: `tables` (each with its metrics and its header's facts), `against`, `baseline`, `radii`, `level`.

    `certified_accuracy` is 0 at a radius that a table's sigma, n and alpha cannot certify, as in CSV.
    A table's `abstention` is null, and its `p_A` empty, where it does not give them. Without labels `acr` is null, too,
    and so is each `value` of `certified_accuracy`.
    `against` holds each table's comparison with the baseline, or why there is none; its intervals hold all together,
    over what `judged_together` says. `p_value_alone` is McNemar's of one radius, not corrected for the others.
    """
    named = None if sheet.baseline is None else sheet.tables[sheet.baseline].name
    compared, refused = compare_possible(sheet)
    content = {
        "level": LEVEL,
        "radii": sheet.radii,
        "baseline": named,
        "remarks": sheet.remarks,
        "tables": [_table(sheet, row) for row in range(len(sheet.tables))],
        "judged_together": _scope(compared[0]) if compared else None,
        "against": [_against(sheet, one) for one in compared]
        + [{"name": name, "not_compared": reason} for name, reason in refused.items()],
    }
    return escape.to_json(content) + "\n"


def _table(sheet: Sheet, row: int) -> dict[str, Any]:
    table, abstained = sheet.tables[row], sheet.abstention.estimates[row]
    accuracy = zip(sheet.radii, sheet.accuracy, strict=True)
    return {
        "name": table.name,
        "images": len(table),
        "acr": _estimate(average) if (average := sheet.acr.estimates[row]) else None,
        "certified_accuracy": [{"radius": r, **_known(c.estimates[row])} for r, c in accuracy],
        "abstention": abstained and _estimate(abstained),
        "p_A": [{"at_least": x, **_estimate(share)} for x, share in sheet.p_a[row].items()],
        "header": table.header.model_dump(),
    }


def _scope(one: AgainstBaseline) -> dict[str, Any]:
    return {"words": one.scope, **dataclasses.asdict(one.comparison.scope)}


def _against(sheet: Sheet, one: AgainstBaseline) -> dict[str, Any]:
    compared = one.comparison
    return {
        "name": sheet.tables[one.row].name,
        "images": compared.images,
        "limit": compared.limit or None,
        "verdict": _verdict(compared),
        "acr_difference": compared.acr and _estimate(compared.acr),
        "certified_accuracy": [_point(*at) for at in zip(sheet.radii, one.points, strict=True)],
        "curve": _curve(compared),
        "waterfall": _waterfall(one),
        "given_up": [{"radius": at.r, "lost": at.lost.tolist(), "won": at.won.tolist()} for at in one.given_up],
    }


def _verdict(one: Comparison) -> dict[str, Any] | None:
    if one.verdict is None:
        return None
    return {"words": str(one.verdict), **dataclasses.asdict(one.verdict)}


def _point(r: float, at: Point | None) -> dict[str, Any]:
    if at is None:
        return {"radius": r, "difference": None}
    p_value = metrics.mcnemar(at.only_a, at.only_b)
    return {"radius": r, **dataclasses.asdict(at), "p_value_alone": p_value}


def _curve(one: Comparison) -> dict[str, Any] | None:
    if one.curve is None:
        return None
    kept = slice(None, None, max(1, len(one.curve.radii) // CURVE_POINTS))
    return {what: getattr(one.curve, what)[kept].tolist() for what in ("radii", "value", "low", "high")}


def _waterfall(one: AgainstBaseline) -> dict[str, Any] | None:
    """Parts of the difference in ACR; None where p_A is not known."""
    parts = one.waterfall
    if parts is None:
        return None
    return {
        "edges": parts.edges.tolist(),
        "parts": parts.difference.tolist(),
        "from_easy": parts.easy_difference,
    }


def _known(estimate: Estimate | None) -> dict[str, float | int | None]:
    return dict.fromkeys(("value", "low", "high")) if estimate is None else {**_estimate(estimate)}


def _estimate(estimate: Estimate) -> dict[str, float | int]:
    return dataclasses.asdict(estimate)
