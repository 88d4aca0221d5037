"""Charts as the values that Plotly draws: traces and a layout."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from randsmooth.escape import plotly, printable
from randsmooth.report.charts import (
    CROSSES,
    DASHES,
    GREY,
    PROBABILITY_TICKS,
    Axes,
    Line,
    Look,
    Numbers,
    at_quantiles,
    has_crosses,
    looks_by_name,
)

Plot = dict[str, Any]

# Opacity of a confidence band, from 0 (invisible) to 1.
BAND_OPACITY = 0.15
# Opacity of lines that stand back behind the others.
BEHIND_OPACITY = 0.6
# Dash pattern of a line -> Plotly's pattern of a bar.
BAR_PATTERNS = dict(zip(DASHES, ("", "/", ".", "x"), strict=True))
# Dash pattern of a line -> Plotly's symbol for points, which have no dashes.
SYMBOLS_OF_POINTS = dict(
    zip(DASHES, ("circle", "square", "triangle-up", "diamond"), strict=True)
)
# The most marks on a line.
MOST_MARKS = 10
# Height of the legend below a panel of a figure, in pixels: some lines of names.
LEGEND_HEIGHT = 90
# Decimals of the normal quantile at which a probability is drawn.
QUANTILE_DECIMALS = 4
# Kind of line -> Plotly's mode; other kinds have the mode "lines".
MODES = {"points": "markers", "marked line": "lines+markers"}
# Plotly's template of the text under the pointer, for points with labels.
LABELLED_POINT = "%{x:.4~g}, %{y:.4~g} %{text}<extra>%{fullData.name}</extra>"


@dataclass(frozen=True)
class Precision:
    """The precision of names and numbers in a chart: less makes a page smaller.

    Attributes:
        name: the characters of a line's name that are kept.
        decimals: the decimals of y; x has two more.
    """

    name: int
    decimals: int


# Characters of the text beside a point; longer texts are shortened.
LABEL_LENGTH = 60
OF_PAGE = Precision(name=32, decimals=4)
OF_FIGURE = Precision(name=LABEL_LENGTH, decimals=17)


def plot(panel: Axes, by_name: Mapping[str, Look] | None = None) -> Plot:
    """Return the traces and the layout that Plotly.newPlot takes.

    Args:
        by_name: for a figure with a legend of its own, name of a line -> its look. None
            for a chart of a page, whose common legend shows and hides the rows of the
            sheet.
    """
    if by_name is None:
        looks = looks_by_name([panel])
        precision = OF_PAGE
    else:
        looks = dict(by_name)
        precision = OF_FIGURE
    traces = []
    in_legend = set()
    for line in panel.lines:
        drawn = list(_traces(line, looks[line.name], precision, probit=panel.probit_x))
        # The traces of a line are its band, if any, and last the line itself. Several
        # lines of one name share an entry of the legend.
        drawn[-1]["showlegend"] = by_name is not None and line.name not in in_legend
        in_legend.add(line.name)
        traces += drawn
    if by_name is not None and has_crosses([panel]):
        traces.append(_key_of_crosses())
    return {"data": traces, "layout": _layout(panel, is_figure=by_name is not None)}


def _layout(panel: Axes, *, is_figure: bool) -> Plot:
    """Return Plotly's layout of a panel.

    Args:
        is_figure: whether it is a panel of a figure, which has a title of its own.
    """
    x, y = _axes(panel)
    layout: Plot = {
        "xaxis": x,
        "yaxis": y,
        "margin": {"l": 48, "r": 12, "t": 12, "b": 48},
        "height": panel.height,
        "hovermode": "x unified",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
    if any(line.kind == "bars" for line in panel.lines):
        layout["barmode"] = "group"
        layout["bargap"] = 0.25
    if is_figure:
        layout["hovermode"] = "closest"
        layout["title"] = {"text": plotly(panel.title)}
        # The legend stands below the title of the axis of x. Beside the panel it would
        # take half of a telephone's width.
        layout["height"] = panel.height + LEGEND_HEIGHT
        layout["margin"] = {"r": 12, "t": 56, "b": 48 + LEGEND_HEIGHT}
        layout["legend"] = {"orientation": "h", "y": -0.25, "yanchor": "top"}
    if panel.unknown_below is not None:
        left = (panel.x_range or (0.0, 1.0))[0]
        ends = [left, panel.unknown_below]
        if panel.probit_x:
            ends = at_quantiles(ends).tolist()
        layout["shapes"] = [_unknown_zone(*ends)]
        layout["annotations"] = [_unknown_note(*ends)]
    return layout


def _unknown_zone(left: float, right: float) -> Plot:
    """Return the shape that shades x from `left` to `right`."""
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": left,
        "x1": right,
        "y0": 0,
        "y1": 1,
        "fillcolor": "rgba(128,128,128,0.18)",
        "line": {"width": 0},
        "layer": "below",
    }


def _unknown_note(left: float, right: float) -> Plot:
    return {
        "text": "below 1/2: not in the logs",
        "textangle": -90,
        "showarrow": False,
        "xref": "x",
        "yref": "paper",
        "x": round((left + right) / 2, 3),
        "y": 0.5,
    }


def _axes(panel: Axes) -> tuple[Plot, Plot]:
    """Return Plotly's x axis and y axis of a panel."""
    x = _axis(panel.x, panel.x_range, panel.log_x)
    if panel.probit_x:
        x |= _probabilities(panel.x_range)
    if panel.hover:
        x["hoverformat"] = panel.hover
    y = _axis(panel.y, panel.y_range, panel.log)
    if panel.from_zero:
        y["rangemode"] = "tozero"
    if panel.zero_line:
        y["zeroline"] = True
        y["zerolinewidth"] = 2
    return x, y


