"""The sheet for programs: CSV and JSON at full precision, every figure with its interval and image count."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from typing import Any

from randsmooth import metrics
from randsmooth.errors import InputError
from randsmooth.metrics import LEVEL, P_A, Estimate
from randsmooth.report import versus
from randsmooth.report.sheet import Sheet


def to_csv(sheet: Sheet) -> str:
    """One row a table. A metric M has the columns M, M_low, M_high; certified accuracy is accuracy@RADIUS.

    p_A@X, the share of images with p_A >= X, and abstention are empty for a table that does not tell them.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    columns = ["acr", *(f"accuracy@{r:g}" for r in sheet.radii), "abstention", *(f"p_A@{x:g}" for x in P_A)]
    writer.writerow(["name", "images", *(f"{m}{end}" for m in columns for end in ("", "_low", "_high"))])
    for row, table in enumerate(sheet.tables):
        figures: list[Estimate | None] = [column.estimates[row] for column in sheet.columns]
        figures += [sheet.p_a[row].get(x) for x in P_A]
        ends = [value for e in figures for value in ((e.value, e.low, e.high) if e else (None, None, None))]
        writer.writerow([table.name, len(table), *ends])
    return buffer.getvalue()


def to_json(sheet: Sheet) -> str:
    """One object: `tables` (each with its metrics and its header's facts), `against`, `baseline`, `radii`, `level`.

    A table's `abstention` is null, and its `p_A` empty, where it does not tell them.
    `against` holds each table's comparison with the baseline, or why there is none.
    """
    named = None if sheet.baseline is None else sheet.tables[sheet.baseline].name
    content = {
        "level": LEVEL,
        "radii": sheet.radii,
        "baseline": named,
        "remarks": sheet.remarks,
        "tables": [_table(sheet, row) for row in range(len(sheet.tables))],
        "against": [_against(sheet, row) for row in range(len(sheet.tables)) if sheet.baseline not in (None, row)],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


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
        "header": table.header.model_dump(mode="json"),
    }


def _against(sheet: Sheet, row: int) -> dict[str, Any]:
    name = sheet.tables[row].name
    try:
        pair = metrics.pair(sheet.tables[row], sheet.tables[sheet.baseline or 0])
    except InputError as reason:
        return {"name": name, "not_compared": str(reason)}
    one = versus.against(sheet, row, *pair)
    return {
        "name": name,
        "images": one.images,
        "acr_difference": _estimate(one.acr),
        **_by_p_a(one),
        "certified_accuracy": [dataclasses.asdict(at) for at in one.paired],
        "given_up": [{"radius": at.r, "lost": at.lost.tolist(), "won": at.won.tolist()} for at in one.given_up],
    }


def _by_p_a(one: versus.Versus) -> dict[str, Any]:
    """Verdict and parts of the difference in ACR; null where p_A is not known."""
    said, parts = one.verdict, one.waterfall
    place = said and {
        "outcome": said.outcome,
        "ahead_beyond": said.overtaker,
        "p_A": said.p_a and _estimate(said.p_a),
        "radius": said.radius and _estimate(said.radius),
    }
    split = parts and {
        "edges": parts.edges.tolist(),
        "parts": parts.difference.tolist(),
        "from_easy": parts.easy_difference,
    }
    return {"verdict": place, "waterfall": split}


def _estimate(estimate: Estimate) -> dict[str, float | int]:
    return dataclasses.asdict(estimate)
