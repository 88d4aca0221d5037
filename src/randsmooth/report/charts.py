"""Figures of several panels as values: their axes, lines and colours.

`plotly_charts` makes them charts of a page, `figures` images and pages of their own.
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from randsmooth import errors
from randsmooth.report.grouping import gathered

# Colours that colour-blind readers can tell apart, after Okabe & Ito 2008. Its two
# lightest are darker here: against white as against black, contrast is 3 : 1 or more.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B57F00", "#3D9BD6", "#9467BD")
GREY = "#767676"
# The methods of the literature that have a colour of their own, whatever stands beside
# them.
METHOD_COLOURS = {
    "gaussian": GREY,
    "catrs": PALETTE[0],
    "amplify": PALETTE[1],
    "smoothadv": PALETTE[2],
    "consistency": PALETTE[3],
    "stability": PALETTE[4],
    "macer": PALETTE[5],
    "smoothmix": PALETTE[6],
}
DASHES = ("solid", "dash", "dot", "dashdot")
# Marks on lines where dashes run out; the empty one is none.
MARKERS = ("", "circle", "square", "triangle-up", "diamond")
# Marks of an axis of probabilities at normal quantiles, and its ends.
PROBABILITY_TICKS = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)
LEAST_PROBABILITY = 0.0001
LARGEST_PROBABILITY = 0.99999
# Share of a common range that is left free at each of its ends.
FREE_AT_ENDS = 0.04
# What the crosses of a figure are: points that stand back.
CROSSES = "published figures"

Numbers = Sequence[float] | NDArray[np.float64]
LineKind = Literal["line", "step", "marked line", "points", "bars"]


@dataclass(frozen=True)
class Look:
    """The look of a curve.

    Attributes:
        colour: the colour, as #RRGGBB.
        dash: the pattern of the line, one of DASHES.
        marker: the mark at points of the line, one of MARKERS.
    """

    colour: str
    dash: str
    marker: str = ""


def looks(
    names: Sequence[str], methods: Sequence[str] = (), first: int | None = None
) -> list[Look]:
    """Return the look of each line.

    A method has one colour, whatever its place; lines differ in dashes or markers too,
    so that they can be told apart in grey.

    Args:
        names: the name of each line.
        methods: the method of each line; empty where `names` tell them.
        first: the index of the line that is solid, such as the baseline; None for the
            first line.

    Example:
        >>> [look.dash for look in looks(["macer", "gaussian"], first=1)]
        ['dash', 'solid']
        >>> looks(["macer"])[0].colour == looks(["gaussian", "macer"])[1].colour
        True
    """
    colour_keys = [_colour_key(method) for method in methods or names]
    if len(set(colour_keys)) == 1:
        # All lines are of one method: each has a colour by its own name instead.
        colour_keys = [_key(name) for name in names]
    colour_of_key = _colours(colour_keys)

    # The line `first` comes before the others, since False sorts before True.
    in_order = sorted(range(len(names)), key=lambda row: row != first)
    look_of_row = {}
    for place, row in enumerate(in_order):
        dash = DASHES[place % len(DASHES)]
        look_of_row[row] = Look(colour_of_key[colour_keys[row]], dash, _marker(place))
    return [look_of_row[row] for row in range(len(names))]


def _marker(place: int) -> str:
    """Return the marker of the `place`-th line: none while there are dashes left."""
    earlier_rounds, dash = divmod(place, len(DASHES))
    if earlier_rounds == 0:
        return ""
    # In each round every dash has another marker than before.
    shapes = MARKERS[1:]
    return shapes[(dash + earlier_rounds - 1) % len(shapes)]


def _key(name: str) -> str:
    """Return a name in small letters, without spaces and signs: CAT-RS is catrs.

    A name of other letters alone is its own key.
    """
    return re.sub(r"[^a-z0-9]", "", name.lower()) or name


def _colour_key(name: str) -> str:
    """Return the key by which a name gets its colour.

    It is the method of METHOD_COLOURS in the name, the first of several, or else the key
    of the whole name.
    """
    key = _key(name)
    known = [method for method in METHOD_COLOURS if method in key]
    return min(known, key=key.index, default=key)


def _colours(keys: Sequence[str]) -> dict[str, str]:
    """Return key -> its colour.

    A key that is no known method has a colour that follows from its letters, so that it
    is the same in other figures. Where that colour is taken, it has the next free one.
    """
    known = set(keys) & set(METHOD_COLOURS)
    colour_of_key = {key: METHOD_COLOURS[key] for key in known}
    for key in sorted(set(keys) - known):
        # A checksum, unlike `hash`, is the same in every process.
        start = zlib.crc32(key.encode()) % len(PALETTE)
        from_own_colour = (*PALETTE[start:], *PALETTE[:start])
        taken = set(colour_of_key.values())
        free = (colour for colour in from_own_colour if colour not in taken)
        # With more keys than colours, two keys share a colour.
        colour_of_key[key] = next(free, from_own_colour[0])
    return colour_of_key


@dataclass(frozen=True)
class Line:
    """One curve, or a set of points or bars.

    Attributes:
        name: the line's name in the legend; lines of one name look alike in every
            panel.
        x, y: (M,) the coordinates of the line's points, in the units of the axes.
        kind: "line"; "step", where the height between two points is that of the right
            one; "marked line", with a dot at each point; "points"; or "bars", whose x
            are names.
        dashed: whether the line stands back behind the others, as published figures
            do beside ours: dashes for a line, crosses for points.
        labels: (M,) the text beside each point; empty for none.
        low, high: (M,) the band around y; None without one.
        look: the line's colour and dashes; None gives it the look of its name in the
            figure.
        row: the row of the line's table in the sheet, by which the legend of a page
            shows and hides lines; None outside of such a page.
        images: (M,) the number of images behind each bar; empty for other kinds.
        hover: Plotly's template of the text under the pointer; empty for the usual one.
        figures: (M,) y as printed, which the template has as %{text}; empty where it
            has none.

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
    figures: Sequence[str] = ()

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
        probit_x: whether x is a probability that is drawn at its normal quantile, which
            spreads out values near 0 and 1.
        y_range, x_range: the ends of the axes; None lets the lines decide.
        unknown_below: x below which nothing is known, shaded from the left end of the
            axis.
        from_zero: whether y begins at 0; on pages only.
        zero_line: whether y = 0 is drawn as a thick line; on pages only.
        hover: Plotly's format of an x under the pointer, on pages only; empty for the
            usual one.
        height: the height of the chart in pixels, on pages only.

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
    probit_x: bool = False
    y_range: tuple[float, float] | None = None
    x_range: tuple[float, float] | None = None
    unknown_below: float | None = None
    from_zero: bool = False
    zero_line: bool = False
    hover: str = ""
    height: int = 360


