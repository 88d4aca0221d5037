"""Certificates, comparisons and estimates as a notebook shows them.

Each is a piece of HTML without scripts: checks, answer, a small curve. Lines and words
take the colour of the notebook's text, so that both a light and a dark page show them.
"""

from collections.abc import Sequence
from functools import singledispatch
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.escape import printable
from randsmooth.metrics import Comparison, Difference, Estimate
from randsmooth.progress import worded
from randsmooth.report.printed import acr_decimals, percent
from randsmooth.report.sheet import Sheet, build_sheet

# The size of a drawing, in units of its own, and the room for its words.
WIDTH = 340
HEIGHT = 130
LEFT = 40
RIGHT = 10
TOP = 14
BOTTOM = 20

# Points of a curve.
POINTS = 120

# The style of the whole, and of what stands back.
BLOCK_STYLE = "max-width: 42em; line-height: 1.45"
FAINT_STYLE = "opacity: 0.75; font-size: 0.92em"
CELL_STYLE = "text-align: right; padding: 0.15em 0.7em"

Floats = NDArray[np.float64]


@singledispatch
def html_of(value: object) -> str:
    """Return a value as a piece of HTML that is well-formed XML, too.

    Example:
        >>> html_of(Estimate(0.5, 0.4, 0.6, 100)).startswith("<div")
        True
    """
    block = _block()
    _paragraph(block, printable(repr(value)))
    return _text(block)


@html_of.register
def _(value: Certificates) -> str:
    block = _block()
    _paragraph(block, printable(repr(value)), bold=True)
    if len(value) == 0:
        return _text(block)
    sheet = build_sheet([value])
    _add_checks(block, sheet)
    _paragraph(block, worded(sheet.answer))
    _add_answer_table(block, sheet)
    if value.labelled:
        at = None if sheet.at is None else sheet.at.radius
        _add_accuracy_curve(block, value, at)
    return _text(block)


@html_of.register
def _(value: Comparison) -> str:
    block = _block()
    title = f"{value.a} against {value.b}, {value.images:,} images"
    _paragraph(block, printable(title), bold=True)
    _paragraph(block, printable(str(value)))
    if value.acr is not None:
        decimals = acr_decimals(value.norm)
        low, high = (f"{end:+.{decimals}f}" for end in (value.acr.low, value.acr.high))
        difference = f"{value.acr.value:+.{decimals}f}"
        _paragraph(block, f"ACR: {difference} ({low} to {high})")
    if value.curve is not None:
        _add_difference_curve(block, value.curve)
    _paragraph(block, printable(str(value.scope)), faint=True)
    return _text(block)


@html_of.register
def _(value: Estimate) -> str:
    block = _block()
    _paragraph(block, str(value), bold=True)
    _add_interval(block, value)
    return _text(block)


def _block() -> Element:
    return Element("div", {"class": "randsmooth", "style": BLOCK_STYLE})


def _text(block: Element) -> str:
    return ElementTree.tostring(block, encoding="unicode", short_empty_elements=True)


def _paragraph(
    block: Element, text: str, *, bold: bool = False, faint: bool = False
) -> None:
    """Add a paragraph; what a name in it holds is text, whatever it is."""
    paragraph = SubElement(block, "p", {"style": FAINT_STYLE} if faint else {})
    holder = SubElement(paragraph, "b") if bold else paragraph
    holder.text = text


def _add_checks(block: Element, sheet: Sheet) -> None:
    """Add a line for each failed check, and one for each kind that passed."""
    lines = sheet.check_block.lines
    if not lines:
        return
    listed = SubElement(block, "ul", {"style": "list-style: none; padding-left: 0"})
    for line in lines:
        item = SubElement(listed, "li")
        mark = SubElement(item, "span", {"role": "img", "aria-label": line.word})
        mark.text = line.mark
        mark.tail = f" {printable(line.sentence)}"
    for note in sheet.check_block.notes:
        _paragraph(block, worded(note), faint=True)


def _add_answer_table(block: Element, sheet: Sheet) -> None:
    """Add the figures of the answer; the name of the table stands above."""
    answer = sheet.answer
    (cells,) = answer.cells
    table = SubElement(block, "table")
    head = SubElement(table, "tr")
    row = SubElement(table, "tr")
    for title, cell in zip(answer.head[1:], cells[1:], strict=True):
        SubElement(head, "th", {"style": CELL_STYLE}).text = title
        SubElement(row, "td", {"style": CELL_STYLE}).text = cell


