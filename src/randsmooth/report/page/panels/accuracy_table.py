"""The table of certified accuracy and ACR.

Bold and grey mark what differs from the baseline beyond chance.
"""

from randsmooth.report.page.panel import PageContent, PanelView


def view(content: PageContent) -> PanelView:
    """Return the columns, and which of their figures are shown to differ.

    See `Sheet.shown`; the template has to know whether any were compared, too.
    """
    return PanelView(
        {
            "columns": content.sheet.columns,
            "shown": content.sheet.shown,
            "compared": bool(content.against),
        }
    )
