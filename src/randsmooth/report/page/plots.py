"""The page's plots as plain data for plotly.js: a band and a staircase a table, colours left to the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.escape import plotly
from randsmooth.report.figures import curves
from randsmooth.report.figures.colours import Look
from randsmooth.report.figures.curves import Curve

Plot = dict[str, Any]
NAME = 32  # characters of a name beside a curve


def radius_plot(tables: Sequence[Certificates], looks: Sequence[Look]) -> Plot:
    """Certified accuracy against the radius."""
    grid = curves.radius_grid(tables)
    drawn = [curves.radius_curve(table, grid) for table in tables]
    layout = _layout("certified L2 radius (pixels in [0, 1])", "certified accuracy (%)", [0.0, float(grid[-1])])
    return {"data": _traces(tables, drawn, looks), "layout": layout}


def p_a_plot(tables: Sequence[Certificates | None], looks: Sequence[Look]) -> Plot | None:
    """Share of images with at least each p_A, of the tables that know it (None for one that does not)."""
    known = [(row, table) for row, table in enumerate(tables) if table is not None]
    if not known:
        return None
    drawn = [curves.p_a_curve(table, curves.p_a_grid()) for _, table in known]
    start = min(float(curve.x[0]) for curve in drawn)
    left = round(max(0.0, start - 0.06), 3)
    layout = _layout("p_A", "images with at least this p_A (%)", [left, 1.0])
    if start > 0.0:
        layout |= _unknown_zone(left)
    rows = [row for row, _ in known]
    data = _traces([table for _, table in known], drawn, [looks[row] for row in rows], rows)
    return {"data": data, "layout": layout}


def _traces(
    tables: Sequence[Certificates],
    drawn: Sequence[Curve],
    looks: Sequence[Look],
    rows: Sequence[int] | None = None,
) -> list[dict[str, Any]]:
    data = []
    places = range(len(tables)) if rows is None else rows
    for row, table, curve, look in zip(places, tables, drawn, looks, strict=True):
        shared = {"x": _round(curve.x), "mode": "lines", "legendgroup": str(row), "showlegend": False}
        edge = shared | {"line": {"width": 0, "shape": "vh"}, "hoverinfo": "skip"}
        data.append(edge | {"y": _round(100 * curve.low)})
        data.append(edge | {"y": _round(100 * curve.high), "fill": "tonexty", "fillcolor": look.faint(0.15)})
        line = {"color": look.colour, "dash": look.dash, "width": 2, "shape": "vh"}
        hover = {"name": plotly(table.name, NAME), "hovertemplate": "%{y:.1f}%"}
        data.append(shared | {"y": _round(100 * curve.share), "line": line} | hover)
    return data


def _round(values: NDArray[np.float64]) -> list[float]:
    return [round(float(value), 4) for value in values]


def _layout(x: str, y: str, span: list[float]) -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": x}, "range": span, "automargin": True, "hoverformat": ".3~f"},
        "yaxis": {"title": {"text": y}, "rangemode": "tozero", "automargin": True},
        "margin": {"l": 48, "r": 12, "t": 12, "b": 48},
        "height": 400,
        "hovermode": "x unified",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }


def _unknown_zone(left: float) -> dict[str, Any]:
    zone = {"type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": 0.5, "y0": 0, "y1": 1}
    note = {"text": "below 1/2: not in the logs", "textangle": -90, "showarrow": False}
    place = {"xref": "x", "yref": "paper", "x": round((left + 0.5) / 2, 3), "y": 0.5}
    return {
        "shapes": [zone | {"fillcolor": "rgba(128,128,128,0.18)", "line": {"width": 0}, "layer": "below"}],
        "annotations": [note | place],
    }
