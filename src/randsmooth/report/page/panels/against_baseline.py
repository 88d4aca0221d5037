"""Each table against the baseline: the verdict, paired differences, and where the difference in ACR came from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from randsmooth import metrics
from randsmooth.report.charts import Chart, Scale, Series
from randsmooth.report.curves import RADIUS
from randsmooth.report.page.panels import PageContent, PanelView

POINTS = 200  # of a curve of differences


def view(content: PageContent) -> PanelView | None:
    """What is printed of each comparison, and the charts of differences; None without a baseline."""
    if not content.against:
        return None
    charts = {"difference": difference_chart(content), "waterfall": waterfall_chart(content)}
    return PanelView(
        {
            "reference": content.sheet.tables[content.sheet.baseline or 0],
            "against": content.against,
            "allowed": metrics.in_points(metrics.DELTA),
            "together": content.against[0].scope,
            "charts": charts,
        },
        {name: chart for name, chart in charts.items() if chart},
    )


def difference_chart(content: PageContent) -> Chart | None:
    """Each table's certified accuracy minus the baseline's, with its band; None where no comparison has a curve."""
    series = []
    for one in content.against:
        curve = one.comparison.curve
        if curve is None:
            continue
        kept = slice(None, None, max(1, len(curve.radii) // POINTS))
        low, value, high = (np.round(100.0 * end[kept], 2) for end in (curve.low, curve.value, curve.high))
        name, look = content.sheet.tables[one.row].name, content.looks[one.row]
        series.append(
            Series(
                one.row,
                name,
                look,
                curve.radii[kept],
                value,
                low,
                high,
                kind="line" if curve.whole else "points",  # points: known at particular radii only
                hover="%{y:+.1f}",
            )
        )
    return Chart(Scale(RADIUS), Scale("difference (points)", zero_line=True), series) if series else None


def waterfall_chart(content: PageContent) -> Chart | None:
    """A group of bars for each bin of the baseline's p_A: what each table's ACR gained or lost there."""
    series = []
    bins: Sequence[str] = ()
    for one in content.against:
        parts = one.waterfall
        if parts is None:
            continue
        bins = [f"{low:g} to {high:g}" for low, high in pairwise(parts.edges)]
        name, look = content.sheet.tables[one.row].name, content.looks[one.row]
        series.append(
            Series(
                one.row,
                name,
                look,
                np.arange(len(bins), dtype=float),
                parts.difference,
                kind="bars",
                images=[int(n) for n in parts.images],
                hover="%{y:+.4f} (%{customdata:,} images)",
            )
        )
    x, y = Scale("p_A under the baseline", categories=bins), Scale("part of the difference in ACR")
    return Chart(x, y, series) if series else None
