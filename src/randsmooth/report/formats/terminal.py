"""A comparison as text for a terminal: checks, answer, evidence."""

from collections.abc import Iterator, Sequence

from randsmooth.escape import LONG, printable, shortened
from randsmooth.notes import Note
from randsmooth.progress import terminal_width, worded
from randsmooth.report.answer import Answer
from randsmooth.report.formats.legends import (
    DECLINED_LEGEND,
    P_A_LEGEND,
    without_p_a_sentences,
)
from randsmooth.report.headings import EVIDENCE_HEADING
from randsmooth.report.layouts import (
    GAP_BETWEEN_WORDS,
    INDENT,
    aligned,
    fitted,
    widest,
    wrapped,
)
from randsmooth.report.sheet import Sheet, SheetColumn

LEGEND = "ACR and certified accuracy (%) at each {}; 95% intervals below the figures."
OUT_OF_REACH = (
    "A dash at a radius: the table's rule, noise, n and alpha certify no image there, "
    "whatever the classifier."
)

# Letters of a name, from which on it takes a line of its own above its figures.
LONG_NAME = 20


def to_text(sheet: Sheet) -> str:
    """Return the sheet as text, in three blocks: checks, answer, evidence.

    The evidence has the verdicts, two lines of figures and intervals for each table, the
    same for p_A, and remarks. All fits the terminal, with fewer radii where need be.
    """
    width = terminal_width()
    lines = _blocks_before_evidence(sheet, width)
    lines += [f"{EVIDENCE_HEADING}:", *_verdict_lines(sheet, width)]
    lines += _figure_lines(sheet, width)

    if sheet.p_a_columns:
        lines += ["", *wrapped(P_A_LEGEND, width), ""]
        lines += _grid(sheet.titles, sheet.p_a_columns)
    for sentence in without_p_a_sentences(sheet, worded):
        lines += wrapped(printable(sentence), width)
    return "\n".join(lines) + "\n"


def to_short_lines(sheet: Sheet, evidence: Sequence[str]) -> list[str]:
    """Return the lines of checks and answer, and as evidence a few sentences.

    Args:
        sheet: the tables and their figures.
        evidence: the sentences of the last block, such as where the rest is written.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> from randsmooth.report.sheet import build_sheet
        >>> tables = [from_radii([0.5, 0.2], name=name, sigma=0.5) for name in "ab"]
        >>> to_short_lines(build_sheet(tables, [0.5]), ["page.html"])[-2:]
        ['Evidence:', 'page.html']
    """
    width = terminal_width()
    lines = _blocks_before_evidence(sheet, width)
    lines.append(f"{EVIDENCE_HEADING}:")
    for sentence in evidence:
        lines += wrapped(sentence, width)
    return lines


def _blocks_before_evidence(sheet: Sheet, width: int) -> list[str]:
    """Return the blocks of checks and answer, each with an empty line below."""
    checks = sheet.check_block.text(width)
    return [*checks, *answer_lines(sheet.answer, width), ""]


def answer_lines(answer: Answer, width: int) -> list[str]:
    """Return the block of the answer: its sentence, and its narrow table."""
    lines = [*wrapped(f"{answer.heading}:", width), *wrapped(worded(answer), width), ""]
    rows = [answer.head, *answer.cells]
    holds_figures = [False, *(True for _ in answer.head[1:])]
    lines += fitted(rows, width, holds_figures, gap=GAP_BETWEEN_WORDS)
    lines.append("")
    for sentence in (answer.legend, *answer.limits):
        lines += wrapped(printable(sentence), width)
    return lines


def _figure_lines(sheet: Sheet, width: int) -> list[str]:
    """Return the figures of all tables at the radii that fit, and remarks on them."""
    lines = [*wrapped(LEGEND.format(sheet.norm.title), width), ""]
    grid, left_out = _fitted_grid(sheet, width)
    lines += grid
    remarks = []
    if left_out:
        remarks.append(worded(Note("radii_left_out")))
    if any(column.out_of_reach for column in sheet.accuracy):
        remarks.append(OUT_OF_REACH)
    if sheet.declined is not None:
        remarks.append(DECLINED_LEGEND)
    remarks += [shortened(worded(remark), LONG) for remark in sheet.remarks]
    if remarks:
        lines.append("")
    for remark in remarks:
        lines += wrapped(remark, width)
    return lines


