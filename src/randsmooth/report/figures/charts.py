"""A chart as plain data, how its tables look, and what plotly.js is given to draw it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from randsmooth import errors
from randsmooth.escape import plotly

# Colours that colour-blind readers can tell apart (Okabe & Ito 2008); a dash pattern where they run out.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#9467BD")
BASELINE = "#808080"
DASHES = ("solid", "dash", "dot", "dashdot")

NAME = 32  # characters of a name beside a curve
BAND = 0.15  # opacity
PATTERNS = {"solid": "", "dash": "/", "dot": ".", "dashdot": "x"}  # of bars, for the dashes of lines

Plot = dict[str, Any]
Numbers = Sequence[float] | NDArray[np.float64]
SeriesKind = Literal["step", "line", "marked line", "points", "bars"]


@dataclass(frozen=True)
class Look:
    """How one table's curve is drawn: an #RRGGBB colour and one of DASHES."""

    colour: str
    dash: str


def looks(count: int, baseline: int | None) -> list[Look]:
    """A look for each of `count` tables: grey for the baseline, the palette in order for the others."""
    others = [row for row in range(count) if row != baseline]
    drawn = {
        row: Look(PALETTE[i % len(PALETTE)], DASHES[i // len(PALETTE) % len(DASHES)]) for i, row in enumerate(others)
    }
    return [drawn.get(row, Look(BASELINE, "solid")) for row in range(count)]


@dataclass(frozen=True)
class Scale:
    """One axis of a chart.

    Attributes:
        label: what is measured, with its unit.
        span: both ends; None: what the series need.
        log: it is logarithmic.
        categories: names of the places 0, 1, ...; empty where numbers are measured.
        from_zero: the axis begins at 0.
        zero_line: 0 is drawn as a thick line.
        hover: Plotly's format of a value under the pointer; empty for the usual one.
    """

    label: str
    span: tuple[float, float] | None = None
    log: bool = False
    categories: Sequence[str] = ()
    from_zero: bool = False
    zero_line: bool = False
    hover: str = ""


@dataclass(frozen=True)
class Series:
    """What a chart shows of one table.

    Attributes:
        row: of the table in the sheet, by which the page's legend shows and hides it.
        name: of the table.
        look: its colour and dashes.
        x: (M,); on an axis of categories the places 0, 1, ... among them.
        y: (M,).
        low, high: (M,) the band around y; None without one.
        kind: "step", where the height between two points is that of the right one; "line"; "marked line", with a dot
            at each point; "points"; or "bars".
        images: (M,) how many images each bar stands for; only for bars.
        hover: Plotly's template of what is shown under the pointer.
    """

    row: int
    name: str
    look: Look
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    kind: SeriesKind = "line"
    images: Sequence[int] = ()
    hover: str = ""


@dataclass(frozen=True)
class Chart:
    """One pair of axes with a series for each table.

    Attributes:
        x, y: the axes.
        series: drawn in this order.
        height: in the browser, in pixels.
        unknown_below: x below which nothing is known of any series, shaded from the left end of the axis.
    """

    x: Scale
    y: Scale
    series: Sequence[Series]
    height: int = 360
    unknown_below: float | None = None


def plot(chart: Chart) -> Plot:
    """The traces and the layout that Plotly.newPlot takes.

    Raises:
        InputError: a series of no known kind.
    """
    traces = [trace for series in chart.series for trace in _traces(series, chart.x)]
    return {"data": traces, "layout": _layout(chart)}


def _traces(series: Series, x: Scale) -> list[Plot]:
    """The lower end, the upper end filled down to it, and what lies between them; bars as they are."""
    if series.kind not in get_args(SeriesKind):
        raise errors.unknown("kind of series", series.kind, get_args(SeriesKind))
    shared = {"legendgroup": str(series.row), "showlegend": False, "name": plotly(series.name, NAME)}
    if series.kind == "bars":
        return [shared | _bars(series, x)]
    shared |= {"type": "scatter", "x": _rounded(series.x)}
    shape = {"shape": "vh"} if series.kind == "step" else {}
    look = {"color": series.look.colour, "dash": series.look.dash, "width": 2}
    middle = shared | {"y": _rounded(series.y), "line": look | shape, "hovertemplate": series.hover}
    middle |= {"mode": {"points": "markers", "marked line": "lines+markers"}.get(series.kind, "lines")}
    middle |= {"marker": {"color": series.look.colour}} if series.kind == "points" else {}
    if series.low is None or series.high is None:
        return [middle]
    edge = shared | {"mode": "lines", "line": {"width": 0} | shape, "hoverinfo": "skip"}
    filled = {"fill": "tonexty", "fillcolor": faint(series.look.colour, BAND)}
    return [edge | {"y": _rounded(series.low)}, edge | {"y": _rounded(series.high)} | filled, middle]


def _bars(series: Series, x: Scale) -> Plot:
    look = {"color": series.look.colour, "pattern": {"shape": PATTERNS[series.look.dash]}}
    heights = {"x": [x.categories[int(place)] for place in series.x], "y": _rounded(series.y), "marker": look}
    return {"type": "bar", "customdata": list(series.images), "hovertemplate": series.hover} | heights


def faint(colour: str, opacity: float) -> str:
    """`colour`, an #RRGGBB, as one that lets the ground show."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def _rounded(values: Numbers) -> list[float]:
    return [round(float(value), 4) for value in values]


def _layout(chart: Chart) -> Plot:
    bars = {"barmode": "group", "bargap": 0.25} if any(series.kind == "bars" for series in chart.series) else {}
    layout = {
        "xaxis": _axis(chart.x),
        "yaxis": _axis(chart.y),
        "margin": {"l": 48, "r": 12, "t": 12, "b": 48},
        "height": chart.height,
        "hovermode": "x unified",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
    return layout | bars | (_unknown_zone(chart) if chart.unknown_below is not None else {})


def _axis(scale: Scale) -> Plot:
    axis: Plot = {"title": {"text": scale.label}, "automargin": True}
    axis |= {"range": list(scale.span)} if scale.span else {}
    axis |= {"rangemode": "tozero"} if scale.from_zero else {}
    axis |= {"zeroline": True, "zerolinewidth": 2} if scale.zero_line else {}
    axis |= {"hoverformat": scale.hover} if scale.hover else {}
    axis |= {"type": "log", "dtick": 1} if scale.log else {}
    return axis | ({"type": "category"} if scale.categories else {})


def _unknown_zone(chart: Chart) -> Plot:
    left, right = (chart.x.span or (0.0, 1.0))[0], chart.unknown_below or 0.0
    zone = {"type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": 0, "y1": 1}
    note = {"text": "below 1/2: not in the logs", "textangle": -90, "showarrow": False}
    place = {"xref": "x", "yref": "paper", "x": round((left + right) / 2, 3), "y": 0.5}
    return {
        "shapes": [zone | {"fillcolor": "rgba(128,128,128,0.18)", "line": {"width": 0}, "layer": "below"}],
        "annotations": [note | place],
    }
