"""The table of a comparison in LaTeX."""

from randsmooth import escape
from randsmooth.report.formats.legends import figure_sides, legend, marked_rows
from randsmooth.report.layouts import tabular
from randsmooth.report.sheet import UNKNOWN_FIGURE, Sheet


def to_latex(sheet: Sheet) -> str:
    r"""Print a tabular that needs only xcolor, and what its marks mean.

    It has \textbf above the baseline, and \textcolor{gray} below.
    """
    titles = ["Method", "Images"]
    for column in sheet.p_a_columns:
        titles.append(rf"$p_A \geq {column.title.partition('=')[2]}$")
    titles.append("ACR")
    titles += [column.title for column in sheet.accuracy]
    titles.append("Abstain")
    rows = marked_rows(
        sheet,
        title=escape.latex,
        images="d",
        mark=_marked,
        interval=r" {{\scriptsize [{}]}}",
    )
    below = [escape.latex(sentence) for sentence in legend(sheet, "gray")]
    lines = [
        r"% needs \usepackage{xcolor}",
        *tabular([titles, *rows], figure_sides(titles)),
        r"{\par\smallskip\footnotesize",
        *below,
        r"\par}",
    ]
    return "\n".join(lines) + "\n"


def _marked(figure: str, above: int) -> str:
    printed = figure.replace(UNKNOWN_FIGURE, "--")
    if above > 0:
        return rf"\textbf{{{printed}}}"
    if above < 0:
        return rf"\textcolor{{gray}}{{{printed}}}"
    return printed
