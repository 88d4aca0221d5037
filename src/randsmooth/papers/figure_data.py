"""A figure together with the numbers that it draws."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from randsmooth.papers.context import Output
from randsmooth.report import Axes, Line

COLUMNS = ["panel", "line", "drawn", "x is", "x", "y is", "y", "label"]
KINDS = {"line": "curve", "step": "staircase", "points": "points"}


def figure_output(panels: Sequence[Axes], *notes: str) -> Output:
    """The panels that have at least one line, and their numbers for programs."""
    drawn = [panel for panel in panels if panel.lines]
    return Output(panels={"": drawn}, data={"": numbers(drawn)} if drawn else {}, notes=[*notes])


def numbers(panels: Sequence[Axes]) -> pd.DataFrame:
    """The points of a figure, one per row, at full precision.

    Returns:
        panel, line: their titles as drawn. drawn: "curve", "staircase" (the height between two points is that of the
        right one) or "points", with ", behind" for lines drawn in the background, as published figures are. x, y, and
        what each measures. label: what is written beside the point, if anything.
    """
    parts = [_points(panel, line) for panel in panels for line in panel.lines]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)


def _points(panel: Axes, line: Line) -> pd.DataFrame:
    drawn = KINDS[line.kind] + (", behind" if line.dashed else "")
    labels = list(line.labels) or [""] * len(line.x)
    columns = {"panel": panel.title, "line": line.name, "drawn": drawn, "x is": panel.x, "x": line.x}
    return pd.DataFrame({**columns, "y is": panel.y, "y": line.y, "label": labels}, columns=COLUMNS)