def _probabilities(span: tuple[float, float] | None) -> Plot:
    """Return the properties of an axis whose probabilities stand at normal quantiles.

    Args:
        span: the ends of the axis, as probabilities; None lets Plotly choose.
    """
    marks: Plot = {
        "tickvals": _rounded(at_quantiles(PROBABILITY_TICKS), QUANTILE_DECIMALS),
        "ticktext": [f"{p:g}" for p in PROBABILITY_TICKS],
        # It could show the quantile only: each line tells its own probability.
        "unifiedhovertitle": {"text": " "},
    }
    if span is not None:
        marks["range"] = _rounded(at_quantiles(span), QUANTILE_DECIMALS)
    return marks


def _axis(label: str, span: tuple[float, float] | None, log: bool) -> Plot:
    """Return an axis of Plotly.

    Args:
        span: the ends of the axis; None lets Plotly choose.
        log: whether the axis is logarithmic.
    """
    axis: Plot = {"title": {"text": plotly(label)}, "automargin": True}
    if log:
        axis["type"] = "log"
        # A tick at each power of 10; Plotly takes the ends as logarithms.
        axis["dtick"] = 1
        if span is not None:
            axis["range"] = [math.log10(end) for end in span]
    elif span is not None:
        axis["range"] = list(span)
    return axis


def _traces(
    line: Line, look: Look, precision: Precision, *, probit: bool
) -> Iterator[Plot]:
    """Yield the traces of a line: those of its band, if it has one, and then the line.

    A band is two lines without width; the area from the upper to the lower is filled.

    Args:
        probit: whether x is a probability that is drawn at its normal quantile.
    """
    shared: Plot = {
        "legendgroup": printable(line.name) if line.row is None else str(line.row),
        "showlegend": False,
        "name": plotly(line.name, precision.name),
    }
    if line.kind == "bars":
        yield shared | _bars(line, look, precision)
        return
    shared["type"] = "scatter"
    shared["x"] = _rounded(line.x, precision.decimals + 2)
    if probit:
        # The text under the pointer shows the probability.
        shared["customdata"] = shared["x"]
        shared["x"] = _rounded(at_quantiles(shared["x"]), QUANTILE_DECIMALS)
        line = replace(line, hover=f"{line.hover or '%{y}'} at %{{customdata:.5~g}}")
    if line.low is not None and line.high is not None:
        edge = shared | {
            "mode": "lines",
            "line": {"width": 0} | _shape(line),
            "hoverinfo": "skip",
        }
        red, green, blue = bytes.fromhex(look.colour[1:])
        colour = f"rgba({red},{green},{blue},{BAND_OPACITY:g})"
        filled = {"fill": "tonexty", "fillcolor": colour}
        yield edge | {"y": _rounded(line.low, precision.decimals)}
        yield edge | {"y": _rounded(line.high, precision.decimals)} | filled
    yield shared | _middle(line, look, precision)


def _bars(line: Line, look: Look, precision: Precision) -> Plot:
    """Return the properties of bars; the text under the pointer may name their images."""
    pattern = {"shape": BAR_PATTERNS[look.dash]}
    return {
        "type": "bar",
        "x": list(line.x),
        "y": _rounded(line.y, precision.decimals),
        "marker": {"color": look.colour, "pattern": pattern},
        "customdata": list(line.images),
        "hovertemplate": line.hover,
    }


def _middle(line: Line, look: Look, precision: Precision) -> Plot:
    """Return the properties of a line, or of points, without its band."""
    dash = "dash" if line.dashed else look.dash
    drawn: Plot = {
        "y": _rounded(line.y, precision.decimals),
        "line": {"color": look.colour, "dash": dash, "width": 2} | _shape(line),
        "opacity": BEHIND_OPACITY if line.dashed else 1.0,
        "mode": MODES.get(line.kind, "lines"),
    }
    if line.hover:
        drawn["hovertemplate"] = line.hover
    if line.figures:
        drawn["text"] = list(line.figures)
    if line.kind == "points":
        symbol = "x" if line.dashed else SYMBOLS_OF_POINTS[look.dash]
        drawn["marker"] = {"color": look.colour, "symbol": symbol, "size": 8}
    elif look.marker:
        drawn["mode"] = "lines+markers"
        drawn["marker"] = {"symbol": look.marker, "size": 7, "maxdisplayed": MOST_MARKS}
    if line.labels:
        drawn["text"] = [plotly(label, LABEL_LENGTH) for label in line.labels]
        drawn["hovertemplate"] = LABELLED_POINT
    return drawn


def _key_of_crosses() -> Plot:
    """Return a trace without points, for the entry of crosses in the legend.

    It is in a colour that no line has.
    """
    return {
        "type": "scatter",
        "x": [None],
        "y": [None],
        "mode": "markers",
        "marker": {"color": GREY, "symbol": "x", "size": 8},
        "name": CROSSES,
        "showlegend": True,
    }


def _shape(line: Line) -> Plot:
    """Return how Plotly joins points: for a step, first up or down, and then across."""
    return {"shape": "vh"} if line.kind == "step" else {}


def _rounded(values: Numbers | Sequence[str], decimals: int) -> list[float]:
    """Return numbers rounded to so many decimals."""
    return [round(float(value), decimals) for value in values]
