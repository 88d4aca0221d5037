"""A figure of one or more pairs of axes as a file: on paper by matplotlib, for the browser by Plotly."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from randsmooth import errors
from randsmooth.atomic import write_atomically
from randsmooth.escape import plotly, printable, shortened
from randsmooth.extras import needs
from randsmooth.report.figures.charts import DASHES, Look, looks

PAPER_FORMATS = ("png", "pdf", "svg")
LINE_STYLES = dict(zip(DASHES, ("-", "--", ":", "-."), strict=True))
COLUMNS = 3  # panels side by side on paper
NAME = 60  # characters of a line's name
SHORT = 28  # of one in a legend beside the only axes

Floats = NDArray[np.float64]
LineKind = Literal["line", "step", "points"]


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes:
        name: for the legend; lines of one name look alike in every panel.
        x, y: (M,).
        kind: "line"; "step", where the height between two points is that of the right one; or "points".
        dashed: drawn so that it stands back, as published figures do beside ours.
        labels: (M,) what each point is, written beside it; empty for none.

    Raises:
        InputError: another kind.

    Example:
        >>> Line("n = 100", np.array([0.0, 0.5]), np.array([90.0, 60.0]), "step").dashed
        False
    """

    name: str
    x: Floats
    y: Floats
    kind: LineKind = "line"
    dashed: bool = False
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in get_args(LineKind):
            raise errors.unknown("kind of line", self.kind, get_args(LineKind))


@dataclass(frozen=True)
class Axes:
    """One pair of axes.

    Attributes:
        title: above it. x, y: labels of the axes.
        lines: drawn in this order.
        log, log_x: whether y, and x, are logarithmic.
        y_range: of the axis; None: what the lines need.

    Example:
        >>> Axes("digits", "radius", "certified accuracy (%)", (), log=True).log_x
        False
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

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from randsmooth.report import Line
        >>> line = Line("n = 100", np.array([0.0, 0.5, 1.0]), np.array([90.0, 60.0, 20.0]), "step")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     draw([Axes("digits", "radius", "certified accuracy (%)", (line,))], Path(folder) / "figure.svg")
        ...     [file.name for file in Path(folder).iterdir()]
        ['figure.svg']
    """
    path = Path(path)
    if not panels:
        raise errors.InputError("there is nothing to draw: no panel has a line")
    if (suffix := suffix_of(path, *PAPER_FORMATS, "html")) == "html":
        write_atomically(path, _page(panels, path.stem).encode())
    else:
        write_atomically(path, saved(_figure(panels), suffix, dpi=160))


def suffix_of(path: Path, *formats: str) -> str:
    """The suffix of a figure, which must be one of `formats`."""
    suffix = path.suffix.lstrip(".").lower()
    if suffix not in formats:
        raise errors.unknown("figure format", suffix, formats)
    return suffix


def looks_by_name(panels: Sequence[Axes]) -> dict[str, Look]:
    """The look of every line's name, the same in all panels."""
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    return dict(zip(names, looks(len(names), None), strict=True))


def _page(panels: Sequence[Axes], title: str) -> str:
    """The panels as one HTML page."""
    with needs("a page with plots"):
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots
    from randsmooth.report import web

    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    titles = [plotly(panel.title) for panel in panels]
    figure = make_subplots(rows, columns, subplot_titles=titles, vertical_spacing=min(0.16, 0.4 / rows))
    by_name, in_legend = looks_by_name(panels), set[str]()
    for i, panel in enumerate(panels):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        for line in panel.lines:
            figure.add_trace(_trace(go, line, by_name[line.name], first=line.name not in in_legend), **place)
            in_legend.add(line.name)
        figure.update_xaxes(title_text=plotly(panel.x), type="log" if panel.log_x else None, **place)
        figure.update_yaxes(title_text=plotly(panel.y), type="log" if panel.log else None, **place)
        if panel.y_range is not None and not panel.log:
            figure.update_yaxes(range=panel.y_range, **place)
    layout = {"template": "plotly_white", "hovermode": "closest", "legend_traceorder": "normal"}
    figure.update_layout(height=120 + 360 * rows, **layout)
    scripts = [web.asset(__package__, "figure.js")]
    content = {"title": title, "figure": json.loads(figure.to_json())}
    return web.page(__package__, "figure.html.j2", scripts=scripts, plots=True, **content)


def _trace(go: Any, line: Line, look: Look, *, first: bool) -> Any:
    style = {"color": look.colour, "dash": "dash" if line.dashed else look.dash, "width": 2}
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
        marker={"color": look.colour, "symbol": "x" if line.dashed else "circle", "size": 8},
        hovertemplate="%{x:.4~g}, %{y:.4~g} %{text}<extra>%{fullData.name}</extra>" if line.labels else None,
    )


def _figure(panels: Sequence[Axes]) -> Any:
    """The panels as matplotlib's figure, with one legend below them all."""
    by_name, columns = looks_by_name(panels), min(COLUMNS, len(panels))
    rows, legend_columns = -(-len(panels) // columns), max(2, 2 * columns)
    size = (max(5.4, 4.0 * columns), 3.3 * rows + 0.3 * -(-len(by_name) // legend_columns))
    figure = new_figure(size)
    grid = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        _draw_panel(axes, panel, by_name)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    _add_legend(figure, grid, legend_columns)
    return figure


def _add_legend(figure: Any, grid: Any, columns: int) -> None:
    """One entry a name; a line stands for its name rather than its points."""
    drawn = [handle for axes in grid for handle in axes.get_legend_handles_labels()[0]]
    handles: dict[str, Any] = dict.fromkeys(handle.get_label() for handle in drawn)
    for handle in sorted(drawn, key=lambda handle: handle.get_linestyle() != "None"):
        handles[handle.get_label()] = handle
    place = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    as_text(*figure.legend(handles.values(), handles.keys(), **place).get_texts())


def _draw_panel(axes: Any, panel: Axes, by_name: Mapping[str, Look]) -> None:
    title, x, y = (shortened(printable(text)) for text in (panel.title, panel.x, panel.y))
    as_text(axes.set_title(title, fontsize=10), axes.set_xlabel(x), axes.set_ylabel(y))
    plain_axes(axes)
    for line in panel.lines:
        _draw_line(axes, line, by_name[line.name])
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


def new_figure(size: tuple[float, float]) -> Any:
    """An empty figure of matplotlib, of that width and height in inches."""
    with needs("a figure"):
        from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def plain_axes(axes: Any) -> None:
    """A light grid behind the curves, and no frame above and to the right."""
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_name(text: str, longest: int = SHORT) -> str:
    """`text` for a legend. matplotlib hides labels that start with an underscore: a space of no width keeps them."""
    short = shortened(printable(text), longest)
    return f"\u200b{short}" if short.startswith("_") else short


def as_text(*drawn: Any) -> None:
    """Make matplotlib show the texts `drawn` as they are.

    A name from a file is no formula: $ begins none, and LaTeX, where it is set up, is not run.
    """
    for text in drawn:
        text.set(usetex=False, parse_math=False)


def saved(figure: Any, suffix: str, dpi: int) -> bytes:
    """The figure as a file of one of PAPER_FORMATS."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix, dpi=dpi)
    return buffer.getvalue()
