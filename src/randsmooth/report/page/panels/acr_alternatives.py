"""What to report in ACR's place: the area up to a radius, and the quartiles of p_A."""

import math
from collections.abc import Sequence

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import Estimate
from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.printed import UNKNOWN_FIGURE

# Shares of the images at which quantiles of p_A are printed.
QUARTILES = (0.25, 0.5, 0.75)
# The area under the curve ends at this radius, or earlier where the tables end.
FARTHEST_RADIUS = 1.0
# From here on a figure below 1 would be printed with three decimals as 1.
LARGEST_BELOW_ONE = 0.9995


def view(content: PageContent) -> PanelView:
    """Return the figures of each table as [table][figure]."""
    sheet = content.sheet
    end = area_end(sheet.radii, whole=sheet.norm.whole)
    return PanelView(
        {
            "cells": [cells(table, end) for table in sheet.tables],
            "end": f"{end:g}",
        },
        title="In ACR's place",
    )


def area_end(radii: Sequence[float], *, whole: bool = False) -> float:
    """Return the radius that the area ends at.

    It is the largest of the sheet's up to 1; of whole numbers it is the middle one.
    """
    farthest = radii[len(radii) // 2] if whole else FARTHEST_RADIUS
    within = [radius for radius in radii if 0.0 < radius <= farthest]
    return max(within, default=FARTHEST_RADIUS)


def cells(table: Certificates, end: float) -> list[tuple[str, str]]:
    """Print the area up to radius `end` and the three quartiles of p_A.

    There are dashes where they are not known.
    """
    area = metrics.accuracy_area(table, end) if table.labelled else None
    quartiles: list[Estimate | None] = [None for _ in QUARTILES]
    if metrics.knows_p_a(table):
        quartiles = list(metrics.p_a_quantiles(table, QUARTILES).values())
    return [_cell(estimate) for estimate in (area, *quartiles)]


def _cell(estimate: Estimate | None) -> tuple[str, str]:
    """Print a figure and the ends of its interval."""
    if estimate is None:
        return UNKNOWN_FIGURE, ""
    figure = _figure(estimate.value)
    if math.isnan(estimate.high):
        return figure, ""
    return figure, f"{_figure(estimate.low)} to {_figure(estimate.high)}"


def _figure(value: float) -> str:
    """Print three decimals; what lies just below 1 is not printed as 1."""
    if math.isnan(value):
        return "below 0.5"
    if value >= 1.0:
        return "1"
    if value >= LARGEST_BELOW_ONE:
        return "above 0.999"
    return f"{value:.3f}"
