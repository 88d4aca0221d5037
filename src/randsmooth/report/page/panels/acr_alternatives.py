"""What to report in ACR's place: the area up to a radius, and the quartiles of p_A."""

import math
from collections.abc import Sequence

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import Estimate
from randsmooth.number_text import half_up
from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.printed import UNKNOWN_FIGURE, acr_decimals

# Shares of the images at which quantiles of p_A are printed.
QUARTILES = (0.25, 0.5, 0.75)
# The area under the curve of certified accuracy ends at this radius, or at the largest
# radius of the sheet below it.
FARTHEST_RADIUS = 1.0
# A p_A below 1 and not below this would be printed, with three decimals, as 1.
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
    """Return the radius at which the area ends.

    It is the largest radius of the sheet up to 1. Radii that are whole numbers are mostly
    larger than 1: it is the middle one then.

    Args:
        radii: the radii of the sheet, ascending.
        whole: whether radii are whole numbers.
    """
    farthest = radii[len(radii) // 2] if whole else FARTHEST_RADIUS
    within = [radius for radius in radii if 0.0 < radius <= farthest]
    return max(within, default=FARTHEST_RADIUS)


def cells(table: Certificates, end: float) -> list[tuple[str, str]]:
    """Return the cells of one table: the area up to radius `end`, and quartiles of p_A.

    A cell is a figure and its interval as printed. What is not known has a dash.
    """
    printed_area = UNKNOWN_FIGURE, ""
    if table.labelled:
        area = metrics.accuracy_area(table, end)
        printed_area = _area_cell(area, acr_decimals(table.norm))
    quartiles: list[Estimate | None] = [None for _ in QUARTILES]
    if metrics.knows_p_a(table):
        quartiles = list(metrics.p_a_quantiles(table, QUARTILES).values())
    return [printed_area, *(_p_a_cell(quartile) for quartile in quartiles)]


def _area_cell(area: Estimate, decimals: int) -> tuple[str, str]:
    """Return the area and the ends of its interval as printed."""
    low = half_up(area.low, decimals)
    high = half_up(area.high, decimals)
    return half_up(area.value, decimals), f"{low} to {high}"


def _p_a_cell(quartile: Estimate | None) -> tuple[str, str]:
    """Return a p_A and the ends of its interval as printed; empty where unknown."""
    if quartile is None:
        return UNKNOWN_FIGURE, ""
    figure = _p_a_figure(quartile.value)
    # A log does not tell p_A below one half: no interval of such a quantile is known.
    if math.isnan(quartile.high):
        return figure, ""
    return figure, f"{_p_a_figure(quartile.low)} to {_p_a_figure(quartile.high)}"


def _p_a_figure(p_a: float) -> str:
    """Return p_A with three decimals; what lies just below 1 is not printed as 1."""
    # A quantile of p_A is NaN where it lies below one half in a log.
    if math.isnan(p_a):
        return "below 0.5"
    if p_a >= 1.0:
        return "1"
    if p_a >= LARGEST_BELOW_ONE:
        return "above 0.999"
    return f"{p_a:.3f}"
