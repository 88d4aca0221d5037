"""The table of certified accuracy and ACR.

Bold and grey mark figures that differ from the baseline's beyond chance.
"""

from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.remarks import in_print


def view(content: PageContent) -> PanelView:
    """Return the remarks, the columns, and the signs of differences (see `Sheet.shown`).

    The template also needs to know whether any table was compared: it explains bold and
    grey only then.
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
