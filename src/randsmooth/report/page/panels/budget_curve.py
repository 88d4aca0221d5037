"""ACR with fewer samples per image, since the order of methods may depend on n."""

from randsmooth.report.charts import Axes, Line
from randsmooth.report.curves import budget_curve
from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.printed import acr_decimals


def view(content: PageContent) -> PanelView | None:
    """Return each table's curve of ACR against n, or None where no table has a curve.

    ACR is the expectation over choices of n stored samples. A table of a sequential rule
    has no curve, nor has a log without its settings: the remarks of the sheet say so.
    """
    # The decimals that tables of the page have of the same ACR.
    hover = f"%{{y:.{acr_decimals(content.sheet.tables[0].norm)}f}}"
    lines = []
    for row, table in enumerate(content.sheet.tables):
        curve = budget_curve(table)
        if curve is None:
            continue
        samples, acrs = curve
        lines.append(
            Line(
                table.name,
                samples,
                acrs,
                "marked line",
                look=content.looks[row],
                row=row,
                hover=hover,
            )
        )
    if not lines:
        return None
    # The panel around the chart has a heading, so the chart has no title.
    chart = Axes(
        title="",
        x="samples per image, n",
        y="ACR",
        lines=lines,
        log_x=True,
        hover=",d",
    )
    return PanelView(charts={"budget": chart}, title="ACR and the budget")
