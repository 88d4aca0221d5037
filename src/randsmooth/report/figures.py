"""Figures of several panels as files: images by matplotlib, or a page that zooms."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth import errors
from randsmooth.atomic import write_atomically
from randsmooth.escape import printable, shortened
from randsmooth.extras import needs
from randsmooth.report import web
from randsmooth.report.charts import DASHES, Axes, Line, Look, looks_by_name
from randsmooth.report.plotly_charts import plot

# Suffixes of the files that a figure is written to.
FIGURE_FORMATS = ("png", "pdf", "svg", "html")
# Resolution of a PNG file.
DOTS_PER_INCH = 160
# matplotlib's line style for each dash pattern of a chart.
LINE_STYLES = dict(zip(DASHES, ("-", "--", ":", "-."), strict=True))

# Panels side by side; further panels go into the next row.
PANELS_A_ROW = 3
# Characters of a name in the legend, or beside a point; longer ones are shortened.
NAME_LENGTH = 60

# Sizes in inches.
PANEL_WIDTH = 4.0
PANEL_HEIGHT = 3.3
LEAST_FIGURE_WIDTH = 5.4
LEGEND_LINE_HEIGHT = 0.3
# Widths in the legend: a line's sample with the space beside it, and about one letter.
SAMPLE_WIDTH = 0.65
LETTER_WIDTH = 0.075

# Opacity of a confidence band, from 0 (invisible) to 1.
BAND_OPACITY = 0.13
# Opacity of lines that stand back behind the others.
BEHIND_OPACITY = 0.55


def draw(panels: Sequence[Axes], path: Path | str) -> None:
    """Write the panels as PNG, PDF or SVG, or as one HTML page that works offline.

    Raises:
        Problem: there is no panel, or the suffix of `path` is another one.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.report import Line
        >>> line = Line("n = 100", np.array([0.0, 0.5, 1.0]), np.array([90.0, 60.0, 20.0]))
        >>> panel = Axes("digits", "radius", "certified accuracy (%)", (line,))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw([panel], Path(folder) / "figure.svg")
        ...     [file.name for file in Path(folder).iterdir()]
        ['figure.svg']
    """
    path = Path(path)
    suffix = path.suffix.lstrip(".").lower()
    if not panels:
        raise errors.Problem("there is nothing to draw: no panel has a line")
    if suffix not in FIGURE_FORMATS:
        raise errors.unknown("figure format", suffix, FIGURE_FORMATS)
    # A page is headed by the name of its file.
    write_atomically(path, _content(panels, suffix, path.stem))


def _content(panels: Sequence[Axes], suffix: str, title: str) -> bytes:
    """Return the content of the file: a page under `title`, or an image."""
    if suffix == "html":
        return _page(panels, title).encode()
    return _image(panels, suffix)


def _page(panels: Sequence[Axes], title: str) -> str:
    """Return the panels as one HTML page, which plotly.js draws and lets zoom."""
    # A name has one colour and one dash in all panels.
    looks = looks_by_name(panels)
    # The template and the script lie in the folder of the package `web`.
    folder = web.__name__
    return web.page(
        folder,
        "figure.html.j2",
        scripts=[web.asset(folder, "figure.js")],
        plots=True,
        title=title,
        figure=[plot(panel, looks) for panel in panels],
    )


def _image(panels: Sequence[Axes], suffix: str) -> bytes:
    """Return the panels as a PNG, PDF or SVG image."""
    file = io.BytesIO()
    _figure(panels).savefig(file, format=suffix, dpi=DOTS_PER_INCH)
    return file.getvalue()


def _figure(panels: Sequence[Axes]) -> Any:
    """Draw the panels as matplotlib's figure, with one legend below them all."""
    with needs("a figure"):
        from matplotlib.figure import Figure

    looks = looks_by_name(panels)
    columns = min(PANELS_A_ROW, len(panels))
    rows = _rows_for(len(panels), columns)
    width = max(LEAST_FIGURE_WIDTH, PANEL_WIDTH * columns)
    legend_columns = _legend_columns(looks, width, most=2 * columns)
    legend_rows = _rows_for(len(looks), legend_columns)
    height = PANEL_HEIGHT * rows + LEGEND_LINE_HEIGHT * legend_rows
    figure = Figure(figsize=(width, height), layout="constrained")

    places = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for axes, panel in zip(places, panels, strict=False):
        _draw_panel(axes, panel, looks)
    # The last row may have more places than panels are left.
    for axes in places[len(panels) :]:
        axes.set_visible(False)
    _add_legend(figure, places, legend_columns)
    return figure


