"""The sheet for spreadsheets and programs: CSV at full precision, every figure with its interval."""

from __future__ import annotations

from typing import Any

from randsmooth import escape
from randsmooth.metrics import P_A_LEVELS, Estimate
from randsmooth.report.sheet.content import Sheet


def render(sheet: Sheet) -> str:
    """One row a table. A metric M has the columns M, M_low, M_high; certified accuracy is accuracy@RADIUS.

    At a radius that a table's sigma, n and alpha cannot certify its accuracy is 0; printed tables have a dash there.
    p_A@X, the share of images with p_A >= X, and abstention are empty for a table that does not give them. A
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
