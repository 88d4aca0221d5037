r"""The sheet as a LaTeX tabular: best \textbf, second \underline, below the baseline \textcolor{gray}."""

from __future__ import annotations

from randsmooth.escape import latex, printable
from randsmooth.report.sheet.columns import UNKNOWN_FIGURE, Column
from randsmooth.report.sheet.content import Sheet


def render(sheet: Sheet) -> str:
    """A tabular that needs only xcolor."""
    titles = ["Method", "Images", "ACR", *(column.title for column in sheet.accuracy), "Abstain"]
    rows = [_row(sheet, row) for row in range(len(sheet.tables))]
    return "\n".join(
        [
            r"% needs \usepackage{xcolor}; certified accuracy in % at each radius, ACR with its 95% interval",
            "% bold: best, underlined: second best, gray: below the baseline; as printed, which is no test",
            *(f"% {printable(remark)}" for remark in sheet.remarks),
            rf"\begin{{tabular}}{{l{'r' * (len(titles) - 1)}}}",
            r"\hline",
            rf"{' & '.join(titles)} \\",
            r"\hline",
            *(rf"{' & '.join(cells)} \\" for cells in rows),
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


def _row(sheet: Sheet, row: int) -> list[str]:
    table = sheet.tables[row]
    interval = rf" {{\scriptsize [{', '.join(sheet.acr.ends[row])}]}}" if sheet.acr.ends[row] else ""
    cells = [latex(sheet.titles[row]), f"{len(table)}", f"{_cell(sheet.acr, row)}{interval}"]
    return cells + [_cell(column, row) for column in [*sheet.accuracy, sheet.abstention]]


def _cell(column: Column, row: int) -> str:
    text, mark = column.figures[row].replace(UNKNOWN_FIGURE, "--"), column.marks[row]
    if mark.best:
        text = rf"\textbf{{{text}}}"
    elif mark.second:
        text = rf"\underline{{{text}}}"
    return rf"\textcolor{{gray}}{{{text}}}" if mark.below else text