def _fitted_grid(sheet: Sheet, width: int) -> tuple[list[str], bool]:
    """Return the figures of all tables in lines that fit, and whether radii are left out.

    Where the usual radii do not fit, every second or third is printed. Radii that
    somebody named are all printed, in several grids below each other.
    """
    images = ["images"]
    for table in sheet.tables:
        images += [f"{len(table):,}", ""]

    number = len(sheet.accuracy)
    # A sheet without radii has one grid, too: that of step 1.
    for step in range(1, max(1, number) + 1):
        accuracy = sheet.accuracy[::step]
        columns = [sheet.acr, *accuracy, *sheet.unjudged]
        grid = _grid(sheet.titles, columns, images)
        # One radius is printed even where it does not fit.
        if widest(grid) <= width or len(accuracy) <= 1:
            break
    if step == 1 or not sheet.radii_asked:
        return grid, step > 1

    # As many radii fit beside ACR and the unjudged columns, and so do without them.
    per_grid = len(accuracy)
    lines = _grid(sheet.titles, [sheet.acr, *sheet.unjudged], images)
    for first in range(0, number, per_grid):
        columns = sheet.accuracy[first : first + per_grid]
        lines += ["", *_grid(sheet.titles, columns)]
    return lines, False


def _grid(
    titles: Sequence[str], columns: Sequence[SheetColumn], *leading: list[str]
) -> list[str]:
    """Align the columns: a line of heads, then two lines for each title.

    The first line of a title has its figures, the second their intervals. Long titles
    stand above both.

    Args:
        titles: the name of each table, with its settings.
        columns: the figures of all tables.
        leading: columns of cells, heads included, that stand between the names and
            the `columns`.
    """
    columns_of_cells = [*leading]
    for column in columns:
        cells = [column.title]
        for figure, ends in zip(column.figures, column.ends, strict=True):
            cells += [figure, "-".join(ends)]
        columns_of_cells.append(cells)

    has_long_names = max(map(len, titles)) > LONG_NAME
    if not has_long_names:
        names = ["name"]
        for title in titles:
            names += [title, ""]
        columns_of_cells.insert(0, names)

    # Names, which are the first column here unless they stand above, are laid out to the
    # left, and all figures to the right.
    holds_figures = [True] * len(columns_of_cells)
    holds_figures[0] = has_long_names
    lines = aligned(list(zip(*columns_of_cells, strict=True)), holds_figures)
    if not has_long_names:
        return _filled(lines)
    head, *body = lines
    with_names = [INDENT + head]
    # Each title has two lines of the body.
    for place, title in enumerate(titles):
        figures = _filled(body[2 * place : 2 * place + 2])
        with_names += [title, *(INDENT + line for line in figures)]
    return with_names


def _filled(lines: Sequence[str]) -> list[str]:
    """Leave out empty lines: those of the intervals where no figure is known."""
    return [line for line in lines if line]


def _verdict_lines(sheet: Sheet, width: int) -> Iterator[str]:
    """Yield a line for each other table: better or worse than the baseline, or neither.

    A table that cannot be compared has the reason in its line. Where several tables
    have no baseline, one line tells how to name it.
    """
    if sheet.baseline is None:
        if len(sheet.tables) > 1:
            yield from wrapped(worded(Note("no_baseline")), width)
            yield ""
        return

    verdicts = {}
    for compared in sheet.compared.against:
        verdicts[sheet.tables[compared.row].name] = str(compared.comparison)
    verdicts |= sheet.compared.refused
    if not verdicts:
        return

    baseline_name = sheet.tables[sheet.baseline].name
    yield from wrapped(f"Certified accuracy against {baseline_name}:", width)
    # The space behind a name makes the gap between the two columns two spaces wide.
    cells = [[f"{name} ", verdict] for name, verdict in verdicts.items()]
    for line in aligned(cells):
        yield from wrapped(f"{INDENT}{line}", width, INDENT * 2)

    scope = sheet.compared.scope
    if scope is not None:
        yield from wrapped(str(scope), width)
    yield ""
