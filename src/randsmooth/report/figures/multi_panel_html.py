"""Figures of several pairs of axes, drawn by Plotly for the browser."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from randsmooth.escape import plotly, printable
from randsmooth.extras import needs
from randsmooth.report.figures.axes import Axes, Line
from randsmooth.report.figures.colours import Look
from randsmooth.report.web import html

NAME = 60  # characters of a line's name


def page(panels: Sequence[Axes], title: str, looks: Mapping[str, Look]) -> str:
    """The panels as one HTML page; `looks` maps the name of a line to its colour and style."""
    with needs("a page with plots"):
        import plotly.graph_objects as go
        from plotly.subplots import make_subplots

    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    titles = [plotly(panel.title) for panel in panels]
    figure = make_subplots(rows, columns, subplot_titles=titles, vertical_spacing=min(0.16, 0.4 / rows))
    in_legend: set[str] = set()
    for i, panel in enumerate(panels):
        place = {"row": i // columns + 1, "col": i % columns + 1}
        for line in panel.lines:
            figure.add_trace(_trace(go, line, looks[line.name], first=line.name not in in_legend), **place)
            in_legend.add(line.name)
        figure.update_xaxes(title_text=plotly(panel.x), type="log" if panel.log_x else None, **place)
        figure.update_yaxes(title_text=plotly(panel.y), type="log" if panel.log else None, **place)
        if panel.y_range is not None and not panel.log:
            figure.update_yaxes(range=panel.y_range, **place)
    layout = {"template": "plotly_white", "hovermode": "closest", "legend_traceorder": "normal"}
    figure.update_layout(height=120 + 360 * rows, **layout)
    scripts = [html.asset(__package__, "figure.js")]
    content = {"title": title, "figure": json.loads(figure.to_json())}
    return html.page(__package__, "figure.html.j2", scripts=scripts, plots=True, **content)


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
