"""A chart as plain data: what is drawn, whichever library draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from randsmooth.report.figures.colours import Look

Numbers = Sequence[float] | NDArray[np.float64]
SeriesKind = Literal["step", "line", "marked line", "points", "bars"]


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
