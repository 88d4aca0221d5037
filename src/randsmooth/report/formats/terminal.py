"""The table of a comparison as text for a terminal."""

import textwrap
from collections.abc import Iterator, Sequence

from randsmooth.escape import printable
from randsmooth.report.formats.legends import P_A_LEGEND, without_p_a_sentences
from randsmooth.report.layouts import aligned
from randsmooth.report.remarks import UNJUDGED
from randsmooth.report.sheet import Sheet, SheetColumn

SENTENCE_WIDTH = 110  # letters of a line of the sentence below the verdicts
LEGEND = "ACR and certified accuracy (%) at each {}; 95% intervals below the figures."
OUT_OF_REACH = (
    "A dash at a radius: the table's rule, noise, n and alpha certify no image there, "
    "whatever the classifier."
)


def to_text(sheet: Sheet) -> str:
    """Print two lines a table, its figures and their intervals; then the same for p_A.

    What the figures are stands above, what to know and the verdicts below.
    """
    images = ["images"]
    for table in sheet.tables:
        images += [f"{len(table):,}", ""]
    lines = [LEGEND.format(sheet.norm.title), ""]
    lines += _grid(sheet.titles, sheet.columns, images)

    below = []
    if any(column.out_of_reach for column in sheet.accuracy):
        below.append(OUT_OF_REACH)
    below += map(printable, sheet.remarks)
    if below:
        lines += ["", *below]

    if sheet.p_a_columns:
        lines += ["", P_A_LEGEND, "", *_grid(sheet.titles, sheet.p_a_columns)]
    lines += map(printable, without_p_a_sentences(sheet))
    lines += _verdict_lines(sheet)
    return "\n".join(lines) + "\n"


def _grid(
    titles: Sequence[str], columns: Sequence[SheetColumn], *first: list[str]
) -> list[str]:
    """Align two lines a title under the heads of the columns.

    Args:
        first: columns of cells, their heads included, that stand before the others.
    """
    names = ["name"]
    for title in titles:
        names += [title, ""]
    cells = [names, *first]
    for column in columns:
        of_column = [column.title]
        for figure, ends in zip(column.figures, column.ends, strict=True):
            of_column += [figure, "-".join(ends)]
        cells.append(of_column)
    sides = [False, *(True for _ in cells[1:])]
    return aligned(list(zip(*cells, strict=True)), sides)


def _verdict_lines(sheet: Sheet) -> Iterator[str]:
    """Say in a line each how the tables stand to the baseline.

    Where there is none, say how it is named.
    """
    if sheet.baseline is None:
        if len(sheet.tables) > 1:
            yield from ("", UNJUDGED)
        return
    against, refused = sheet.compared
    verdicts = {sheet.tables[one.row].name: str(one.comparison) for one in against}
    verdicts |= refused
    if not verdicts:
        return
    yield ""
    yield f"Certified accuracy against {sheet.tables[sheet.baseline].name}:"
    for line in aligned([[f"{name} ", words] for name, words in verdicts.items()]):
        yield f"  {line}"
    if against:
        yield from textwrap.wrap(str(against[0].comparison.scope), SENTENCE_WIDTH)
