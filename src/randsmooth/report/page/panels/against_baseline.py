"""Each table against the baseline: verdict, paired differences, and ACR by p_A."""

from itertools import pairwise

import numpy as np

from randsmooth import metrics
from randsmooth.metrics import Difference, Waterfall
from randsmooth.number_text import signed
from randsmooth.report.charts import Axes, Line
from randsmooth.report.curves import radius_title
from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.printed import acr_decimals

# Of a curve of differences with more points, only every second, third, ... is drawn, so
# that fewer than twice this number remain.
MOST_POINTS = 200


def view(content: PageContent) -> PanelView | None:
    """Return the printed figures of each comparison, and the charts of differences.

    The answer is None where no table was compared with a baseline.
    """
    if not content.against:
        return None
    assert content.sheet.baseline is not None, "tables were compared with it"
    charts = {
        "difference": difference_chart(content),
        "waterfall": waterfall_chart(content),
    }
    reference = content.sheet.tables[content.sheet.baseline]
    printed = {
        "reference": reference,
        "against": content.against,
        # The difference in certified accuracy up to which two tables count as equal.
        "allowed": metrics.in_points(metrics.DELTA),
        "together": str(content.sheet.compared.scope),
        "charts": charts,
        "acr_decimals": acr_decimals(reference.norm),
        # The printer of differences, as everywhere.
        "signed_number": signed,
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
    return Axes(
        title="", x=radius, y="difference (points)", lines=lines, zero_line=True
    )


def _difference_line(content: PageContent, row: int, curve: Difference) -> Line:
    """Return the line of the table in one row of the sheet."""
    step = max(1, len(curve.radii) // MOST_POINTS)
    return Line(
        content.sheet.tables[row].name,
        curve.radii[::step],
        np.round(100.0 * curve.value[::step], 2),
        # A curve that is not whole is known at particular radii only.
        "line" if curve.whole else "points",
        low=np.round(100.0 * curve.low[::step], 2),
        high=np.round(100.0 * curve.high[::step], 2),
        row=row,
        look=content.looks[row],
        hover="%{text}",
        figures=[signed(100.0 * value, decimals=1) for value in curve.value[::step]],
    )


def waterfall_chart(content: PageContent) -> Axes | None:
    """Draw each table's gain or loss of ACR in each bin of the baseline's p_A.

    The answer is None where the difference in ACR of no table is known by p_A.
    """
    lines = [
        _waterfall_bars(content, compared.row, compared.waterfall)
        for compared in content.against
        if compared.waterfall is not None
    ]
    if not lines:
        return None
    # The panel around the chart has a heading, so the chart has no title.
    return Axes(
        title="",
        x="p_A under the baseline",
        y="part of the difference in ACR",
        lines=lines,
    )


def _waterfall_bars(content: PageContent, row: int, parts: Waterfall) -> Line:
    """Return the bars of the table in one row of the sheet."""
    bins = [f"{low:g} to {high:g}" for low, high in pairwise(parts.edges)]
    table = content.sheet.tables[row]
    # One more decimal than ACR has: a bar is a part of a difference.
    decimals = acr_decimals(table.norm) + 1
    return Line(
        table.name,
        bins,
        parts.difference,
        "bars",
        row=row,
        look=content.looks[row],
        images=parts.images.tolist(),
        hover=f"%{{y:+.{decimals}f}} (%{{customdata:,}} images)",
    )
