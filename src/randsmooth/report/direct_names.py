"""Names beside the lines of matplotlib's axes, which save a reader the legend."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from randsmooth.report import labels
from randsmooth.report.drawn_text import as_text

# Size of a name beside its line, in points, and how dark it is: the share that is left
# of each part of the line's colour.
NAME_SIZE = 8.0
DARKER = 0.75
# Side of a cell of the grid in which a free place for a name is looked for, in dots.
GRID_CELL = 2.0
# How matplotlib names the style of points that no line joins.
NO_LINE = "None"


def names_beside_lines(axes: Any) -> bool:
    """Write the names of all lines beside them; return whether they fit.

    Nothing is written where one of them does not. Points have the name of their line,
    if one has their name. The figure of the axes must be laid out: names are placed
    by where its lines and texts lie.
    """
    box = axes.get_window_extent()
    columns = int(box.width / GRID_CELL)
    rows = int(box.height / GRID_CELL)
    notes = [_corners(text, box) for text in axes.texts]
    handles = axes.get_lines()
    to_name = _one_of_each_name(handles)
    unnamed = [_cells(handle, box) for handle in handles if handle not in to_name]

    texts = [_text(axes, handle) for handle in to_name]
    named = []
    for handle, text in zip(to_name, texts, strict=True):
        extent = text.get_window_extent()
        named.append(
            labels.Named(
                _cells(handle, box),
                joined=handle.get_linestyle() != NO_LINE,
                width=math.ceil(extent.width / GRID_CELL),
                height=math.ceil(extent.height / GRID_CELL),
            )
        )
    middles = labels.places(named, [*unnamed, *notes], (rows, columns))
    if middles is None:
        for text in texts:
            text.remove()
        return False
    for text, (column, row) in zip(texts, middles, strict=True):
        text.set_position((column / columns, 1.0 - row / rows))
    return True


def _one_of_each_name(handles: Sequence[Any]) -> list[Any]:
    """Return what is named in the axes: of one name a line rather than points."""
    handle_of_name = {}
    for handle in handles:
        name = handle.get_label()
        if name not in handle_of_name or handle.get_linestyle() != NO_LINE:
            handle_of_name[name] = handle
    return list(handle_of_name.values())


def _text(axes: Any, handle: Any) -> Any:
    """Write the name of a line at a place that is still to be found."""
    text = axes.text(
        0.5,
        0.5,
        handle.get_label(),
        fontsize=NAME_SIZE,
        color=_darker(handle.get_color()),
        ha="center",
        va="center",
        transform=axes.transAxes,
    )
    as_text(text)
    return text


def _darker(colour: str) -> str:
    """Return a colour dark enough for small letters on white."""
    parts = bytes.fromhex(colour.removeprefix("#"))
    return "#" + "".join(f"{round(DARKER * part):02x}" for part in parts)


def _cells(handle: Any, box: Any) -> labels.Points:
    """Return the points of a drawn line as columns and rows of a grid over its axes."""
    points = handle.get_transform().transform(handle.get_path().vertices)
    return _on_grid(points, box)


def _corners(text: Any, box: Any) -> labels.Points:
    """Return the corners of a text in the axes, and its middle."""
    extent = text.get_window_extent()
    corners = np.asarray(extent.corners())
    return _on_grid(np.vstack([corners, corners.mean(axis=0)]), box)


def _on_grid(points: labels.Points, box: Any) -> labels.Points:
    """Return points in dots as columns and rows, counted from the top left of `box`."""
    columns = (points[:, 0] - box.x0) / GRID_CELL
    rows = (box.y1 - points[:, 1]) / GRID_CELL
    return np.column_stack([columns, rows])
