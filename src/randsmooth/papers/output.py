"""The drawing of a table or figure of a paper, and the files to which it is written."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from randsmooth.atomic import claimed, sweep, write_atomically
from randsmooth.escape import latex, markdown, printable, to_csv
from randsmooth.report import Axes, Line, draw
from randsmooth.report.latex_table import Span, floating_table, label_of
from randsmooth.report.layouts import GAP, aligned, pipes

# The name of the only part of an output, which its files do not bear.
ONLY_PART = ""

# Columns of the table that `numbers` returns.
POINT_COLUMNS = ["panel", "line", "drawn", "x is", "x", "y is", "y", "label"]
# Kind of line -> its word in that table.
LINE_WORDS = {"line": "curve", "step": "staircase", "points": "points"}
# Suffixes of the files that a figure is written to.
FIGURE_SUFFIXES = ("png", "pdf", "html")

# A cell that holds a number, which is laid out to the right: 9,876, -0.25 or 1e-05.
PRINTED_NUMBER = re.compile(r"[+-]?[\d,]+(\.\d+)?(e[+-]\d+)?")
# Whole numbers below this are written out with all their digits.
LARGEST_WRITTEN_OUT = 1e15


@dataclass(frozen=True)
class Output:
    """A drawn table or figure, by its parts.

    Most objects have a single part of each kind, ONLY_PART.

    Attributes:
        tables: name of a part -> its values as text, for a person to read.
        data: name of a part -> its values at full precision, for programs.
        panels: name of a part -> the panels of its figure.
        notes: the sentences to print with the drawing on the terminal.
        footnotes: those of `notes` that files have below their tables, too. LaTeX has
            `legend` in their place.
        legend: the meaning of the marks of the tables, for their captions in LaTeX.
        agreed: the number of rows that certificates fill, and of cells that are as
            printed, in words; empty for other objects.
    """

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    data: dict[str, pd.DataFrame] = field(default_factory=dict)
    panels: dict[str, list[Axes]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)
    legend: str = ""
    agreed: str = ""


def table_output(frame: pd.DataFrame, *notes: str) -> Output:
    """Return the output of a table of numbers and texts, for people and programs."""
    return Output(
        tables={ONLY_PART: frame.map(_legible)},
        data={ONLY_PART: frame},
        notes=list(notes),
    )


def figure_output(panels: Sequence[Axes], *notes: str) -> Output:
    """Return the output of a figure: the panels with lines, and their points."""
    drawn = [panel for panel in panels if panel.lines]
    data = {ONLY_PART: numbers(drawn)} if drawn else {}
    return Output(panels={ONLY_PART: drawn}, data=data, notes=list(notes))


def numbers(panels: Sequence[Axes]) -> pd.DataFrame:
    """Return the points of a figure, one per row, at full precision.

    Returns:
        A table with these columns. panel, line: the titles as drawn. drawn: "curve",
        "staircase" (the height between two points is that of the right one) or
        "points", with ", behind" for lines drawn in the background, as published
        figures are. x, y: the coordinates, each with the quantity that it measures.
        label: the text beside the point, if any.
    """
    parts = [_points(panel, line) for panel in panels for line in panel.lines]
    if not parts:
        return pd.DataFrame(columns=POINT_COLUMNS)
    return pd.concat(parts, ignore_index=True)


def _points(panel: Axes, line: Line) -> pd.DataFrame:
    """Return the points of one line of a panel, in the columns of `numbers`."""
    drawn = LINE_WORDS[line.kind]
    if line.dashed:
        drawn += ", behind"
    # pandas repeats a single text for every point.
    columns = {
        "panel": panel.title,
        "line": line.name,
        "drawn": drawn,
        "x is": panel.x,
        "x": line.x,
        "y is": panel.y,
        "y": line.y,
        "label": list(line.labels) if line.labels else "",
    }
    return pd.DataFrame(columns, columns=POINT_COLUMNS)


def _legible(value: object) -> str:
    """Print a number with five digits, a whole one with commas, and NaN as nothing."""
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number):
        return ""
    if number == int(number) and abs(number) < LARGEST_WRITTEN_OUT:
        return f"{int(number):,}"
    return f"{number:,.5g}"


@dataclass(frozen=True)
class TableLayout:
    """How one kind of file prints a table.

    Attributes:
        escaped: the function that makes a text safe in such a file.
        lines: the function that lays out rows of such texts as lines, given for each
            column whether it holds numbers.
    """

    escaped: Callable[[str], str]
    lines: Callable[[Sequence[Sequence[str]], Sequence[bool]], list[str]]


# Suffix of a file -> the layout of its table.
LAYOUTS = {
    "txt": TableLayout(printable, aligned),
    "md": TableLayout(markdown, pipes),
}
# Suffix of the file in LaTeX, whose table floats in a paper and has no notes.
LATEX_SUFFIX = "tex"
# The head of a column of certified accuracy, which is its radius.
RADIUS_HEAD = re.compile(r"\d+(\.\d+)?")


def to_text(frame: pd.DataFrame, under: Sequence[str] = (), kind: str = "txt") -> str:
    """Return a table as text, words to the left and numbers to the right.

    Args:
        under: sentences to print below the table.
        kind: one of LAYOUTS.
    """
    layout = LAYOUTS[kind]
    lines = layout.lines(_cells(frame, layout.escaped), _number_columns(frame))
    for sentence in under:
        lines += ["", layout.escaped(sentence)]
    return "\n".join(lines) + "\n"


def to_terminal(frame: pd.DataFrame, width: int) -> str:
    """Return a table as text with lines of at most `width` letters, if possible.

    Where not all columns fit side by side, the columns of numbers on the right stand in
    several tables below each other. Each table begins with the other columns.
    """
    holds_numbers = _number_columns(frame)
    rows = _cells(frame, printable)
    leading = len(frame.columns)
    while leading > 1 and holds_numbers[leading - 1]:
        leading -= 1
    lines: list[str] = []
    for group in _groups_of_columns(rows, leading, width):
        places = [*range(leading), *group]
        part = [[row[place] for place in places] for row in rows]
        lines += ["", *aligned(part, [holds_numbers[place] for place in places])]
    return "\n".join(lines[1:]) + "\n"


def _groups_of_columns(
    rows: Sequence[Sequence[str]], leading: int, width: int
) -> list[list[int]]:
    """Return which columns stand side by side, each group beside the leading ones."""
    widths = [max(map(len, column)) + GAP for column in zip(*rows, strict=True)]
    # The last column has no gap behind it.
    room = width + GAP - sum(widths[:leading])
    groups: list[list[int]] = [[]]
    taken = 0
    for place in range(leading, len(widths)):
        # A column that is too wide for any group has one of its own.
        if groups[-1] and taken + widths[place] > room:
            groups.append([])
            taken = 0
        groups[-1].append(place)
        taken += widths[place]
    return groups


def to_latex(frame: pd.DataFrame, caption: str) -> str:
    """Return a table as LaTeX that floats in a paper.

    The columns of accuracies, whose heads are radii, stand together: a common heading
    spans them.
    """
    at_radii = [
        index
        for index, head in enumerate(frame.columns)
        if RADIUS_HEAD.fullmatch(str(head))
    ]
    span = None
    if at_radii:
        title = latex("Accuracy (%) at radius")
        span = Span(title, first=at_radii[0], columns=len(at_radii))
    rows = _cells(frame, latex)
    rows[0] = [head[:1].upper() + head[1:] for head in rows[0]]
    sentence = f"{caption[:1].upper()}{caption[1:]}."
    lines = floating_table(
        rows, _number_columns(frame), latex(sentence), span, label=label_of(caption)
    )
    return "\n".join(lines) + "\n"


def _cells(frame: pd.DataFrame, escaped: Callable[[str], str]) -> list[list[str]]:
    """Return the rows of a table as escaped texts, its heads first."""
    return [
        [escaped(str(cell)) for cell in row]
        for row in (frame.columns, *frame.itertuples(index=False))
    ]


def _number_columns(frame: pd.DataFrame) -> list[bool]:
    """Return for each column whether it holds numbers."""
    return [_holds_numbers(column) for _, column in frame.items()]


def _holds_numbers(column: Sequence[object]) -> bool:
    """Return whether a column has cells that are not empty, and all are numbers."""
    cells = [str(cell) for cell in column if str(cell)]
    return bool(cells) and all(PRINTED_NUMBER.fullmatch(cell) for cell in cells)


def write(made: Output, stem: Path, title: str) -> list[Path]:
    """Write all parts in all their formats, and return the paths.

    Args:
        made: the parts.
        stem: the path of the files, without suffix.
        title: the title of the object, which begins the caption of tables in LaTeX.

    Raises:
        Problem: another run is writing them.
    """
    # Every text is made before the first file is written: an error leaves no half.
    texts: dict[Path, str] = {}
    for part, frame in made.tables.items():
        for kind in LAYOUTS:
            text = to_text(frame, made.footnotes, kind)
            texts[_part_path(stem, part, kind)] = text
        caption = "; ".join(words for words in (title, made.legend) if words)
        path = _part_path(stem, part, LATEX_SUFFIX)
        texts[path] = to_latex(frame, caption)
    for part, frame in made.data.items():
        texts[_part_path(stem, part, "csv")] = _to_csv(frame)

    # The paths of one figure in its formats, with the panels of the figure.
    figures = [
        ([_part_path(stem, part, suffix) for suffix in FIGURE_SUFFIXES], panels)
        for part, panels in made.panels.items()
        if panels
    ]

    with claimed(stem):
        for path, text in texts.items():
            _write(path, text)
        for paths, panels in figures:
            for path in paths:
                sweep(path)
            draw(panels, *paths)
    return [*texts, *(path for paths, _ in figures for path in paths)]


def write_cells(cells: pd.DataFrame, path: Path) -> Path:
    """Write the cells of a survey as CSV, and return the path."""
    text = _to_csv(cells)
    with claimed(path.with_suffix("")):
        _write(path, text)
    return path


def _part_path(stem: Path, part: str, suffix: str) -> Path:
    """Return the path STEM-PART.SUFFIX; STEM.SUFFIX for the only part."""
    name = f"{stem.name}-{part}" if part else stem.name
    return stem.with_name(f"{name}.{suffix}")


def _to_csv(frame: pd.DataFrame) -> str:
    """Print a table as CSV, with empty cells for what is not known."""
    cells = frame.astype(object).where(frame.notna(), None)
    return to_csv([list(frame.columns), *cells.itertuples(index=False, name=None)])


def _write(path: Path, text: str) -> None:
    """Write a text, and remove what killed runs left of the file beside it."""
    sweep(path)
    write_atomically(path, text.encode())
