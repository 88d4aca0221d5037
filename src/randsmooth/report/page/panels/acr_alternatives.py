"""What to report in ACR's place: the area up to a radius, and the quartiles of p_A."""

import math

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import Estimate
from randsmooth.report.page.panels import PageContent, PanelView
from randsmooth.report.sheet import UNKNOWN_FIGURE

QUARTILES = (0.25, 0.5, 0.75)
FARTHEST = 1.0  # radius: the area ends here, or where the tables do


def view(content: PageContent) -> PanelView:
    """The figures of each table as [table][figure]."""
    end = area_end(content.sheet.radii, whole=content.sheet.norm.whole)
    return PanelView(
        {
            "cells": [cells(table, end) for table in content.sheet.tables],
            "end": f"{end:g}",
        }
    )


def area_end(radii: list[float], *, whole: bool = False) -> float:
    """The radius that the area ends at: the largest of the sheet's up to 1; the middle one of whole numbers."""
    farthest = radii[len(radii) // 2] if whole else FARTHEST
    return max((r for r in radii if 0.0 < r <= farthest), default=FARTHEST)


def cells(table: Certificates, end: float) -> list[tuple[str, str]]:
    """The area up to radius `end` and the three quartiles of p_A, dashes where they are not known."""
    area = metrics.accuracy_area(table, end) if table.labelled else None
    quartiles = (
        metrics.p_a_quantiles(table, QUARTILES)
        if metrics.knows_p_a(table)
        else dict.fromkeys(QUARTILES)
    )
    return [_cell(estimate) for estimate in (area, *quartiles.values())]


def _cell(estimate: Estimate | None) -> tuple[str, str]:
    if estimate is None:
        return UNKNOWN_FIGURE, ""
    ends = (
        ""
        if math.isnan(estimate.high)
        else f"{_figure(estimate.low)} to {_figure(estimate.high)}"
    )
    return _figure(estimate.value), ends


def _figure(value: float) -> str:
    """Three decimals; what lies just below 1 is not printed as 1."""
    if math.isnan(value):
        return "below 0.5"
    return "1" if value >= 1.0 else f"{value:.3f}" if value < 0.9995 else "above 0.999"
