"""The table of certified accuracy and ACR.

Bold and grey mark what differs from the baseline beyond chance.
"""

from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.remarks import in_print


def view(content: PageContent) -> PanelView:
    """Return the remarks, the columns, and which of their figures are shown to differ.

    See `Sheet.shown`; the template has to know whether any were compared, too.
    """
    return PanelView(
        {
            "remarks": [in_print(remark) for remark in content.sheet.remarks],
            "columns": content.sheet.columns,
            "shown": content.sheet.shown,
            "compared": bool(content.against),
        },
        title="Certified accuracy and ACR",
    )