def looks_by_name(panels: Sequence[Axes]) -> dict[str, Look]:
    """Return name of a line -> its look, the same in all panels.

    It is the look that a line of this name has, or else the usual one.
    """
    own_looks = {line.name: line.look for panel in panels for line in panel.lines}
    usual_looks = looks(list(own_looks))
    return {
        name: own or usual
        for (name, own), usual in zip(own_looks.items(), usual_looks, strict=True)
    }


def at_quantiles(p: Numbers | Sequence[str]) -> NDArray[np.float64]:
    """Return the normal quantiles of probabilities.

    Those of 0 and 1 are infinite: the ends of an axis of probabilities stand for them.

    Example:
        >>> at_quantiles([0.5, 0.84134475]).round(3).tolist()
        [0.0, 1.0]
    """
    inside = np.clip(np.asarray(p, float), LEAST_PROBABILITY, LARGEST_PROBABILITY)
    return np.asarray(ndtri(inside), float)


def has_crosses(panels: Sequence[Axes]) -> bool:
    """Return whether any panel has crosses, which a legend has to explain."""
    return any(is_crosses(line) for panel in panels for line in panel.lines)


def is_crosses(line: Line) -> bool:
    """Return whether a line is drawn as crosses: points that stand back."""
    return line.kind == "points" and line.dashed


def with_equal_axes(panels: Sequence[Axes]) -> list[Axes]:
    """Return the panels with one range for axes of one title, so that they compare.

    A range that a panel has is kept.

    Example:
        >>> lines = [Line("a", [0.0, 1.0], [5.0, 0.0]), Line("a", [0.0, 3.0], [9.0, 0.0])]
        >>> panels = [Axes("", "radius", "accuracy", [line]) for line in lines]
        >>> {panel.x_range for panel in with_equal_axes(panels)}
        {(-0.12, 3.12)}
    """
    x_groups = gathered(((panel.x, panel.log_x), panel) for panel in panels)
    y_groups = gathered(((panel.y, panel.log), panel) for panel in panels)
    x_ranges = {key: _common_range(group, "x") for key, group in x_groups.items()}
    y_ranges = {key: _common_range(group, "y") for key, group in y_groups.items()}
    return [
        replace(
            panel,
            x_range=panel.x_range or x_ranges[panel.x, panel.log_x],
            y_range=panel.y_range or y_ranges[panel.y, panel.log],
        )
        for panel in panels
    ]


def _common_range(
    panels: Sequence[Axes], axis: Literal["x", "y"]
) -> tuple[float, float] | None:
    """Return a range that holds all lines of several panels, with space at both ends.

    The answer is None, which leaves the range to the plot library, for a single panel,
    for bars, and where all values are equal or none can be drawn.
    """
    if len(panels) < 2:
        return None
    # All panels have the same kind of axis, by which they were grouped.
    is_log = panels[0].log_x if axis == "x" else panels[0].log
    # The empty part lets panels without lines be concatenated.
    parts = [np.zeros(0)]
    for panel in panels:
        for line in panel.lines:
            if line.kind == "bars":
                return None
            values = [line.x] if axis == "x" else [line.y, line.low, line.high]
            parts += [np.asarray(part, float) for part in values if part is not None]
    numbers = np.concatenate(parts)
    drawn = numbers[np.isfinite(numbers)]
    if is_log:
        drawn = drawn[drawn > 0.0]
    if not len(drawn):
        return None
    low = float(drawn.min())
    high = float(drawn.max())
    if is_log and low < high:
        factor = (high / low) ** FREE_AT_ENDS
        return low / factor, high * factor
    free = FREE_AT_ENDS * (high - low)
    return (low - free, high + free) if free > 0.0 else None
