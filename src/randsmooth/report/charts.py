"""Figures of several panels as values: their axes, lines and colours.

`plotly_charts` makes them charts of a page, `figures` images and pages of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from randsmooth import errors

# Colours that colour-blind readers can tell apart (Okabe & Ito 2008); a dash pattern
# where they run out.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#9467BD")
BASELINE = "#808080"
DASHES = ("solid", "dash", "dot", "dashdot")

Numbers = Sequence[float] | NDArray[np.float64]
LineKind = Literal["line", "step", "marked line", "points", "bars"]


@dataclass(frozen=True)
class Look:
    """How one table's curve is drawn: an #RRGGBB colour and one of DASHES."""

    colour: str
    dash: str


def looks(count: int, baseline: int | None) -> list[Look]:
    """Return a look for each of `count` tables.

    The baseline is grey, the others have the colours of the palette in order.
    """
    looks = []
    others = 0
    for row in range(count):
        if row == baseline:
            looks.append(Look(BASELINE, "solid"))
            continue
        round_of_palette, place = divmod(others, len(PALETTE))
        dash = DASHES[round_of_palette % len(DASHES)]
        looks.append(Look(PALETTE[place], dash))
        others += 1
    return looks


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes:
        name: the line's name in the legend; lines of one name look alike in every
            panel.
        x, y: (M,) the coordinates of the line's points, in the units of the axes.
        kind: "line"; "step", where the height between two points is that of the right
            one; "marked line", with a dot at each point; "points"; or "bars", whose x
            are names.
        dashed: whether the line is dashed, so that it stands back, as published
            figures do beside ours.
        labels: (M,) what each point is, written beside it; empty for none.
        low, high: (M,) the band around y; None without one.
        look: the line's colour and dashes; None gives it the look of its name in the
            figure.
        row: the row of the line's table in the sheet; a page's legend shows and hides
            lines by it.
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
        title: the text above the axes.
        x, y: the labels of the axes.
        lines: the lines, in the order in which they are drawn.
        log, log_x: whether y, and x, are logarithmic.
        y_range, x_range: the ends of the axes; None lets the lines decide.
        unknown_below: x below which nothing is known, shaded from the left end of the
            axis.
        from_zero, zero_line: y begins at 0; 0 is drawn as a thick line. Both on pages
            only, as are the next two.
        hover: Plotly's format of an x under the pointer; empty for the usual one.
        height: the height of the chart, in pixels.

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


def looks_by_name(panels: Sequence[Axes]) -> dict[str, Look]:
    """Return the look of every line's name, the same in all panels."""
    own_looks = {line.name: line.look for panel in panels for line in panel.lines}
    usual_looks = looks(len(own_looks), None)
    return {
        name: own or usual
        for (name, own), usual in zip(own_looks.items(), usual_looks, strict=True)
    }
