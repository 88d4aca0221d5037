"""What is made of a table or figure of a paper, and the files that it is written to."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from randsmooth.atomic import claimed, sweep, write_atomically
from randsmooth.escape import latex, markdown, printable, to_csv
from randsmooth.report import Axes, Line, draw
from randsmooth.report.layouts import aligned, pipes, tabular

COLUMNS = ["panel", "line", "drawn", "x is", "x", "y is", "y", "label"]
KINDS = {"line": "curve", "step": "staircase", "points": "points"}
FIGURES = ("png", "pdf", "html")
FIGURE = re.compile(r"[+-]?[\d,]+(\.\d+)?(e[+-]\d+)?")


@dataclass
class Output:
    """What was made of a table or figure, its parts by name; the only part of most objects is called "".

    Attributes:
        tables: figures as text, for a person to read.
        data: the same at full precision, for programs.
        panels: those of a figure.
        notes: what a reader has to know.
        footnotes: the notes that files print below their tables too.
    """

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    data: dict[str, pd.DataFrame] = field(default_factory=dict)
    panels: dict[str, list[Axes]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    footnotes: list[str] = field(default_factory=list)


def table_output(frame: pd.DataFrame, *notes: str) -> Output:
    """A table of numbers and texts, as text and for programs."""
    return Output(tables={"": frame.map(_legible)}, data={"": frame}, notes=[*notes])


def figure_output(panels: Sequence[Axes], *notes: str) -> Output:
    """The panels that have at least one line, and their numbers for programs."""
    drawn = [panel for panel in panels if panel.lines]
    return Output(
        panels={"": drawn}, data={"": numbers(drawn)} if drawn else {}, notes=[*notes]
    )


def numbers(panels: Sequence[Axes]) -> pd.DataFrame:
    """The points of a figure, one per row, at full precision.

    Returns:
        panel, line: their titles as drawn. drawn: "curve", "staircase" (the height between two points is that of the
        right one) or "points", with ", behind" for lines drawn in the background, as published figures are. x, y, and
        what each measures. label: what is written beside the point, if anything.
    """
    parts = [_points(panel, line) for panel in panels for line in panel.lines]
    return (
        pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
    )


def _points(panel: Axes, line: Line) -> pd.DataFrame:
    drawn = KINDS[line.kind] + (", behind" if line.dashed else "")
    columns = {
        "panel": panel.title,
        "line": line.name,
        "drawn": drawn,
        "x is": panel.x,
        "x": line.x,
    }
    return pd.DataFrame(
        {**columns, "y is": panel.y, "y": line.y, "label": list(line.labels) or ""},
        columns=COLUMNS,
    )


def _legible(value: object) -> str:
    """A number as readable text: five digits, whole numbers with commas, nothing for NaN."""
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    if math.isnan(number):
        return ""
    return (
        f"{int(number):,}"
        if number == int(number) and abs(number) < 1e15
        else f"{number:,.5g}"
    )


# How each kind of file escapes its texts, and lays out rows of them: aligned columns, a pipe table, and a tabular that
# needs no package.
LAYOUTS = {
    "txt": (printable, aligned),
    "md": (markdown, pipes),
    "tex": (latex, tabular),
}


def to_text(
    frame: pd.DataFrame, under: Sequence[str] = (), kind: str = "txt", title: str = ""
) -> str:
    """Columns, texts to the left and figures to the right, in a layout of LAYOUTS; the sentences `under` it below.

    In LaTeX it floats, with `title` as its caption.
    """
    escaped, lines = LAYOUTS[kind]
    rows = [
        [escaped(str(cell)) for cell in row]
        for row in (frame.columns, *frame.itertuples(index=False))
    ]
    right = [_is_figures(column) for _, column in frame.items()]
    text = (
        "\n".join(
            [*lines(rows, right), *(f"\n{escaped(sentence)}" for sentence in under)]
        )
        + "\n"
    )
    return (
        f"\\begin{{table}}\n\\caption{{{latex(title)}}}\n{text}\\end{{table}}\n"
        if kind == "tex"
        else text
    )


def _is_figures(column: Sequence[object]) -> bool:
    cells = [str(cell) for cell in column if str(cell)]
    return bool(cells) and all(FIGURE.fullmatch(cell) for cell in cells)


def write(made: Output, stem: Path, title: str) -> list[Path]:
    """Write all parts in all their formats; the paths. Raises Problem where another run is writing them."""
    tables = made.tables.items()
    texts = [
        (part, kind, to_text(frame, made.footnotes, kind, title))
        for part, frame in tables
        for kind in LAYOUTS
    ]
    texts += [(part, "csv", _csv(frame)) for part, frame in made.data.items()]
    with claimed(stem):
        files = [
            _write(_file(stem, part, suffix), text) for part, suffix, text in texts
        ]
        for part, panels in made.panels.items():
            for path in [_file(stem, part, suffix) for suffix in FIGURES if panels]:
                sweep(path)
                draw(panels, path)
                files.append(path)
    return files


def write_cells(cells: pd.DataFrame, path: Path) -> Path:
    """Write the cells of a survey as CSV; the path."""
    with claimed(path.with_suffix("")):
        return _write(path, _csv(cells))


def _file(stem: Path, part: str, suffix: str) -> Path:
    return stem.with_name(stem.name + (f"-{part}" if part else "") + f".{suffix}")


def _csv(frame: pd.DataFrame) -> str:
    cells = frame.astype(object).where(frame.notna(), None)
    return to_csv([list(frame.columns), *cells.itertuples(index=False, name=None)])


def _write(path: Path, text: str) -> Path:
    sweep(path)
    write_atomically(path, text.encode())
    return path
