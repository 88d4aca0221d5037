"""The sheet for programs: CSV and JSON at full precision, every figure with its interval and image count."""

from __future__ import annotations

import dataclasses
from typing import Any

from randsmooth import escape, metrics
from randsmooth.metrics import LEVEL, P_A_LEVELS, Comparison, Estimate, Point
from randsmooth.report.sheet import against_baseline as versus
from randsmooth.report.sheet import verdicts
from randsmooth.report.sheet.against_baseline import Versus
from randsmooth.report.sheet.content import Sheet


def to_csv(sheet: Sheet) -> str:
    """One row a table. A metric M has the columns M, M_low, M_high; certified accuracy is accuracy@RADIUS.

    At a radius that a table's sigma, n and alpha cannot certify its accuracy is 0; printed tables have a dash there.
    p_A@X, the share of images with p_A >= X, and abstention are empty for a table that does not tell them. A
    name that a spreadsheet would take for a formula has ' before it; JSON has it as it is.
    """
    columns = ["acr", *(f"accuracy@{r:g}" for r in sheet.radii), "abstention", *(f"p_A@{x:g}" for x in P_A_LEVELS)]
    rows: list[list[Any]] = [["name", "images", *(f"{m}{end}" for m in columns for end in ("", "_low", "_high"))]]
    for row, table in enumerate(sheet.tables):
        figures: list[Estimate | None] = [column.estimates[row] for column in sheet.columns]
        figures += [sheet.p_a[row].get(x) for x in P_A_LEVELS]
        ends = [value for e in figures for value in ((e.value, e.low, e.high) if e else (None, None, None))]
        rows.append([table.name, len(table), *ends])
    return escape.to_csv(rows)


def to_json(sheet: Sheet) -> str:
    """One object: `tables` (each with its metrics and its header's facts), `against`, `baseline`, `radii`, `level`.

    `certified_accuracy` is 0 at a radius that a table's sigma, n and alpha cannot certify, as in CSV.
    A table's `abstention` is null, and its `p_A` empty, where it does not tell them.
    `against` holds each table's comparison with the baseline, or why there is none; its intervals hold all together,
    over what `judged_together` says. `p_value_alone` is McNemar's of one radius, corrected for nothing.
    """
    named = None if sheet.baseline is None else sheet.tables[sheet.baseline].name
    compared, refused = versus.possible(sheet)
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
        "acr": _estimate(sheet.acr.estimates[row]),
        "certified_accuracy": [{"radius": r, **_estimate(c.estimates[row])} for r, c in accuracy],
        "abstention": abstained and _estimate(abstained),
        "p_A": [{"at_least": x, **_estimate(share)} for x, share in sheet.p_a[row].items()],
        "header": table.header.model_dump(),
    }


def _scope(one: Versus) -> dict[str, Any]:
    return {"words": verdicts.together(one.comparison.scope), **dataclasses.asdict(one.comparison.scope)}


def _against(sheet: Sheet, one: Versus) -> dict[str, Any]:
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
    return {what: getattr(one.curve, what).tolist() for what in ("radii", "value", "low", "high")}


def _waterfall(one: Versus) -> dict[str, Any] | None:
    """Parts of the difference in ACR; null where p_A is not known."""
    parts = one.waterfall
    if parts is None:
        return None
    return {
        "edges": parts.edges.tolist(),
        "parts": parts.difference.tolist(),
        "from_easy": parts.easy_difference,
    }


def _estimate(estimate: Estimate) -> dict[str, float | int]:
    return dataclasses.asdict(estimate)
