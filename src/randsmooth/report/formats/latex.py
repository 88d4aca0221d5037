"""The table of a comparison in LaTeX."""

from collections.abc import Sequence

from randsmooth import escape
from randsmooth.metrics import Estimate
from randsmooth.number_text import half_up
from randsmooth.report.formats.legends import figure_sides
from randsmooth.report.latex_table import Span, floating_table, label_of
from randsmooth.report.printed import UNKNOWN_FIGURE
from randsmooth.report.ranking_radius import LEVEL_BESIDE
from randsmooth.report.sheet import Sheet, SheetColumn

# Marks the baseline: a word would widen the table.
STAR = "$^*$"
# Marks a table that failed a check.
DAGGER = r"$^\dagger$"


def to_latex(sheet: Sheet) -> str:
    r"""Return a floating table that needs only booktabs.

    It has certified accuracy at the radii of the sheet, the share of images with p_A of
    at least LEVEL_BESIDE, and ACR. Figures that are shown to be above the baseline are
    in \textbf, those below it in \textit. A table that failed a check has a dagger, and
    the caption says what failed. The remarks of the sheet are left out.
    """
    shares = _shares_of_p_a(sheet)
    images = _images(sheet)
    titles = ["Method"]
    if images:
        titles.append("Images")
    span = Span(
        rf"Accuracy (\%) at {escape.latex(sheet.norm.radius)}",
        first=len(titles),
        columns=len(sheet.accuracy),
    )
    titles += [escape.latex(column.title) for column in sheet.accuracy]
    if shares is not None:
        titles.append(rf"$p_A \geq {LEVEL_BESIDE:g}$")
    titles.append("ACR")

    rows = []
    for row, title in enumerate(sheet.titles):
        # The unjudged columns, whose signs come last, are left out here.
        acr_shown, *signs = sheet.shown[row]
        shown = signs[: len(sheet.accuracy)]
        cells = [_row_name(sheet, row, title)]
        if images:
            cells.append(images[row])
        for column, above in zip(sheet.accuracy, shown, strict=True):
            cells.append(_marked(column.figures[row], above))
        if shares is not None:
            # Shares by p_A are not judged.
            cells.append(_marked(shares.figures[row], above=0))
        cells.append(_marked(sheet.acr.figures[row], acr_shown))
        rows.append(cells)
    lines = floating_table(
        [titles, *rows],
        figure_sides(titles),
        _caption(sheet),
        span,
        label=_label(sheet),
    )
    return "\n".join(lines) + "\n"


def _row_name(sheet: Sheet, row: int, title: str) -> str:
    """Return the name of a row, marked if it is the baseline or failed a check."""
    name = escape.latex(title)
    if sheet.tables[row].name in sheet.check_block.failed:
        name += DAGGER
    if row == sheet.baseline and sheet.compared.against:
        name += STAR
    return name


def _label(sheet: Sheet) -> str:
    """Return a label that tells apart the tables of several data sets and noises."""
    datasets = {table.header.dataset or "" for table in sheet.tables}
    noises = {table.header.noise_title for table in sheet.tables}
    # What differs from row to row is no name of the table.
    shared = [words.pop() for words in (datasets, noises) if len(words) == 1]
    return label_of("certified", *shared)


def _images(sheet: Sheet) -> list[str]:
    """Return the number of images of each table; an empty list where all are equal."""
    numbers = [f"{len(table):,}" for table in sheet.tables]
    return numbers if len(set(numbers)) > 1 else []


def _shares_of_p_a(sheet: Sheet) -> SheetColumn | None:
    """Return the column of LEVEL_BESIDE; None where p_A is known for no table."""
    columns = dict(zip(sheet.p_a_levels, sheet.p_a_columns, strict=True))
    return columns.get(LEVEL_BESIDE)


def _caption(sheet: Sheet) -> str:
    """Return the sentences on the figures of the table, their intervals and marks."""
    sentences = [_what_is_shown(sheet), *_how_sure(sheet)]
    if sheet.compared.against:
        baseline = escape.latex(sheet.tables[sheet.baseline or 0].name)
        unjudged = ""
        if _shares_of_p_a(sheet) is not None:
            unjudged = " $p_A$ is not judged."
        sentences.append(
            rf"\textbf{{Bold}}: shown to be above {baseline}{STAR}, the baseline; "
            r"\textit{italic}: shown to be below it; all radii at once with 95\% "
            f"confidence.{unjudged}"
        )
    sentences += _failures(sheet)
    return " ".join(sentences)


def _failures(sheet: Sheet) -> list[str]:
    """Return a sentence for each table that failed a check."""
    failed = sheet.check_block.failed
    if failed and sheet.anyway:
        return [f"{DAGGER}: failed a check, and judged all the same."]
    return [
        f"{DAGGER}{escape.latex(name)}: {escape.latex(reason)}."
        for name, reason in failed.items()
    ]


def _what_is_shown(sheet: Sheet) -> str:
    """Return the sentence on the figures of the table, and how they were made."""
    columns = "Certified accuracy"
    if _shares_of_p_a(sheet) is not None:
        columns += rf", the share of images (\%) with $p_A \geq {LEVEL_BESIDE:g}$,"
    images = ""
    if not _images(sheet):
        images = f"{len(sheet.tables[0]):,} images, "
    settings = escape.latex(f"{images}{sheet.shared}")
    return f"{columns} and average certified radius (ACR): {settings}."


def _how_sure(sheet: Sheet) -> list[str]:
    """Return the sentence on how far 95% intervals reach; none where none is known."""
    accuracies = [
        summary.accuracy[radius]
        for summary in sheet.summaries
        for radius in sheet.radii
    ]
    points = _reach(accuracies)
    radius = _reach([summary.acr for summary in sheet.summaries])
    if points is None or radius is None:
        return []
    decimals = len(sheet.acr.figures[0].partition(".")[2])
    return [
        rf"95\% intervals reach at most {half_up(100.0 * points, decimals=1)} points, "
        f"of ACR {radius:.{decimals}f}, to either side."
    ]


def _reach(estimates: Sequence[Estimate | None]) -> float | None:
    """Return the largest distance of an end of an interval from its figure.

    The answer is None where no figure is known.
    """
    reaches = [
        max(estimate.high - estimate.value, estimate.value - estimate.low)
        for estimate in estimates
        if estimate is not None
    ]
    return max(reaches, default=None)


def _marked(figure: str, above: int) -> str:
    """Return a figure with its mark: above the baseline (1), below it (-1), or neither."""
    printed = figure.replace(UNKNOWN_FIGURE, "--")
    if above > 0:
        return rf"\textbf{{{printed}}}"
    if above < 0:
        return rf"\textit{{{printed}}}"
    return printed
