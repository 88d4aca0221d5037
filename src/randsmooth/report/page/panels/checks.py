"""What was checked of the tables, before anything is said of them."""

from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.remarks import in_print


def view(content: PageContent) -> PanelView | None:
    """Return a line for each failed check, and one for each kind that passed."""
    sheet = content.sheet
    lines = sheet.check_lines
    if not lines:
        return None
    return PanelView({"lines": lines, "notes": [*map(in_print, sheet.check_notes)]})
