"""Charts of a page: what Plotly draws."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
# Plotly's pattern of a bar for each dash pattern of a line.
BAR_PATTERNS = dict(zip(DASHES, ("", "/", ".", "x"), strict=True))
# Points have no dashes: symbols tell them apart.
SYMBOLS_OF_POINTS = dict(
    zip(DASHES, ("circle", "square", "triangle-up", "diamond"), strict=True)
)
# Marks on a line, at most.
MOST_MARKS = 10
# Decimals of the normal quantile at which a probability is drawn.
QUANTILE_DECIMALS = 4
# Plotly's mode for each kind of line that has one of its own.
MODES = {"points": "markers", "marked line": "lines+markers"}
LABELLED_POINT = "%{x:.4~g}, %{y:.4~g} %{text}<extra>%{fullData.name}</extra>"


@dataclass(frozen=True)
class Precision:
    """How much of names and numbers a chart keeps.

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
        by_name: the look of each line's name, for a figure whose legend explains them.
            None stands for a panel of a page: the legend of the page shows and hides
            the rows of the sheet.
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
        # Of the traces of a line the last is the line itself.
        drawn[-1]["showlegend"] = by_name is not None and line.name not in in_legend
        in_legend.add(line.name)
        traces += drawn
    if by_name is not None and has_crosses([panel]):
        traces.append(_key_of_crosses())
    return {"data": traces, "layout": _layout(panel, is_figure=by_name is not None)}


def _layout(panel: Axes, *, is_figure: bool) -> Plot:
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
        layout["margin"] = {"r": 12, "b": 48}
    if panel.unknown_below is not None:
        left = (panel.x_range or (0.0, 1.0))[0]
        ends = [left, panel.unknown_below]
        if panel.probit_x:
            ends = at_quantiles(ends).tolist()
        layout["shapes"] = [_unknown_zone(*ends)]
        layout["annotations"] = [_unknown_note(*ends)]
    return layout


def _unknown_zone(left: float, right: float) -> Plot:
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
    """Return what marks probabilities on an axis of their normal quantiles."""
    marks: Plot = {
        "tickvals": _rounded(at_quantiles(PROBABILITY_TICKS), QUANTILE_DECIMALS),
        "ticktext": [f"{p:g}" for p in PROBABILITY_TICKS],
        "unifiedhovertitle": {"text": "%{customdata}"},
    }
    if span is not None:
        marks["range"] = _rounded(at_quantiles(span), QUANTILE_DECIMALS)
    return marks


def _axis(label: str, span: tuple[float, float] | None, log: bool) -> Plot:
    axis: Plot = {"title": {"text": plotly(label)}, "automargin": True}
    if log:
        axis["type"] = "log"
        axis["dtick"] = 1
        if span is not None:
            axis["range"] = [math.log10(end) for end in span]
    elif span is not None:
        axis["range"] = list(span)
    return axis


def _traces(
    line: Line, look: Look, precision: Precision, *, probit: bool
) -> Iterator[Plot]:
    """Draw the band of a line, if it has one, and then the line itself.

    The upper end of the band is filled down to its lower end.

    Args:
        probit: whether x is a probability that is drawn at its quantile; the pointer
            reads the probability.
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
        shared["customdata"] = shared["x"]
        shared["x"] = _rounded(at_quantiles(shared["x"]), QUANTILE_DECIMALS)
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
    """Draw a line, or its points, without a band."""
    dash = "dash" if line.dashed else look.dash
    drawn: Plot = {
        "y": _rounded(line.y, precision.decimals),
        "line": {"color": look.colour, "dash": dash, "width": 2} | _shape(line),
        "opacity": BEHIND_OPACITY if line.dashed else 1.0,
        "mode": MODES.get(line.kind, "lines"),
    }
    if line.hover:
        drawn["hovertemplate"] = line.hover
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
    """Return an entry of the legend that explains all crosses, in no line's colour."""
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
    """Return how points are joined: of a step, first up or down, then across."""
    return {"shape": "vh"} if line.kind == "step" else {}


def _rounded(values: Numbers | Sequence[str], decimals: int) -> list[float]:
    return [round(float(value), decimals) for value in values]