def _add_accuracy_curve(block: Element, table: Certificates, at: float | None) -> None:
    """Draw certified accuracy by radius, with a dot at the radius of the answer."""
    end = float(np.max(table.radius * table.correct))
    if end == 0.0:
        return
    radii = np.linspace(0.0, end, POINTS)
    shares = metrics.certified_shares(table, radii)
    drawing = _drawing(block, "Certified accuracy by radius", end, ("0", "100%"))
    _line(drawing, radii / end, shares)
    if at is not None and at <= end:
        estimate = metrics.certified_accuracy(table, at)
        x, y = _places(np.array([at / end]), np.array([estimate.value]))
        dot = {"cx": x[0], "cy": y[0], "r": "3.5", "fill": "currentColor"}
        SubElement(drawing, "circle", dot)
        words = f"{percent(estimate)}% at {at:g}"
        # In the right half they end at the dot, or they would leave the drawing.
        if at > end / 2:
            _words(drawing, words, float(x[0]) - 6, float(y[0]) - 6, anchor="end")
        else:
            _words(drawing, words, float(x[0]) + 6, float(y[0]) - 6)


def _add_difference_curve(block: Element, curve: Difference) -> None:
    """Draw the difference of two curves with its band, and a line at 0."""
    end = float(curve.radii[-1])
    most = float(max(np.abs(curve.low).max(), np.abs(curve.high).max()))
    if end == 0.0 or most == 0.0:
        return
    # About POINTS of the radii, the first and the last among them.
    drawn = np.arange(0, len(curve.radii), max(1, len(curve.radii) // POINTS))
    drawn = np.union1d(drawn, len(curve.radii) - 1)
    places = curve.radii[drawn] / end

    def scaled(values: Floats) -> Floats:
        return 0.5 + 0.5 * values[drawn] / most

    # Significant digits, so that a narrow band does not end at 0.
    points = f"{100.0 * most:.3g}"
    limits = (f"-{points}", f"+{points} points")
    drawing = _drawing(block, "Difference in certified accuracy by radius", end, limits)
    there = np.concatenate([places, places[::-1]])
    around = np.concatenate([scaled(curve.low), scaled(curve.high)[::-1]])
    band = {"points": _points(there, around), "fill": "currentColor"}
    SubElement(drawing, "polygon", band | {"fill-opacity": "0.18"})
    _line(drawing, np.array([0.0, 1.0]), np.array([0.5, 0.5]), dashed=True)
    _line(drawing, places, scaled(curve.value))


def _add_interval(block: Element, estimate: Estimate) -> None:
    """Draw the interval of a share as a bar between 0 and 1; other figures have none."""
    if not (0.0 <= estimate.low <= estimate.high <= 1.0):
        return
    drawing = _drawing(block, "The value and its 95% interval", 1.0, ("", ""))
    _line(drawing, np.array([estimate.low, estimate.high]), np.array([0.5, 0.5]))
    x, y = _places(np.array([estimate.value]), np.array([0.5]))
    dot = {"cx": x[0], "cy": y[0], "r": "4", "fill": "currentColor"}
    SubElement(drawing, "circle", dot)


def _drawing(
    block: Element, title: str, end: float, limits: tuple[str, str]
) -> Element:
    """Add an empty drawing with its axes.

    Args:
        block: what it stands in.
        title: what it shows.
        end: the figure at the right end of the horizontal axis, which begins at 0.
        limits: the words at both ends of the vertical axis.
    """
    attributes = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": f"0 0 {WIDTH} {HEIGHT}",
        "width": str(WIDTH),
        "height": str(HEIGHT),
        "role": "img",
        "aria-label": title,
    }
    drawing = SubElement(block, "svg", attributes)
    SubElement(drawing, "title").text = title
    _line(drawing, np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), faint=True)
    bottom = HEIGHT - BOTTOM
    low, high = limits
    _words(drawing, low, LEFT - 4, bottom, anchor="end")
    _words(drawing, high, LEFT + 4, TOP - 2)
    _words(drawing, "0", LEFT, HEIGHT - 6)
    _words(drawing, f"{end:.3g}", WIDTH - RIGHT, HEIGHT - 6, anchor="end")
    return drawing


def _places(x: Floats, y: Floats) -> tuple[Sequence[str], Sequence[str]]:
    """Return where points between 0 and 1 lie in a drawing."""
    across = LEFT + x * (WIDTH - LEFT - RIGHT)
    down = HEIGHT - BOTTOM - y * (HEIGHT - BOTTOM - TOP)
    return [f"{place:.1f}" for place in across], [f"{place:.1f}" for place in down]


def _points(x: Floats, y: Floats) -> str:
    return " ".join(map(",".join, zip(*_places(x, y), strict=True)))


def _line(
    drawing: Element, x: Floats, y: Floats, *, faint: bool = False, dashed: bool = False
) -> None:
    attributes = {
        "points": _points(x, y),
        "fill": "none",
        "stroke": "currentColor",
        "stroke-width": "1" if faint or dashed else "2",
        "stroke-opacity": "0.5" if faint or dashed else "1",
    }
    if dashed:
        attributes["stroke-dasharray"] = "4 3"
    SubElement(drawing, "polyline", attributes)


def _words(
    drawing: Element, words: str, x: float, y: float, anchor: str = "start"
) -> None:
    attributes = {
        "x": f"{x:.1f}",
        "y": f"{y:.1f}",
        "text-anchor": anchor,
        "font-size": "11",
        "fill": "currentColor",
    }
    SubElement(drawing, "text", attributes).text = words
