"""The table of a comparison as text for a terminal."""

import textwrap
from collections.abc import Iterator, Sequence

from randsmooth.escape import LONG, printable, shortened
from randsmooth.notes import Note
from randsmooth.progress import worded
from randsmooth.report.formats.legends import P_A_LEGEND, without_p_a_sentences
from randsmooth.report.layouts import aligned
from randsmooth.report.sheet import Sheet, SheetColumn

# Letters in a line of the sentence below the verdicts.
SENTENCE_WIDTH = 110
LEGEND = "ACR and certified accuracy (%) at each {}; 95% intervals below the figures."
OUT_OF_REACH = (
    "A dash at a radius: the table's rule, noise, n and alpha certify no image there, "
    "whatever the classifier."
)


def to_text(sheet: Sheet) -> str:
    """Return the sheet as text: the checks, the verdicts, and two lines a table.

    The lines of a table are its figures and their intervals. A second grid does the
    same for p_A. A legend stands above the first grid, and remarks stand below it.
    """
    images = ["images"]
    for table in sheet.tables:
        images += [f"{len(table):,}", ""]
    lines = sheet.check_text()
    if lines:
        lines.append("")
    lines += _verdict_lines(sheet)
    lines += [LEGEND.format(sheet.norm.title), ""]
    lines += _grid(sheet.titles, sheet.columns, images)

    remarks = []
    if any(column.out_of_reach for column in sheet.accuracy):
        remarks.append(OUT_OF_REACH)
    remarks += [shortened(worded(remark), LONG) for remark in sheet.remarks]
    if remarks:
        lines += ["", *remarks]

    if sheet.p_a_columns:
        lines += ["", P_A_LEGEND, "", *_grid(sheet.titles, sheet.p_a_columns)]
    lines += map(printable, without_p_a_sentences(sheet, worded))
    return "\n".join(lines) + "\n"


def _grid(
    titles: Sequence[str], columns: Sequence[SheetColumn], *leading: list[str]
) -> list[str]:
    """Align the columns: a line of heads, then two lines for each title.

    The first line of a title has its figures, the second their intervals.

    Args:
        leading: columns of cells, heads included, that stand between the names and
            the `columns`.
    """
    names = ["name"]
    for title in titles:
        names += [title, ""]
    columns_of_cells = [names, *leading]
    for column in columns:
        cells = [column.title]
        for figure, ends in zip(column.figures, column.ends, strict=True):
            cells += [figure, "-".join(ends)]
        columns_of_cells.append(cells)

    # The names stand to the left, all figures to the right.
    holds_figures = [True] * len(columns_of_cells)
    holds_figures[0] = False
    rows = list(zip(*columns_of_cells, strict=True))
    return aligned(rows, holds_figures)


def _verdict_lines(sheet: Sheet) -> Iterator[str]:
    """Yield a line for each other table: better or worse than the baseline, or neither.

    A table that cannot be compared has the reason in its line. Where several tables
    have no baseline, one line tells how to name it.
    """
    if sheet.baseline is None:
        if len(sheet.tables) > 1:
            yield worded(Note("no_baseline"))
            yield ""
        return

    verdicts = {}
    for compared in sheet.compared.against:
        verdicts[sheet.tables[compared.row].name] = str(compared.comparison)
    verdicts |= sheet.compared.refused
    if not verdicts:
        return

    yield f"Certified accuracy against {sheet.tables[sheet.baseline].name}:"
    # The space behind a name makes the gap between the two columns two spaces wide.
    cells = [[f"{name} ", verdict] for name, verdict in verdicts.items()]
    for line in aligned(cells):
        yield f"  {line}"

    scope = sheet.compared.scope
    if scope is not None:
        yield from textwrap.wrap(str(scope), SENTENCE_WIDTH)
    yield ""
