"""What was checked of the tables, before anything is said of them."""

from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.remarks import in_print


def view(content: PageContent) -> PanelView | None:
    """Return a line for each failed check, and one for each kind that passed."""
    block = content.sheet.check_block
    if not block.is_shown:
        return None
    return PanelView({"lines": block.lines, "notes": [*map(in_print, block.notes)]})
