"""Where things stand in the drawings of a page, in percent: their words are HTML, which does not shrink with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 7.0  # percent of the width that a letter takes
HIGHEST = 0.9375  # of a chart's height that its highest point takes
TICKS = 5  # at most, on an axis


@dataclass(frozen=True)
class Tick:
    """A mark of an axis: how far along it, in percent, and its words."""

    at: float
    text: str


@dataclass(frozen=True)
class Curve:
    """A line chart.

    Attributes:
        points: "x,y x,y ..." of the line, for a box of 100 by 100 with y downwards.
        x, y: marks of the axes; those of y are counted from the top.
        dots: (x, y) of points that are marked.
        limit: y of a dashed line; None without one.
    """

    points: str
    x: Sequence[Tick]
    y: Sequence[Tick]
    dots: Sequence[tuple[float, float]]
    limit: float | None


def curve(
    x: Sequence[float],
    y: Sequence[float],
    *,
    marks: Sequence[tuple[float, str]],
    dots: Sequence[int] = (),
    limit: float | None = None,
    last: float | None = None,
) -> Curve:
    """A chart of `y` against the logarithm of `x`, with `marks` on that axis and dots at some of the points.

    The axis goes on to `last`, where that is given.

    Example:
        >>> chart = curve([100, 1000], [0.0, 1.0], marks=[(100, "100")], dots=[1], limit=1.2)
        >>> chart.points, [tick.text for tick in chart.y]
        ('0.00,100.00 100.00,21.88', ['1.0', '0.5', '0'])
    """
    first, end = math.log(x[0]), math.log(x[-1] if last is None else last)
    top = max(*y, limit or 0.0, 1e-9) / HIGHEST

    def across(value: float) -> float:
        return 100.0 * (math.log(value) - first) / max(1e-12, end - first)

    def above(value: float) -> float:
        return 100.0 * (1.0 - value / top)

    places = [(across(a), above(b)) for a, b in zip(x, y, strict=True)]
    return Curve(
        " ".join(f"{a:.2f},{b:.2f}" for a, b in places),
        [Tick(across(value), text) for value, text in marks],
        [Tick(above(value), text) for value, text in reversed(ticks(top))],
        [places[i] for i in dots],
        None if limit is None else above(limit),
    )


def ticks(top: float) -> list[tuple[float, str]]:
    """Round values from 0 to at most `top`, with their words.

    Example:
        >>> [text for _, text in ticks(2.3)]
        ['0', '0.5', '1.0', '1.5', '2.0']
    """
    rough = top / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(i * step, f"{i * step:.{digits}f}" if i else "0") for i in range(math.floor(top / step + 1e-9) + 1)]


@dataclass(frozen=True)
class Mark:
    """A distance on the ruler.

    Attributes:
        letter: stands for it in the drawing.
        at: percent of the width.
        level: 0, 1, ... rows above the line, so that letters do not cover each other.
    """

    letter: str
    at: float
    level: int


@dataclass(frozen=True)
class Ruler:
    """The ball and the distances around an image, at one scale.

    Attributes:
        centre: where the image is, in percent of the width.
        radius: of the ball, in percent of the width.
        height: of the drawing, in percent of its width.
        marks: the distances, nearest first.
        ticks: of the scale below.
    """

    centre: float
    radius: float
    height: float
    marks: Sequence[Mark]
    ticks: Sequence[Tick]


def ruler(radius: float, distances: Sequence[tuple[str, float]]) -> Ruler:
    """`distances` with their letters, and a ball of `radius` (0: none), on one scale.

    Example:
        >>> drawn = ruler(1.0, [("A", 2.0), ("B", 8.0)])
        >>> drawn.centre, [(mark.letter, round(mark.at, 1)) for mark in drawn.marks]
        (11.5, [('A', 31.5), ('B', 91.5)])
    """
    farthest = max([radius * 1.5, *(distance for _, distance in distances), 1e-9])
    room = 5.0 if radius < 0.05 * farthest else 1.5  # percent beside the ball, or beside the image alone
    unit = (91.5 - room) / (farthest + radius)
    centre = room + unit * radius
    placed: list[Mark] = []
    for letter, distance in sorted(distances, key=lambda each: each[1]):
        at = centre + unit * distance
        crowded = [mark.level for mark in placed if at - mark.at < LEVEL]
        placed.append(Mark(letter, at, next(level for level in range(99) if level not in crowded)))
    height = max(14.0, 2.0 * unit * radius + 2.0)
    scale = [Tick(centre + unit * value, text) for value, text in ticks(farthest)]
    return Ruler(round(centre, 2), unit * radius, height, placed, scale)
