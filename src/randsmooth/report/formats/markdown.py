"""A comparison in Markdown: checks, answer, evidence."""

from randsmooth import escape
from randsmooth.report.answer import (
    DIFFERENCE_COLUMN,
    Answer,
)
from randsmooth.report.checks import HEADING as CHECKS_HEADING
from randsmooth.report.formats.legends import figure_sides, legend, marked_rows
from randsmooth.report.headings import EVIDENCE_HEADING
from randsmooth.report.layouts import pipes
from randsmooth.report.remarks import in_print
from randsmooth.report.sheet import Sheet


def to_markdown(sheet: Sheet) -> str:
    """Return the checks, the answer, and as evidence a pipe table with a legend.

    Figures that are shown to be above the baseline are bold, those below it italic.
    """
    titles = ["name", "images"]
    titles += [f"p_A ≥ {level:g}" for level in sheet.p_a_levels]
    titles.append("ACR [95%]")
    titles += [column.title for column in sheet.accuracy]
    titles += [column.title for column in sheet.unjudged]
    rows = marked_rows(
        sheet, title=escape.markdown, images=",", mark=_marked, interval=" [{}]"
    )
    lines = pipes([titles, *rows], figure_sides(titles))
    legend_line = " ".join(legend(sheet, "italic", escape.markdown))
    blocks = [
        *_check_lines(sheet),
        *_answer_lines(sheet.answer),
        f"{EVIDENCE_HEADING}:",
        "",
        *lines,
        "",
        legend_line,
    ]
    return "\n".join(blocks) + "\n"


def _answer_lines(answer: Answer) -> list[str]:
    """Print the sentence and the narrow table of the answer."""
    rows = [[*map(escape.markdown, cells)] for cells in answer.cells]
    for cells, row in zip(rows, answer.rows, strict=True):
        # A single table has no such column, and shows nothing.
        if row.shown:
            cells[DIFFERENCE_COLUMN] = _marked(cells[DIFFERENCE_COLUMN], row.shown)
    head = [*map(escape.markdown, answer.head)]
    below = " ".join([answer.legend, *answer.limits])
    return [
        f"{escape.markdown(answer.heading)}:",
        "",
        escape.markdown(in_print(answer)),
        "",
        *pipes([head, *rows], figure_sides(head)),
        "",
        escape.markdown(below),
        "",
    ]


def _check_lines(sheet: Sheet) -> list[str]:
    """Print the checks as a list, and below them what they do not see."""
    block = sheet.check_block
    if not block.is_shown:
        return []
    lines = [f"{CHECKS_HEADING}:", ""]
    for line in block.lines:
        lines.append(f"- {line.mark} {escape.markdown(line.sentence)}")
    below = " ".join(map(in_print, block.notes))
    return [*lines, "", escape.markdown(below), ""]


def _marked(figure: str, above: int) -> str:
    """Mark a figure above the baseline (1), below it (-1), or neither (0)."""
    if above > 0:
        return f"**{figure}**"
    if above < 0:
        return f"*{figure}*"
    return figure
