"""The share of images with at least each p_A: the curve in which every image weighs the same."""

from randsmooth import metrics
from randsmooth.report.page.panels import PageContent, PanelView


def view(content: PageContent) -> PanelView:
    """The curves of the tables whose p_A is known; of the others, why it is not, and what would make it known."""
    tables, chart = content.sheet.tables, content.p_a_chart
    from_one_half = any(table.is_log and metrics.knows_p_a(table) for table in tables)
    own = len({table.header.noise_name for table in tables}) > 1
    printed = {"from_one_half": from_one_half, "drawn": chart is not None, "own": own}
    return PanelView(printed, {"p_a": chart} if chart else {})
