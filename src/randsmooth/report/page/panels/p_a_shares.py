"""The share of images with at least each p_A, in which every image weighs the same."""

from randsmooth import metrics
from randsmooth.report.page.panel import PageContent, PanelView


def view(content: PageContent) -> PanelView:
    """Return the curves of the tables with a known p_A.

    For each other table the template says why p_A is not known, and what would help.
    """
    tables = content.sheet.tables
    chart = content.p_a_chart
    # Two sigmas are two noises.
    noises = {table.header.noise for table in tables}
    printed = {
        # Whether a curve begins at 1/2, since a log tells no smaller p_A.
        "from_one_half": any(
            table.is_log and metrics.knows_p_a(table) for table in tables
        ),
        "drawn": chart is not None,
        # Whether the curves are of p_A under different noises.
        "noises_differ": len(noises) > 1,
    }
    charts = {} if chart is None else {"p_a": chart}
    return PanelView(printed, charts, title="Share of images by p_A")
