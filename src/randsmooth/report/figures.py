"""Figures of several panels as files: images by matplotlib, or a page that zooms."""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from randsmooth import errors
from randsmooth.atomic import write_atomically
from randsmooth.escape import printable, shortened
from randsmooth.extras import needs
from randsmooth.report import web
from randsmooth.report.charts import (
    CROSSES,
    DASHES,
    GREY,
    MARKERS,
    PROBABILITY_TICKS,
    Axes,
    Line,
    Look,
    at_quantiles,
    has_crosses,
    looks_by_name,
    with_equal_axes,
)
from randsmooth.report.direct_names import names_beside_lines
from randsmooth.report.drawn_text import NAME_LENGTH, as_text, legend_name
from randsmooth.report.plotly_charts import plot

# Suffixes of the files that a figure is written to.
FIGURE_FORMATS = ("png", "pdf", "svg", "html")
# Resolution of a PNG file, in dots per inch.
DOTS_PER_INCH = 160
# Dash pattern of a chart -> matplotlib's line style.
LINE_STYLES = dict(zip(DASHES, ("-", "--", ":", "-."), strict=True))

# Marker of a chart -> matplotlib's mark on a line.
MARKER_SHAPES = dict(zip(MARKERS, ("", "o", "s", "^", "D"), strict=True))
# Dash pattern of a chart -> matplotlib's mark for points, which have no dashes.
MARKERS_OF_POINTS = dict(zip(DASHES, ("o", "s", "^", "D"), strict=True))
# Distance of the marks on a line, and how far those of the next line are shifted, as
# shares of the diagonal of the axes.
MARK_DISTANCE = 0.14
MARK_SHIFT = 0.035

# The most panels side by side; further panels go into the next row.
PANELS_A_ROW = 3

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


def draw(panels: Sequence[Axes], *paths: Path | str) -> None:
    """Write the panels as PNG, PDF or SVG, or as one HTML page that works offline.

    The suffix of each path tells the format. Images of all paths are laid out once.

    Raises:
        Problem: there is no panel, or a suffix is another one.

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
    if not panels:
        raise errors.Problem("there is nothing to draw: no panel has a line")
    suffix_of_path = {Path(path): _suffix(Path(path)) for path in paths}
    image = None
    for path, suffix in suffix_of_path.items():
        if suffix == "html":
            content = _page(panels, path.stem).encode()
        else:
            # A figure of many panels takes seconds.
            image = image or _figure(panels)
            content = _as_image(image, suffix)
        write_atomically(path, content)


def _suffix(path: Path) -> str:
    """Return the suffix of a path, which must be that of a figure."""
    suffix = path.suffix.lstrip(".").lower()
    if suffix not in FIGURE_FORMATS:
        raise errors.unknown("figure format", suffix, FIGURE_FORMATS)
    return suffix


def _page(panels: Sequence[Axes], title: str) -> str:
    """Return the panels as one HTML page, in which plotly.js draws and zooms them."""
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
        figure=[plot(panel, looks) for panel in with_equal_axes(panels)],
    )


def _as_image(figure: Any, suffix: str) -> bytes:
    """Return matplotlib's figure as a PNG, PDF or SVG image."""
    file = io.BytesIO()
    figure.savefig(file, format=suffix, dpi=DOTS_PER_INCH)
    return file.getvalue()


def _figure(panels: Sequence[Axes]) -> Any:
    """Draw the panels as matplotlib's figure.

    Names stand beside their lines where all of them fit, else in one legend below.
    """
    figure, grid = _drawn(panels, legend_of_names=False)
    # This lays the figure out. Names within its axes change nothing of that, so that it
    # need not be done again for each panel, nor when the figure is saved.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    # The grid may have more axes than there are panels.
    if all(names_beside_lines(axes) for axes in grid[: len(panels)]):
        return figure
    # Where some do not fit, names may have been written already: all is drawn anew.
    figure, _ = _drawn(panels, legend_of_names=True)
    return figure


def _drawn(panels: Sequence[Axes], *, legend_of_names: bool) -> tuple[Any, Any]:
    """Draw the panels, with a legend where something needs one.

    Args:
        legend_of_names: whether the legend has the names of lines. It always explains
            crosses.

    Returns:
        matplotlib's figure; and its axes in a row, of which there are more than panels
        where the last row of the figure is not full.
    """
    # matplotlib comes with an extra: where it is missing, the error names the extra.
    with needs("a figure"):
        from matplotlib.figure import Figure

    looks = looks_by_name(panels)
    in_legend = list(looks) if legend_of_names else []
    if has_crosses(panels):
        in_legend.append(CROSSES)
    columns = min(PANELS_A_ROW, len(panels))
    rows = _rows_for(len(panels), columns)
    width = max(LEAST_FIGURE_WIDTH, PANEL_WIDTH * columns)
    legend_columns = _legend_columns(in_legend, width, most=2 * columns)
    legend_rows = _rows_for(len(in_legend), legend_columns)
    height = PANEL_HEIGHT * rows + LEGEND_LINE_HEIGHT * legend_rows
    figure = Figure(figsize=(width, height), layout="constrained")

    grid = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for axes, panel in zip(grid[: len(panels)], with_equal_axes(panels), strict=True):
        _draw_panel(axes, panel, looks)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    if in_legend:
        _add_legend(figure, grid, in_legend, legend_columns)
    return figure, grid


