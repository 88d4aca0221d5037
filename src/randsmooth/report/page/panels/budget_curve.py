"""ACR as it would be with fewer samples per image: the order of two methods may depend on n."""

from __future__ import annotations

from randsmooth.report.charts import Chart, Scale, Series
from randsmooth.report.curves import budget_curves
from randsmooth.report.page.panels import PageContent, PanelView


def view(content: PageContent) -> PanelView | None:
    """The curves in expectation over the stored samples; None where no table allows one.

    A table of a sequential rule, or a log without its settings, has no curve; the sheet's remarks say so.
    """
    series = []
    for row, curve in enumerate(budget_curves(content.sheet.tables)):
        if curve is not None:
            name, look = content.sheet.tables[row].name, content.looks[row]
            series.append(Series(row, name, look, curve.n, curve.acr, kind="marked line", hover="%{y:.3f}"))
    if not series:
        return None
    return PanelView(
        charts={"budget": Chart(Scale("samples per image, n", log=True, hover=",d"), Scale("ACR"), series)}
    )
