"""The sheet as a Markdown table: best in bold, second best underlined."""

from __future__ import annotations

from randsmooth.escape import markdown
from randsmooth.report.sheet.columns import Column
from randsmooth.report.sheet.content import Sheet


def render(sheet: Sheet) -> str:
    """A pipe table, with what the marks mean below it."""
    titles = ["name", "images", "ACR [95%]", *(f"{c.title}" for c in sheet.accuracy), "abstain"]
    lines = [_row(titles), _row(["---", *["---:"] * (len(titles) - 1)])]
    for row, table in enumerate(sheet.tables):
        cells = [
            markdown(sheet.titles[row]),
            f"{len(table):,}",
            f"{_cell(sheet.acr, row)} {_interval(sheet.acr, row)}".rstrip(),
        ]
        cells += [_cell(column, row) for column in [*sheet.accuracy, sheet.abstention]]
        lines.append(_row(cells))
    legend = "Certified accuracy in % at each L2 radius. Best in bold, second best underlined, as printed (no test)."
    return "\n".join([*lines, "", " ".join([legend, *map(markdown, sheet.remarks)])]) + "\n"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(column: Column, row: int) -> str:
    figure, mark = column.figures[row], column.marks[row]
    if mark.best:
        return f"**{figure}**"
    return f"<u>{figure}</u>" if mark.second else figure


def _interval(column: Column, row: int) -> str:
    return f"[{', '.join(column.ends[row])}]" if column.ends[row] else ""
