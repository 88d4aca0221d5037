"""Figures of several panels, drawn for paper by matplotlib and for the browser by plotly."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from randsmooth import errors
from randsmooth.atomic import write_atomically
from randsmooth.escape import plotly, printable, shortened
from randsmooth.extras import needs
from randsmooth.report.figures import matplotlib_text as drawing
from randsmooth.report.figures.colours import DASHES, PALETTE
from randsmooth.report.web import html

Floats = NDArray[np.float64]
PAPER = ("png", "pdf", "svg")
STYLES = dict(zip(DASHES, ("-", "--", ":", "-."), strict=True))
COLUMNS = 3  # panels side by side
NAME = 60  # characters of a line's name


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes:
        name: for the legend; lines of one name look alike in every panel.
        x, y: (M,).
        kind: "line"; "step", where the height between two points is that of the right one; or "points".
        dashed: drawn so that it stands back, as published figures do beside ours.
        labels: (M,) what each point is, written beside it; empty for none.
    """

    name: str
    x: Floats
    y: Floats
    kind: Literal["line", "step", "points"] = "line"
    dashed: bool = False
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Axes:
    """One pair of axes.

    Attributes:
        title: above it. x, y: labels of the axes.
        lines: drawn in this order.
        log, log_x: whether y, and x, are logarithmic.
        y_range: of the axis; None: what the lines need.
    """

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    log: bool = False
    log_x: bool = False
    y_range: tuple[float, float] | None = None


def draw(panels: Sequence[Axes], path: Path | str) -> None:
    """Write the panels as PNG, PDF or SVG, or as one HTML page that works offline.

    Raises:
        InputError: no panel, or another suffix.
    """
    path = Path(path)
    suffix = path.suffix.lstrip(".").lower()
    if not panels:
        raise errors.InputError("there is nothing to draw: no panel has a line")
    if suffix == "html":
        write_atomically(path, _page(panels, path.stem).encode())
    elif suffix in PAPER:
        write_atomically(path, _paper(panels, suffix))
    else:
        raise errors.unknown("figure format", suffix, (*PAPER, "html"))


def _colours(panels: Sequence[Axes]) -> dict[str, tuple[str, str]]:
    """(colour, dash) of every name, the same in all panels."""
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    return {name: (PALETTE[i % len(PALETTE)], DASHES[i // len(PALETTE) % len(DASHES)]) for i, name in enumerate(names)}


def _paper(panels: Sequence[Axes], suffix: str) -> bytes:
    with needs("a figure"):
        from matplotlib.figure import Figure

    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    colours = _colours(panels)
    legend_rows = -(-len(colours) // max(2, 2 * columns))
    size = (max(5.4, 4.0 * columns), 3.3 * rows + 0.3 * legend_rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        _axes(axes, panel, colours)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    drawn = [handle for axes in grid for handle in axes.get_legend_handles_labels()[0]]
    handles: dict[str, Any] = dict.fromkeys(handle.get_label() for handle in drawn)
    for handle in sorted(drawn, key=lambda handle: handle.get_linestyle() != "None"):  # a line rather than its points
        handles[handle.get_label()] = handle
    legend = figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=max(2, 2 * columns), frameon=False
    )
    drawing.as_text(*legend.get_texts())
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix, dpi=160)
    return buffer.getvalue()


def _axes(axes: Any, panel: Axes, colours: dict[str, tuple[str, str]]) -> None:
    title, x, y = (shortened(printable(text)) for text in (panel.title, panel.x, panel.y))
    drawing.as_text(axes.set_title(title, fontsize=10), axes.set_xlabel(x), axes.set_ylabel(y))
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for line in panel.lines:
        colour, dash = colours[line.name]
        look: dict[str, Any] = {
            "color": colour,
            "alpha": 0.55 if line.dashed else 1.0,
            "label": drawing.name(line.name, NAME),
        }
        if line.kind == "points":
            axes.plot(line.x, line.y, linestyle="none", marker="x" if line.dashed else "o", markersize=4.5, **look)
        else:
            style = "--" if line.dashed else STYLES[dash]
            drawstyle = "steps-pre" if line.kind == "step" else "default"
            axes.plot(line.x, line.y, linestyle=style, linewidth=1.4, drawstyle=drawstyle, **look)
        for x, y, label in zip(line.x, line.y, line.labels, strict=False):
            place = {"xytext": (4, 3), "textcoords": "offset points", "fontsize": 6.5, "color": "#444444"}
            drawing.as_text(axes.annotate(shortened(printable(label), NAME), (x, y), **place))
    if panel.log:
        axes.set_yscale("log")
    if panel.log_x:
        axes.set_xscale("log")
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)


def _page(panels: Sequence[Axes], title: str) -> str:
    with needs("a page with plots"):
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots

    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    colours = _colours(panels)
    titles = [plotly(panel.title) for panel in panels]
    figure = make_subplots(rows, columns, subplot_titles=titles, vertical_spacing=min(0.16, 0.4 / rows))
    told: set[str] = set()
    for i, panel in enumerate(panels):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        for line in panel.lines:
            figure.add_trace(_trace(go, line, colours[line.name], first=line.name not in told), **place)
            told.add(line.name)
        figure.update_xaxes(title_text=plotly(panel.x), type="log" if panel.log_x else None, **place)
        figure.update_yaxes(title_text=plotly(panel.y), type="log" if panel.log else None, **place)
        if panel.y_range is not None and not panel.log:
            figure.update_yaxes(range=panel.y_range, **place)
    figure.update_layout(
        height=120 + 360 * rows, template="plotly_white", hovermode="closest", legend_traceorder="normal"
    )
    drawn = json.loads(figure.to_json())
    return html.render("figures", "figure.html.j2", "figure.js", plots=True, title=title, figure=drawn)


def _trace(go: Any, line: Line, look: tuple[str, str], *, first: bool) -> Any:
    colour, dash = look
    style = {"color": colour, "dash": "dash" if line.dashed else dash, "width": 2}
    if line.kind == "step":
        style["shape"] = "vh"
    return go.Scatter(
        x=line.x.tolist(),
        y=line.y.tolist(),
        name=plotly(line.name, NAME),
        legendgroup=printable(line.name),
        showlegend=first,
        mode="markers" if line.kind == "points" else "lines",
        text=[plotly(label, NAME) for label in line.labels] or None,
        opacity=0.6 if line.dashed else 1.0,
        line=style if line.kind != "points" else None,
        marker={"color": colour, "symbol": "x" if line.dashed else "circle", "size": 8},
        hovertemplate="%{x:.4~g}, %{y:.4~g} %{text}<extra>%{fullData.name}</extra>" if line.labels else None,
    )
