"""Each table against the baseline.

The verdict, paired differences, and where the difference in ACR came from.
"""

from itertools import pairwise

import numpy as np

from randsmooth import metrics
from randsmooth.metrics import Difference, Waterfall
from randsmooth.report.charts import Axes, Line
from randsmooth.report.curves import radius_title
from randsmooth.report.page.panel import PageContent, PanelView

# A curve of differences with more points is thinned to fewer than twice as many.
MOST_POINTS = 200


def view(content: PageContent) -> PanelView | None:
    """Return the printed figures of each comparison, and the charts of differences.

    The answer is None without a baseline.
    """
    if not content.against:
        return None
    charts = {
        "difference": difference_chart(content),
        "waterfall": waterfall_chart(content),
    }
    reference = content.sheet.tables[content.sheet.baseline or 0]
    printed = {
        "reference": reference,
        "against": content.against,
        "allowed": metrics.in_points(metrics.DELTA),
        "together": str(content.sheet.compared.scope),
        "charts": charts,
    }
    drawn = {name: chart for name, chart in charts.items() if chart is not None}
    return PanelView(printed, drawn, title=f"Against {reference.name}")


def difference_chart(content: PageContent) -> Axes | None:
    """Draw each table's certified accuracy minus the baseline's, with its band.

    The answer is None where no comparison has a curve.
    """
    lines = [
        _difference_line(content, compared.row, compared.comparison.curve)
        for compared in content.against
        if compared.comparison.curve is not None
    ]
    if not lines:
        return None
    radius = radius_title(content.sheet.tables)
    # The panel around the chart has a heading, so the chart has no title.
    return Axes("", radius, "difference (points)", lines, zero_line=True)


def _difference_line(content: PageContent, row: int, curve: Difference) -> Line:
    step = max(1, len(curve.radii) // MOST_POINTS)
    return Line(
        content.sheet.tables[row].name,
        curve.radii[::step],
        np.round(100.0 * curve.value[::step], 2),
        # Points: the difference is known at particular radii only.
        "line" if curve.whole else "points",
        low=np.round(100.0 * curve.low[::step], 2),
        high=np.round(100.0 * curve.high[::step], 2),
        row=row,
        look=content.looks[row],
        hover="%{y:+.1f}",
    )


def waterfall_chart(content: PageContent) -> Axes | None:
    """Draw each table's gain or loss of ACR in each bin of the baseline's p_A."""
    lines = [
        _waterfall_bars(content, one.row, one.waterfall)
        for one in content.against
        if one.waterfall is not None
    ]
    if not lines:
        return None
    return Axes("", "p_A under the baseline", "part of the difference in ACR", lines)


def _waterfall_bars(content: PageContent, row: int, parts: Waterfall) -> Line:
    bins = [f"{low:g} to {high:g}" for low, high in pairwise(parts.edges)]
    return Line(
        content.sheet.tables[row].name,
        bins,
        parts.difference,
        "bars",
        row=row,
        look=content.looks[row],
        images=parts.images.tolist(),
        hover="%{y:+.4f} (%{customdata:,} images)",
    )
