"""The table of certified accuracy and ACR; bold and grey mark what differs from the baseline beyond chance."""

from __future__ import annotations

from randsmooth.report.page.panels import PageContent, PanelView


def view(content: PageContent) -> PanelView:
    """The columns, and at [row][column] 1 or -1 where a figure is shown to be above or below the baseline's."""
    sheet = content.sheet
    columns = [sheet.acr, *sheet.accuracy, sheet.abstention]
    shown = [[0] * len(columns) for _ in sheet.tables]
    for one in content.against:
        accuracy = [at.shown if at else 0 for at in one.points]
        shown[one.row] = [one.comparison.acr_shown, *accuracy, 0]
    return PanelView({"columns": columns, "shown": shown})
