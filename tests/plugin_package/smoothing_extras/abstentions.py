"""How often each table abstains: a figure that certified accuracy hides among the wrong answers."""

from randsmooth import metrics
from randsmooth.report import PageContent, PanelView


def view(content: PageContent) -> PanelView:
    """The share of abstentions of each table, in percent."""
    shares = [metrics.abstention(table).value for table in content.sheet.tables]
    return PanelView({"shares": [f"{100.0 * share:.1f}" for share in shares]})
