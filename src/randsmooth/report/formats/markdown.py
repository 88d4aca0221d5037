"""The table of a comparison in Markdown."""

from randsmooth import escape
from randsmooth.report.formats.legends import figure_sides, legend, marked_rows
from randsmooth.report.layouts import pipes
from randsmooth.report.sheet import Sheet


def to_markdown(sheet: Sheet) -> str:
    """Print a pipe table.

    What is shown to be above the baseline is bold, what is shown to be below it italic.
    """
    titles = ["name", "images"]
    for column in sheet.p_a_columns:
        titles.append(f"p_A ≥ {column.title.partition('=')[2]}")
    titles.append("ACR [95%]")
    titles += [column.title for column in sheet.accuracy]
    titles.append("abstain")
    rows = marked_rows(
        sheet, title=escape.markdown, images=",", mark=_marked, interval=" [{}]"
    )
    lines = pipes([titles, *rows], figure_sides(titles))
    below = " ".join(legend(sheet, "italic", escape.markdown))
    return "\n".join([*lines, "", below]) + "\n"


def _marked(figure: str, above: int) -> str:
    if above > 0:
        return f"**{figure}**"
    if above < 0:
        return f"*{figure}*"
    return figure
