"""ACR as it would be with fewer samples per image: the order of two methods may depend on n."""

from randsmooth.report.charts import Axes, Line
from randsmooth.report.curves import budget_curve
from randsmooth.report.page.panels import PageContent, PanelView


def view(content: PageContent) -> PanelView | None:
    """The curves in expectation over the stored samples; None where no table allows one.

    A table of a sequential rule, or a log without its settings, has no curve; the sheet's remarks say so.
    """
    lines = [
        Line(table.name, *curve, "marked line", look=look, row=row, hover="%{y:.3f}")
        for row, (table, look) in enumerate(
            zip(content.sheet.tables, content.looks, strict=True)
        )
        if (curve := budget_curve(table)) is not None
    ]
    if not lines:
        return None
    return PanelView(
        charts={
            "budget": Axes(
                "", "samples per image, n", "ACR", lines, log_x=True, hover=",d"
            )
        }
    )
