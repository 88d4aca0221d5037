"""What to report in ACR's place: the area up to a radius, and how sure the images are."""

from __future__ import annotations

import math
from typing import NamedTuple

from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import Estimate
from randsmooth.report.sheet.content import Sheet

QUANTILES = (0.25, 0.5, 0.75)
FLOAT = 1e-12  # 0.99996 lies a little below itself in floating point
FAR = 1.0  # the area ends here, or where the tables do


class Line(NamedTuple):
    """One table: its name, and each figure with its interval; empty where p_A is not known."""

    name: str
    cells: list[tuple[str, str]]


def up_to(sheet: Sheet) -> float:
    """The radius that the area ends at: the largest of the sheet's up to 1."""
    return max((r for r in sheet.radii if 0.0 < r <= FAR), default=FAR)


def lines(sheet: Sheet) -> list[Line]:
    """A line a table."""
    return [Line(table.name, _cells(table, up_to(sheet))) for table in sheet.tables]


def _cells(table: Certificates, end: float) -> list[tuple[str, str]]:
    cells = [_cell(metrics.accuracy_area(table, end))]
    if not metrics.knows_p_a(table):
        return cells + [("–", "")] * len(QUANTILES)
    return cells + [_cell(estimate) for estimate in metrics.p_a_quantiles(table, QUANTILES).values()]


def _cell(estimate: Estimate) -> tuple[str, str]:
    if math.isnan(estimate.value) and math.isnan(estimate.high):
        return _figure(estimate.value), ""
    return _figure(estimate.value), f"{_figure(estimate.low)} to {_figure(estimate.high)}"


def _figure(value: float) -> str:
    """Three decimals; below 1 as many as keep it from being printed as 1, and 1 itself as such."""
    if math.isnan(value):
        return "below 0.5"
    if value >= 1.0:
        return "1"
    short = f"{value:.3f}"
    return short if short != "1.000" else str(bounds.round_down(value + FLOAT, _decimals(value)))


def _decimals(value: float) -> int:
    """As many as show how far below 1 `value` is."""
    return math.ceil(-math.log10(1.0 - value) - FLOAT / (1.0 - value))
