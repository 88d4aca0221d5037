"""The table of certified accuracy and ACR; bold and grey mark what differs from the baseline beyond chance."""

from randsmooth.report.page.panels import PageContent, PanelView


def view(content: PageContent) -> PanelView:
    """The columns, which of their figures are shown to differ (see `Sheet.shown`), and whether any was compared."""
    sheet = content.sheet
    return PanelView(
        {
            "columns": sheet.columns,
            "shown": sheet.shown,
            "compared": bool(content.against),
        }
    )
