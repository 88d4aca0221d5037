"""The share of images with at least each p_A: in this curve every image weighs the same."""

from randsmooth import metrics
from randsmooth.report.page.panel import PageContent, PanelView


def view(content: PageContent) -> PanelView:
    """Return the curves of the tables with a known p_A.

    Of the others the template says why it is not, and what would make it known.
    """
    tables = content.sheet.tables
    chart = content.p_a_chart
    noises = {table.header.noise for table in tables}
    printed = {
        "from_one_half": any(
            table.is_log and metrics.knows_p_a(table) for table in tables
        ),
        "drawn": chart is not None,
        "own": len(noises) > 1,
    }
    charts = {} if chart is None else {"p_a": chart}
    return PanelView(printed, charts, title="Share of images by p_A")
