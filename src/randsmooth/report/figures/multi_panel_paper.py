"""Figures of several pairs of axes, drawn by matplotlib for paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from randsmooth.escape import printable, shortened
from randsmooth.extras import needs
from randsmooth.report.figures.axes import Axes, Line
from randsmooth.report.figures.colours import Look
from randsmooth.report.figures.matplotlib_parts import LINE_STYLES, as_text, legend_name, plain_axes, saved

COLUMNS = 3  # panels side by side
NAME = 60  # characters of a line's name


def picture(panels: Sequence[Axes], suffix: str, looks: Mapping[str, Look]) -> bytes:
    """The panels as a PNG, PDF or SVG file, with one legend below them all.

    Args:
        suffix: png, pdf or svg.
        looks: of each line's name.
    """
    with needs("a figure"):
        from matplotlib.figure import Figure

    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    legend_rows = -(-len(looks) // max(2, 2 * columns))
    size = (max(5.4, 4.0 * columns), 3.3 * rows + 0.3 * legend_rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        _draw_panel(axes, panel, looks)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    _add_legend(figure, grid, max(2, 2 * columns))
    return saved(figure, suffix, dpi=160)


def _add_legend(figure: Any, grid: Any, columns: int) -> None:
    """One entry a name; a line stands for its name rather than its points."""
    drawn = [handle for axes in grid for handle in axes.get_legend_handles_labels()[0]]
    handles: dict[str, Any] = dict.fromkeys(handle.get_label() for handle in drawn)
    for handle in sorted(drawn, key=lambda handle: handle.get_linestyle() != "None"):
        handles[handle.get_label()] = handle
    place = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    as_text(*figure.legend(handles.values(), handles.keys(), **place).get_texts())


def _draw_panel(axes: Any, panel: Axes, looks: Mapping[str, Look]) -> None:
    title, x, y = (shortened(printable(text)) for text in (panel.title, panel.x, panel.y))
    as_text(axes.set_title(title, fontsize=10), axes.set_xlabel(x), axes.set_ylabel(y))
    plain_axes(axes)
    for line in panel.lines:
        _draw_line(axes, line, looks[line.name])
    if panel.log:
        axes.set_yscale("log")
    if panel.log_x:
        axes.set_xscale("log")
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)


def _draw_line(axes: Any, line: Line, look: Look) -> None:
    shared = {"color": look.colour, "alpha": 0.55 if line.dashed else 1.0, "label": legend_name(line.name, NAME)}
    if line.kind == "points":
        axes.plot(line.x, line.y, linestyle="none", marker="x" if line.dashed else "o", markersize=4.5, **shared)
    else:
        style = "--" if line.dashed else LINE_STYLES[look.dash]
        drawstyle = "steps-pre" if line.kind == "step" else "default"
        axes.plot(line.x, line.y, linestyle=style, linewidth=1.4, drawstyle=drawstyle, **shared)
    for x, y, label in zip(line.x, line.y, line.labels, strict=False):
        place = {"xytext": (4, 3), "textcoords": "offset points", "fontsize": 6.5, "color": "#444444"}
        as_text(axes.annotate(shortened(printable(label), NAME), (x, y), **place))