def _rows_for(count: int, columns: int) -> int:
    """Return how many rows of so many columns hold `count` things."""
    return math.ceil(count / columns)


def _legend_columns(looks: Mapping[str, Look], width: float, most: int) -> int:
    """Return how many entries of the legend fit beside each other."""
    if not looks:
        return 1
    longest = max(len(legend_name(name)) for name in looks)
    entry = SAMPLE_WIDTH + LETTER_WIDTH * longest
    return min(most, max(1, int(width / entry)))


def _add_legend(figure: Any, places: Any, columns: int) -> None:
    """Add one entry a name; a line stands for its name rather than its points."""
    handles = [
        handle for axes in places for handle in axes.get_legend_handles_labels()[0]
    ]
    lines = [handle for handle in handles if handle.get_linestyle() != "None"]
    points = [handle for handle in handles if handle.get_linestyle() == "None"]
    # Names come in the order of the panels.
    handle_of_name: dict[str, Any] = {handle.get_label(): handle for handle in handles}
    for handle in (*points, *lines):
        handle_of_name[handle.get_label()] = handle
    legend = figure.legend(
        handle_of_name.values(),
        handle_of_name.keys(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
    )
    as_text(*legend.get_texts())


def _draw_panel(axes: Any, panel: Axes, looks: Mapping[str, Look]) -> None:
    as_text(
        axes.set_title(_short(panel.title), fontsize=10),
        axes.set_xlabel(_short(panel.x)),
        axes.set_ylabel(_short(panel.y)),
    )
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for line in panel.lines:
        _draw_line(axes, line, looks[line.name])
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log else "linear")
    if panel.y_range is not None:
        axes.set_ylim(panel.y_range)
    if panel.x_range is not None:
        axes.set_xlim(panel.x_range)
    if panel.unknown_below is not None:
        _shade_unknown(axes, panel.unknown_below)


def _short(text: str) -> str:
    return shortened(printable(text))


def _shade_unknown(axes: Any, right: float) -> None:
    """Shade where published logs give no p_A."""
    left = axes.get_xlim()[0]
    axes.axvspan(left, right, color="#eeeeee", linewidth=0, zorder=0)
    axes.text(
        (left + right) / 2,
        0.5,
        "p_A < 1/2: not in the logs",
        transform=axes.get_xaxis_transform(),
        ha="center",
        va="center",
        rotation=90,
        color="#555555",
        fontsize=8,
    )


def _draw_line(axes: Any, line: Line, look: Look) -> None:
    if line.kind == "points":
        axes.plot(
            line.x,
            line.y,
            linestyle="none",
            marker="x" if line.dashed else "o",
            markersize=4.5,
            color=look.colour,
            alpha=BEHIND_OPACITY if line.dashed else 1.0,
            label=legend_name(line.name),
        )
    else:
        axes.plot(
            line.x,
            line.y,
            linestyle="--" if line.dashed else LINE_STYLES[look.dash],
            linewidth=1.4,
            drawstyle="steps-pre" if line.kind == "step" else "default",
            color=look.colour,
            alpha=BEHIND_OPACITY if line.dashed else 1.0,
            label=legend_name(line.name),
        )
    if line.low is not None:
        axes.fill_between(
            line.x,
            line.low,
            line.high,
            step="pre" if line.kind == "step" else None,
            color=look.colour,
            alpha=BAND_OPACITY,
            linewidth=0,
        )
    for x, y, label in zip(line.x, line.y, line.labels, strict=False):
        note = axes.annotate(
            shortened(printable(label), NAME_LENGTH),
            (x, y),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize=6.5,
            color="#444444",
        )
        as_text(note)


def legend_name(text: str) -> str:
    """Return `text` for a legend.

    matplotlib hides labels that start with an underscore: a space of no width keeps
    them.
    """
    short = shortened(printable(text), NAME_LENGTH)
    return f"\u200b{short}" if short.startswith("_") else short


def as_text(*drawn: Any) -> None:
    """Make matplotlib show the texts `drawn` as they are.

    A name from a file is no formula: $ begins none, and LaTeX, where it is set up, is
    not run.
    """
    for text in drawn:
        text.set(usetex=False, parse_math=False)
