"""The table of certified accuracy and ACR.

Bold and italic mark figures that differ from the baseline's beyond chance.
"""

from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.remarks import in_print


def view(content: PageContent) -> PanelView:
    """Return the remarks on the table, its columns, and whether figures are bold or italic.

    Remarks are text, which names a setting without the syntax of Python or of the command
    line. "shown" has for each figure, at [row][column], 1 if it is shown to be above the
    baseline's (bold), -1 if below (italic), and else 0.

    The template also needs to know whether any table was compared: it explains bold and
    italic only then.
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
