"""The panels of a figure as plain data: each is a pair of axes with lines in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from randsmooth import errors
from randsmooth.report.figures.colours import Look, looks

Floats = NDArray[np.float64]
LineKind = Literal["line", "step", "points"]


@dataclass(frozen=True)
class Line:
    """One curve.

    Attributes:
        name: for the legend; lines of one name look alike in every panel.
        x, y: (M,).
        kind: "line"; "step", where the height between two points is that of the right one; or "points".
        dashed: drawn so that it stands back, as published figures do beside ours.
        labels: (M,) what each point is, written beside it; empty for none.

    Raises:
        InputError: another kind.

    Example:
        >>> Line("n = 100", np.array([0.0, 0.5]), np.array([90.0, 60.0]), "step").dashed
        False
    """

    name: str
    x: Floats
    y: Floats
    kind: LineKind = "line"
    dashed: bool = False
    labels: tuple[str, ...] = ()

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
        y_range: of the axis; None: what the lines need.

    Example:
        >>> Axes("digits", "radius", "certified accuracy (%)", (), log=True).log_x
        False
    """

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    log: bool = False
    log_x: bool = False
    y_range: tuple[float, float] | None = None


def looks_by_name(panels: Sequence[Axes]) -> dict[str, Look]:
    """The look of every line's name, the same in all panels."""
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    return dict(zip(names, looks(len(names), None), strict=True))
