"""The table of certified accuracy and ACR; bold and grey mark what differs from the baseline beyond chance."""

from randsmooth.report.page.panels import PageContent, PanelView
from randsmooth.report.sheet import shown_apart


def view(content: PageContent) -> PanelView:
    """The columns, which of their figures are shown to differ (see `shown_apart`), and whether any was compared."""
    shown = shown_apart(content.sheet, content.against)
    return PanelView({"columns": content.sheet.columns, "shown": shown, "compared": bool(content.against)})
