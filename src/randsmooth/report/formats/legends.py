"""What the formats that people read have in common: legends and rows of marked cells."""

from collections.abc import Callable, Iterator

from randsmooth.escape import printable
from randsmooth.metrics import UnknownProbabilities
from randsmooth.notes import Note
from randsmooth.report.remarks import in_print
from randsmooth.report.sheet import Sheet

# The sentence that explains the columns of p_A.
P_A_LEGEND = (
    "Share of images (%) whose p_A, the label's probability under noise, "
    "is at least x: every image weighs the same."
)


# The sentence that explains the column of declined images.
DECLINED_LEGEND = (
    "Declined: certified as declined, a class of its own. Such an image is neither right "
    "nor wrong: accuracy and ACR count it as not right."
)


def without_p_a_sentences(
    sheet: Sheet, word: Callable[[UnknownProbabilities], str] = str
) -> list[str]:
    """Return a sentence for each reason why p_A of tables is not known.

    Args:
        word: the function that puts the reason and the remedy into words.
    """
    return [
        f"p_A of {', '.join(names)} is not known: {word(unknown)}."
        for unknown, names in sheet.without_p_a.items()
    ]


def legend(
    sheet: Sheet,
    below: str,
    escaped: Callable[[str], str] = printable,
) -> Iterator[str]:
    """Yield sentences on the figures and marks, and remarks before they are compared.

    Args:
        sheet: the tables and their figures.
        below: the name of the mark, such as "italic", of a figure that is shown to be
            below the baseline.
        escaped: the function that makes a name from a file safe in the format.
    """
    unit = sheet.norm.title
    yield (
        f"ACR is the mean {unit}, with its 95% interval; "
        f"certified accuracy in % at each {unit}."
    )
    yield escaped(f"Judged with {sheet.shared}.")
    if len(sheet.tables) > 1:
        yield _marks_legend(sheet, below, escaped)
    if sheet.p_a_columns:
        yield P_A_LEGEND
    if sheet.declined is not None:
        yield DECLINED_LEGEND
    remarks = map(in_print, sheet.remarks)
    for sentence in (*remarks, *without_p_a_sentences(sheet)):
        yield escaped(sentence)


def _marks_legend(sheet: Sheet, below: str, escaped: Callable[[str], str]) -> str:
    """Return the sentence on the marks, or that no baseline was found."""
    if sheet.baseline is None:
        return in_print(Note("no_baseline"))
    name = escaped(sheet.tables[sheet.baseline].name)
    others = ["p_A"] if sheet.p_a_columns else []
    if sheet.declined is not None:
        others.append("declined")
    unjudged = "abstention (%) is"
    if others:
        unjudged = f"{', '.join(others)} and abstention (%) are"
    return (
        f"Bold: shown to be above {name}, {below}: shown to be below it, "
        f"all at once with 95% confidence; {unjudged} not judged."
    )


def marked_rows(
    sheet: Sheet,
    *,
    title: Callable[[str], str],
    images: str,
    mark: Callable[[str, int], str],
    interval: str,
) -> list[list[str]]:
    """Return the cells of each table as a row.

    They are title, number of images, shares by p_A, ACR with its interval, and the other
    columns of the sheet.

    Args:
        sheet: the tables and their figures.
        title: the function that makes the title of a row safe in the format.
        images: the format specification of the number of images, such as ",".
        mark: the function that marks a figure, given whether it is shown to be above the
            baseline (1), below it (-1), or neither (0).
        interval: the template for the interval of ACR, with {} for its ends.
    """
    rows = []
    shown = sheet.shown
    for row, table in enumerate(sheet.tables):
        cells = [title(sheet.titles[row]), format(len(table), images)]
        for column in sheet.p_a_columns:
            # Shares by p_A are not judged.
            cells.append(mark(column.figures[row], 0))
        acr = mark(sheet.acr.figures[row], shown[row][0])
        if sheet.acr.ends[row]:
            acr += interval.format(", ".join(sheet.acr.ends[row]))
        cells.append(acr)
        others = sheet.columns[1:]
        for column, above in zip(others, shown[row][1:], strict=True):
            cells.append(mark(column.figures[row], above))
        rows.append(cells)
    return rows


def figure_sides(titles: list[str]) -> list[bool]:
    """Return whether each column holds figures: all but the first, which has names."""
    return [False, *(True for _ in titles[1:])]
