"""The table of a comparison in LaTeX."""

from randsmooth import escape
from randsmooth.report.formats.legends import figure_sides, legend, marked_rows
from randsmooth.report.layouts import tabular
from randsmooth.report.printed import UNKNOWN_FIGURE
from randsmooth.report.sheet import Sheet


def to_latex(sheet: Sheet) -> str:
    r"""Return a tabular that needs only xcolor, and a legend of its marks.

    Figures that are shown to be above the baseline are in \textbf, those below it in
    \textcolor{gray}.
    """
    titles = ["Method", "Images"]
    titles += [rf"$p_A \geq {level:g}$" for level in sheet.p_a_levels]
    titles.append("ACR")
    titles += [column.title for column in sheet.accuracy]
    titles.append("Abstain")
    rows = marked_rows(
        sheet,
        title=escape.latex,
        images="d",
        mark=_marked,
        # A template: {{ stands for {, and {} for the ends of the interval.
        interval=r" {{\scriptsize [{}]}}",
    )
    legend_lines = [
        escape.latex(sentence) for sentence in legend(sheet, "gray", provenance=False)
    ]
    lines = [
        r"% needs \usepackage{xcolor}",
        *tabular([titles, *rows], figure_sides(titles)),
        r"{\par\smallskip\footnotesize",
        *legend_lines,
        r"\par}",
    ]
    return "\n".join(lines) + "\n"


def _marked(figure: str, above: int) -> str:
    """Mark a figure above the baseline (1), below it (-1), or neither (0)."""
    printed = figure.replace(UNKNOWN_FIGURE, "--")
    if above > 0:
        return rf"\textbf{{{printed}}}"
    if above < 0:
        return rf"\textcolor{{gray}}{{{printed}}}"
    return printed
