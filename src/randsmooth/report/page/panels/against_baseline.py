"""Each table against the baseline: the verdict, paired differences, and where the difference in ACR came from."""

from itertools import pairwise
from typing import Any

import numpy as np

from randsmooth import metrics
from randsmooth.report.charts import Axes, Line, LineKind
from randsmooth.report.curves import radius_title
from randsmooth.report.page.panels import PageContent, PanelView

POINTS = 200  # of a curve of differences


def view(content: PageContent) -> PanelView | None:
    """What is printed of each comparison, and the charts of differences; None without a baseline."""
    if not content.against:
        return None
    charts = {
        "difference": difference_chart(content),
        "waterfall": waterfall_chart(content),
    }
    printed = {
        "reference": content.sheet.tables[content.sheet.baseline or 0],
        "against": content.against,
        "allowed": metrics.in_points(metrics.DELTA),
        "together": str(content.against[0].comparison.scope),
        "charts": charts,
    }
    return PanelView(printed, {name: chart for name, chart in charts.items() if chart})


def difference_chart(content: PageContent) -> Axes | None:
    """Each table's certified accuracy minus the baseline's, with its band; None where no comparison has a curve."""
    lines = []
    for one in content.against:
        if (curve := one.comparison.curve) is not None:
            kept = slice(None, None, max(1, len(curve.radii) // POINTS))
            low, y, high = (
                np.round(100.0 * values[kept], 2)
                for values in (curve.low, curve.value, curve.high)
            )
            kind: LineKind = (
                "line" if curve.whole else "points"
            )  # points: known at particular radii only
            lines.append(
                _line(
                    content,
                    one.row,
                    curve.radii[kept],
                    y,
                    kind,
                    low=low,
                    high=high,
                    hover="%{y:+.1f}",
                )
            )
    return (
        Axes(
            "",
            radius_title(content.sheet.tables),
            "difference (points)",
            lines,
            zero_line=True,
        )
        if lines
        else None
    )


def _line(
    content: PageContent, row: int, x: Any, y: Any, kind: LineKind, **own: Any
) -> Line:
    return Line(
        content.sheet.tables[row].name,
        x,
        y,
        kind,
        row=row,
        look=content.looks[row],
        **own,
    )


def waterfall_chart(content: PageContent) -> Axes | None:
    """A group of bars for each bin of the baseline's p_A: what each table's ACR gained or lost there."""
    lines = []
    for one in content.against:
        if (parts := one.waterfall) is not None:
            bins = [f"{low:g} to {high:g}" for low, high in pairwise(parts.edges)]
            own = {
                "images": parts.images.tolist(),
                "hover": "%{y:+.4f} (%{customdata:,} images)",
            }
            lines.append(_line(content, one.row, bins, parts.difference, "bars", **own))
    return (
        Axes("", "p_A under the baseline", "part of the difference in ACR", lines)
        if lines
        else None
    )