def _rows_for(count: int, columns: int) -> int:
    """Return how many rows are needed for `count` things in so many columns."""
    return math.ceil(count / columns)


def _legend_columns(names: Sequence[str], width: float, most: int) -> int:
    """Return how many entries of the legend fit beside each other.

    Args:
        names: the names in the legend.
        width: the width of the figure, in inches.
        most: the largest answer.
    """
    if not names:
        return 1
    longest = max(len(legend_name(name)) for name in names)
    entry = SAMPLE_WIDTH + LETTER_WIDTH * longest
    return min(most, max(1, int(width / entry)))


def _add_legend(figure: Any, grid: Any, names: Sequence[str], columns: int) -> None:
    """Add a legend with one entry for each name.

    Args:
        grid: the axes of the figure.
        names: the names in the legend, in their order; CROSSES may be among them.
        columns: the number of entries beside each other.
    """
    handles = [
        handle for axes in grid for handle in axes.get_legend_handles_labels()[0]
    ]
    # matplotlib's name for a line style without a line.
    lines = [handle for handle in handles if handle.get_linestyle() != "None"]
    points = [handle for handle in handles if handle.get_linestyle() == "None"]
    # Where a name has both, the line replaces the points: its sample is clearer.
    handle_of_name: dict[str, Any] = {}
    for handle in (*points, *lines):
        handle_of_name[handle.get_label()] = handle
    handle_of_name[CROSSES] = _cross()
    in_order = [legend_name(name) for name in names]
    legend = figure.legend(
        [handle_of_name[name] for name in in_order],
        in_order,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
    )
    as_text(*legend.get_texts())


def _cross() -> Any:
    """Return the sample of crosses in a legend, in a colour that no line has."""
    # Only where a figure is drawn is matplotlib needed.
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", marker="x", markersize=4.5, color=GREY)


def _draw_panel(axes: Any, panel: Axes, looks: Mapping[str, Look]) -> None:
    """Draw a panel into matplotlib's axes.

    Args:
        looks: name of a line -> its look.
    """
    as_text(
        axes.set_title(_short(panel.title), fontsize=10),
        axes.set_xlabel(_short(panel.x)),
        axes.set_ylabel(_short(panel.y)),
    )
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log else "linear")
    for place, line in enumerate(panel.lines):
        drawn = replace(line, x=at_quantiles(line.x)) if panel.probit_x else line
        _draw_line(axes, drawn, looks[line.name], place)
    if panel.y_range is not None:
        axes.set_ylim(panel.y_range)
    if panel.x_range is not None:
        ends = at_quantiles(panel.x_range) if panel.probit_x else panel.x_range
        axes.set_xlim(*ends)
    if panel.probit_x:
        _mark_probabilities(axes)
    if panel.unknown_below is not None:
        end = panel.unknown_below
        _shade_unknown(axes, float(at_quantiles([end])[0]) if panel.probit_x else end)


def _mark_probabilities(axes: Any) -> None:
    """Mark probabilities on an x axis of their normal quantiles."""
    left, right = axes.get_xlim()
    probability_at = dict(
        zip(at_quantiles(PROBABILITY_TICKS), PROBABILITY_TICKS, strict=True)
    )
    inside = {x: p for x, p in probability_at.items() if left <= x <= right}
    axes.set_xticks(list(inside), [f"{p:g}" for p in inside.values()])
    axes.tick_params(axis="x", labelsize=8)
    # Ticks may have changed the ends.
    axes.set_xlim(left, right)


def _short(text: str) -> str:
    """Return a text from a file, safe to print and of a readable length."""
    return shortened(printable(text))


def _shade_unknown(axes: Any, right: float) -> None:
    """Shade the axes up to `right`, and write that published logs give no p_A there."""
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


def _draw_line(axes: Any, line: Line, look: Look, place: int) -> None:
    """Draw a line, or points, with a band and labels where it has them.

    Args:
        place: the index of the line in the panel.
    """
    if line.kind == "points":
        axes.plot(
            line.x,
            line.y,
            linestyle="none",
            marker="x" if line.dashed else MARKERS_OF_POINTS[look.dash],
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
            linewidth=1.5,
            marker=MARKER_SHAPES[look.marker],
            markersize=4.0,
            # The first mark is shifted, so that marks of two lines do not coincide.
            markevery=(MARK_SHIFT * (place % 4), MARK_DISTANCE),
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
    # A line without labels has an empty tuple of them.
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
