"""How figures of several panels are drawn: colours, scales, ticks; as images by matplotlib or as pages that zoom."""

import io
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

# Colours that colour-blind readers can tell apart (Okabe & Ito 2008); a dash pattern where they run out.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#9467BD")
BASELINE = "#808080"
DASHES = ("solid", "dash", "dot", "dashdot")
LINE_STYLES = dict(zip(DASHES, ("-", "--", ":", "-."), strict=True))
PATTERNS = dict(zip(DASHES, ("", "/", ".", "x"), strict=True))  # of bars
FIGURE_FORMATS = ("png", "pdf", "svg", "html")
COLUMNS = 3  # panels side by side on paper
NAME, LONG_NAME = (
    32,
    60,
)  # characters of a name beside a curve, and in a figure's legend
BAND = 0.15  # opacity
HANDLE, LETTER = (
    0.65,
    0.075,
)  # inches of a legend's line with the space beside it, and about those of a letter

Plot = dict[str, Any]
Numbers = Sequence[float] | NDArray[np.float64]
LineKind = Literal["line", "step", "marked line", "points", "bars"]


@dataclass(frozen=True)
class Look:
    """How one table's curve is drawn: an #RRGGBB colour and one of DASHES."""

    colour: str
    dash: str


def looks(count: int, baseline: int | None) -> list[Look]:
    """A look for each of `count` tables: grey for the baseline, the palette in order for the others."""
    others = [row for row in range(count) if row != baseline]
    drawn = [
        Look(PALETTE[i % len(PALETTE)], DASHES[i // len(PALETTE) % len(DASHES)])
        for i in range(len(others))
    ]
    return [
        dict(zip(others, drawn, strict=True)).get(row, Look(BASELINE, "solid"))
        for row in range(count)
    ]


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes:
        name: for the legend; lines of one name look alike in every panel.
        x, y: (M,).
        kind: "line"; "step", where the height between two points is that of the right one; "marked line", with a dot at
            each point; "points"; or "bars", whose x are names.
        dashed: drawn so that it stands back, as published figures do beside ours.
        labels: (M,) what each point is, written beside it; empty for none.
        low, high: (M,) the band around y; None without one.
        look: its own colour and dashes; None: those of its name among the figure's.
        row: of the table in the sheet, by which a page's legend shows and hides it.
        images: (M,) how many images each bar stands for.
        hover: Plotly's template of what is shown under the pointer.

    Raises:
        Problem: another kind.

    Example:
        >>> Line("n = 100", np.array([0.0, 0.5]), np.array([90.0, 60.0]), "step").dashed
        False
    """

    name: str
    x: Numbers | Sequence[str]
    y: Numbers
    kind: LineKind = "line"
    dashed: bool = False
    labels: tuple[str, ...] = ()
    low: Numbers | None = None
    high: Numbers | None = None
    look: Look | None = None
    row: int | None = None
    images: Sequence[int] = ()
    hover: str = ""

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
        y_range, x_range: of the axes; None: what the lines need.
        unknown_below: x below which nothing is known, shaded from the left end of the axis.
        from_zero, zero_line: y begins at 0; 0 is drawn as a thick line. Both on pages only, as are the next two.
        hover: Plotly's format of an x under the pointer; empty for the usual one.
        height: in pixels.

    Example:
        >>> Axes("digits", "radius", "certified accuracy (%)", (), log=True).log_x
        False
    """

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log: bool = False
    log_x: bool = False
    y_range: tuple[float, float] | None = None
    x_range: tuple[float, float] | None = None
    unknown_below: float | None = None
    from_zero: bool = False
    zero_line: bool = False
    hover: str = ""
    height: int = 360


def plot(panel: Axes, by_name: Mapping[str, Look] | None = None) -> Plot:
    """The traces and the layout that Plotly.newPlot takes.

    Args:
        by_name: of a figure, the looks of its lines' names, which a legend tells. Without, it is a panel of a page,
            whose own legend shows and hides the rows of the sheet.
    """
    x, y = _plotly_axes(panel)
    layout: Plot = {
        "xaxis": x,
        "yaxis": y,
        "margin": {"l": 48, "r": 12, "t": 12, "b": 48},
        "height": panel.height,
    }
    layout |= {"hovermode": "x unified"} | dict.fromkeys(
        ("paper_bgcolor", "plot_bgcolor"), "rgba(0,0,0,0)"
    )
    layout |= (
        {"barmode": "group", "bargap": 0.25}
        if any(line.kind == "bars" for line in panel.lines)
        else {}
    )
    if by_name is not None:
        layout |= {
            "hovermode": "closest",
            "title": {"text": plotly(panel.title)},
            "margin": {"r": 12, "b": 48},
        }
    if panel.unknown_below is not None:
        left, right = (panel.x_range or (0.0, 1.0))[0], panel.unknown_below
        zone = {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": left,
            "x1": right,
            "y0": 0,
            "y1": 1,
        }
        zone |= {
            "fillcolor": "rgba(128,128,128,0.18)",
            "line": {"width": 0},
            "layer": "below",
        }
        note = {
            "text": "below 1/2: not in the logs",
            "textangle": -90,
            "showarrow": False,
        }
        place = {
            "xref": "x",
            "yref": "paper",
            "x": round((left + right) / 2, 3),
            "y": 0.5,
        }
        layout |= {"shapes": [zone], "annotations": [note | place]}
    looks, longest, decimals = (
        (looks_by_name([panel]), NAME, 4)
        if by_name is None
        else (by_name, LONG_NAME, 17)
    )
    traces, in_legend = [], set[str]()
    for line in panel.lines:
        traces += _traces(line, looks[line.name], longest, decimals)
        traces[-1]["showlegend"] = by_name is not None and line.name not in in_legend
        in_legend.add(line.name)
    return {"data": traces, "layout": layout}


def _plotly_axes(panel: Axes) -> tuple[Plot, Plot]:
    def axis(label: str, span: tuple[float, float] | None, log: bool) -> Plot:
        shown: Plot = {"title": {"text": plotly(label)}, "automargin": True}
        return shown | (
            {"type": "log", "dtick": 1}
            if log
            else {"range": list(span)}
            if span
            else {}
        )

    x, y = (
        axis(panel.x, panel.x_range, panel.log_x),
        axis(panel.y, panel.y_range, panel.log),
    )
    x |= {"hoverformat": panel.hover} if panel.hover else {}
    y |= {"rangemode": "tozero"} if panel.from_zero else {}
    return x, y | ({"zeroline": True, "zerolinewidth": 2} if panel.zero_line else {})


def _traces(
    line: Line, look: Look, longest: int = NAME, decimals: int = 4
) -> list[Plot]:
    """The lower end, the upper end filled down to it, and what lies between them; bars as they are."""
    group = printable(line.name) if line.row is None else str(line.row)
    shared: Plot = {
        "legendgroup": group,
        "showlegend": False,
        "name": plotly(line.name, longest),
    }
    if line.kind == "bars":
        marker = {"color": look.colour, "pattern": {"shape": PATTERNS[look.dash]}}
        bars = {
            "type": "bar",
            "x": list(line.x),
            "y": _rounded(line.y, decimals),
            "marker": marker,
        }
        return [
            shared
            | bars
            | {"customdata": list(line.images), "hovertemplate": line.hover}
        ]
    shared |= {"type": "scatter", "x": _rounded(line.x, decimals + 2)}
    shape = {"shape": "vh"} if line.kind == "step" else {}
    drawn = {
        "color": look.colour,
        "dash": "dash" if line.dashed else look.dash,
        "width": 2,
    }
    middle = shared | {
        "y": _rounded(line.y, decimals),
        "line": drawn | shape,
        "opacity": 0.6 if line.dashed else 1.0,
    }
    middle |= {
        "mode": {"points": "markers", "marked line": "lines+markers"}.get(
            line.kind, "lines"
        )
    }
    middle |= {"hovertemplate": line.hover} if line.hover else {}
    if line.kind == "points":
        middle |= {
            "marker": {
                "color": look.colour,
                "symbol": "x" if line.dashed else "circle",
                "size": 8,
            }
        }
    if line.labels:
        middle |= {"text": [plotly(label, LONG_NAME) for label in line.labels]}
        middle |= {
            "hovertemplate": "%{x:.4~g}, %{y:.4~g} %{text}<extra>%{fullData.name}</extra>"
        }
    if line.low is None or line.high is None:
        return [middle]
    edge = shared | {"mode": "lines", "line": {"width": 0} | shape, "hoverinfo": "skip"}
    colour = ",".join(map(str, bytes.fromhex(look.colour[1:])))
    filled = {"fill": "tonexty", "fillcolor": f"rgba({colour},{BAND:g})"}
    return [
        edge | {"y": _rounded(line.low, decimals)},
        edge | {"y": _rounded(line.high, decimals)} | filled,
        middle,
    ]


def _rounded(values: Numbers | Sequence[str], decimals: int) -> list[float]:
    return [round(float(value), decimals) for value in values]


def draw(panels: Sequence[Axes], path: Path | str) -> None:
    """Write the panels as PNG, PDF or SVG, or as one HTML page that works offline.

    Raises:
        Problem: no panel, or another suffix.

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
    suffix = path.suffix.lstrip(".").lower()
    if not panels:
        raise errors.Problem("there is nothing to draw: no panel has a line")
    if suffix not in FIGURE_FORMATS:
        raise errors.unknown("figure format", suffix, FIGURE_FORMATS)
    if suffix == "html":
        from randsmooth.report import web

        plots, script = (
            [plot(panel, looks_by_name(panels)) for panel in panels],
            web.asset(web.__name__, "figure.js"),
        )
        page = web.page(
            web.__name__,
            "figure.html.j2",
            scripts=[script],
            plots=True,
            title=path.stem,
            figure=plots,
        )
        write_atomically(path, page.encode())
    else:
        held = io.BytesIO()
        _figure(panels).savefig(held, format=suffix, dpi=160)
        write_atomically(path, held.getvalue())


def looks_by_name(panels: Sequence[Axes]) -> dict[str, Look]:
    """The look of every line's name, the same in all panels."""
    own = {line.name: line.look for panel in panels for line in panel.lines}
    return {
        name: own[name] or look
        for name, look in zip(own, looks(len(own), None), strict=True)
    }


def _figure(panels: Sequence[Axes]) -> Any:
    """The panels as matplotlib's figure, with one legend below them all."""
    by_name, columns = looks_by_name(panels), min(COLUMNS, len(panels))
    rows, width = -(-len(panels) // columns), max(5.4, 4.0 * columns)
    entry = (
        HANDLE + LETTER * max(len(legend_name(name)) for name in by_name)
        if by_name
        else width
    )
    legend_columns = min(2 * columns, max(1, int(width / entry)))
    size = (width, 3.3 * rows + 0.3 * -(-len(by_name) // legend_columns))
    with needs("a figure"):
        from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
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
    title, x, y = (
        shortened(printable(text)) for text in (panel.title, panel.x, panel.y)
    )
    as_text(axes.set_title(title, fontsize=10), axes.set_xlabel(x), axes.set_ylabel(y))
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for line in panel.lines:
        _draw_line(axes, line, by_name[line.name])
    axes.set(
        xscale="log" if panel.log_x else "linear",
        yscale="log" if panel.log else "linear",
    )
    axes.set(
        **({"ylim": panel.y_range} if panel.y_range else {}),
        **({"xlim": panel.x_range} if panel.x_range else {}),
    )
    if panel.unknown_below is not None:
        left = axes.get_xlim()[0]
        axes.axvspan(left, panel.unknown_below, color="#eeeeee", linewidth=0, zorder=0)
        place = {
            "ha": "center",
            "va": "center",
            "rotation": 90,
            "color": "#555555",
            "fontsize": 8,
        }
        x = (left + panel.unknown_below) / 2
        axes.text(
            x,
            0.5,
            "p_A < 1/2: not in the logs",
            transform=axes.get_xaxis_transform(),
            **place,
        )


def _draw_line(axes: Any, line: Line, look: Look) -> None:
    shared = {
        "color": look.colour,
        "alpha": 0.55 if line.dashed else 1.0,
        "label": legend_name(line.name),
    }
    if line.kind == "points":
        axes.plot(
            line.x,
            line.y,
            linestyle="none",
            marker="x" if line.dashed else "o",
            markersize=4.5,
            **shared,
        )
    else:
        style = "--" if line.dashed else LINE_STYLES[look.dash]
        drawstyle = "steps-pre" if line.kind == "step" else "default"
        axes.plot(
            line.x,
            line.y,
            linestyle=style,
            linewidth=1.4,
            drawstyle=drawstyle,
            **shared,
        )
    if line.low is not None:
        step = "pre" if line.kind == "step" else None
        axes.fill_between(
            line.x,
            line.low,
            line.high,
            step=step,
            color=look.colour,
            alpha=0.13,
            linewidth=0,
        )
    for x, y, label in zip(line.x, line.y, line.labels, strict=False):
        place = {
            "xytext": (4, 3),
            "textcoords": "offset points",
            "fontsize": 6.5,
            "color": "#444444",
        }
        as_text(axes.annotate(shortened(printable(label), LONG_NAME), (x, y), **place))


def legend_name(text: str) -> str:
    """`text` for a legend. matplotlib hides labels that start with an underscore: a space of no width keeps them."""
    short = shortened(printable(text), LONG_NAME)
    return f"\u200b{short}" if short.startswith("_") else short


def as_text(*drawn: Any) -> None:
    """Make matplotlib show the texts `drawn` as they are.

    A name from a file is no formula: $ begins none, and LaTeX, where it is set up, is not run.
    """
    for text in drawn:
        text.set(usetex=False, parse_math=False)
