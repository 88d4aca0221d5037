"""ACR as it would be with fewer samples per image: the order of methods may depend on n."""

from randsmooth.report.charts import Axes, Line
from randsmooth.report.curves import budget_curve
from randsmooth.report.page.panel import PageContent, PanelView


def view(content: PageContent) -> PanelView | None:
    """Return the curves in expectation over the stored samples.

    A table of a sequential rule, or a log without its settings, has no curve; the
    sheet's remarks say so. The answer is None where no table has one.
    """
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
                hover="%{y:.3f}",
            )
        )
    if not lines:
        return None
    chart = Axes("", "samples per image, n", "ACR", lines, log_x=True, hover=",d")
    return PanelView(charts={"budget": chart}, title="ACR and the budget")
