"""Three more plots of the page: differences by radius, where one in ACR came from, how ACR depends on the budget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from randsmooth.escape import plotly
from randsmooth.metrics import Difference
from randsmooth.report.figures import budget_curves as budgets
from randsmooth.report.figures.colours import Look
from randsmooth.report.page.plots import NAME, Plot
from randsmooth.report.sheet.against_baseline import Versus
from randsmooth.report.sheet.content import Sheet

POINTS = 200  # of a curve of differences
PATTERNS = {"solid": "", "dash": "/", "dot": ".", "dashdot": "x"}


def difference_plot(sheet: Sheet, compared: Sequence[Versus], looks: Sequence[Look]) -> Plot | None:
    """Each method's certified accuracy minus the baseline's, with its band; None where no pair has a curve."""
    told = [(one.row, one.comparison.curve) for one in compared if one.comparison.curve is not None]
    data = [
        trace for row, curve in told for trace in _band(curve, looks[row], row, plotly(sheet.tables[row].name, NAME))
    ]
    layout = _layout("certified L2 radius (pixels in [0, 1])", "difference (points)")
    layout["yaxis"] |= {"zeroline": True, "zerolinewidth": 2}
    return {"data": data, "layout": layout} if told else None


def _band(curve: Difference, look: Look, row: int, name: str) -> list[Plot]:
    """Lower end, upper end filled down to it, and the difference; dots where it is known at particular radii only."""
    shown = slice(None, None, max(1, len(curve.radii) // POINTS))
    x = curve.radii[shown].tolist()
    low, high, value = ([round(100.0 * float(v), 2) for v in of[shown]] for of in (curve.low, curve.high, curve.value))
    every = {"type": "scatter", "x": x, "legendgroup": str(row), "showlegend": False, "name": name}
    edge = every | {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    line = {"color": look.colour, "dash": look.dash, "width": 2}
    drawn = {"mode": "lines" if curve.whole else "markers", "line": line, "marker": {"color": look.colour}}
    filled = edge | {"y": high, "fill": "tonexty", "fillcolor": look.faint(0.15)}
    return [edge | {"y": low}, filled, every | drawn | {"y": value, "hovertemplate": "%{y:+.1f}"}]


def waterfall_plot(sheet: Sheet, compared: Sequence[Versus], looks: Sequence[Look]) -> Plot | None:
    """A group of bars a bin of the baseline's p_A: what each method's ACR gained or lost there."""
    told = [(versus.row, versus.waterfall) for versus in compared if versus.waterfall is not None]
    if not told:
        return None
    data = []
    for row, parts in told:
        edges = parts.edges
        bins = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
        look = {"color": looks[row].colour, "pattern": {"shape": PATTERNS[looks[row].dash]}}
        bar = {
            "type": "bar",
            "name": plotly(sheet.tables[row].name, NAME),
            "legendgroup": str(row),
            "showlegend": False,
        }
        heights = {"x": bins, "y": [round(float(v), 4) for v in parts.difference], "marker": look}
        images = {"customdata": [int(n) for n in parts.images], "hovertemplate": "%{y:+.4f} (%{customdata:,} images)"}
        data.append(bar | heights | images)
    layout = _layout("p_A under the baseline", "part of the difference in ACR")
    layout["xaxis"] |= {"type": "category"}
    return {"data": data, "layout": layout | {"barmode": "group", "bargap": 0.25}}


def budget_plot(sheet: Sheet, looks: Sequence[Look]) -> Plot | None:
    """ACR against the samples an image, in expectation over the stored ones."""
    data = []
    for row, curve in enumerate(budgets.curves(sheet.tables)):
        if curve is None:  # of a sequential rule, or a log without its facts: said in the remarks
            continue
        line = {"color": looks[row].colour, "dash": looks[row].dash, "width": 2}
        points = {"x": curve.n, "y": [round(value, 4) for value in curve.acr], "mode": "lines+markers", "line": line}
        named = {"name": plotly(sheet.tables[row].name, NAME), "legendgroup": str(row), "showlegend": False}
        data.append(points | named | {"hovertemplate": "%{y:.3f}"})
    if not data:
        return None
    layout = _layout("samples an image, n", "ACR")
    layout["xaxis"] |= {"type": "log", "dtick": 1, "hoverformat": ",d"}
    return {"data": data, "layout": layout}


def _layout(x: str, y: str) -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": x}, "automargin": True},
        "yaxis": {"title": {"text": y}, "automargin": True},
        "margin": {"l": 48, "r": 12, "t": 12, "b": 48},
        "height": 360,
        "hovermode": "x unified",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
