"""The table of a comparison in Markdown."""

from randsmooth import escape
from randsmooth.report.checks import HEADING
from randsmooth.report.formats.legends import figure_sides, legend, marked_rows
from randsmooth.report.layouts import pipes
from randsmooth.report.remarks import in_print
from randsmooth.report.sheet import Sheet


def to_markdown(sheet: Sheet) -> str:
    """Return a pipe table, and a legend of its marks.

    Figures that are shown to be above the baseline are bold, those below it italic.
    """
    titles = ["name", "images"]
    titles += [f"p_A ≥ {level:g}" for level in sheet.p_a_levels]
    titles.append("ACR [95%]")
    titles += [column.title for column in sheet.accuracy]
    titles.append("abstain")
    rows = marked_rows(
        sheet, title=escape.markdown, images=",", mark=_marked, interval=" [{}]"
    )
    lines = pipes([titles, *rows], figure_sides(titles))
    legend_line = " ".join(legend(sheet, "italic", escape.markdown))
    return "\n".join([*_check_lines(sheet), *lines, "", legend_line]) + "\n"


def _check_lines(sheet: Sheet) -> list[str]:
    """Print the checks as a list, and below them what they do not see."""
    if not sheet.check_lines:
        return []
    lines = [f"{HEADING}:", ""]
    for line in sheet.check_lines:
        lines.append(f"- {line.mark} {escape.markdown(line.sentence)}")
    below = " ".join(map(in_print, sheet.check_notes))
    return [*lines, "", escape.markdown(below), ""]


def _marked(figure: str, above: int) -> str:
    """Mark a figure above the baseline (1), below it (-1), or neither (0)."""
    if above > 0:
        return f"**{figure}**"
    if above < 0:
        return f"*{figure}*"
    return figure
