"""Names beside their lines: where each stands free, and nearest to its own line.

Lengths are in cells of a grid that covers the axes, rows from the top.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Points = NDArray[np.float64]
Cells = NDArray[np.bool_]

# Distances of a name from its own line, and how much farther every other line is.
NEAREST = 2.5
FARTHEST = 7.0
CLEARANCE = 3.0
# Farther than this from other lines, a place is no better.
FREE_ENOUGH = 16.0


@dataclass(frozen=True)
class Named:
    """What is drawn under a name.

    Attributes:
        points: (M, 2) the column and the row of its points.
        joined: whether a line joins the points.
        width, height: the size of the name as text.
    """

    points: Points
    joined: bool
    width: int
    height: int


def places(
    named: Sequence[Named], others: Sequence[Points], shape: tuple[int, int]
) -> list[tuple[float, float]] | None:
    """Return the middle of each name, (column, row); None where one stands nowhere free.

    Args:
        named: the lines to name, or the points.
        others: (M, 2) points that no name may cover.
        shape: the rows and the columns of the grid.

    Example:
        >>> line = np.array([[0.0, 50.0], [99.0, 50.0]])
        >>> [(x, y)] = places([Named(line, True, 20, 6)], [], (100, 100))
        >>> abs(y - 50.0) < 12.0
        True
    """
    lines = [_covered(one.points, shape, joined=one.joined) for one in named]
    taken = np.zeros(shape, bool)
    for points in others:
        taken |= _covered(points, shape, joined=False)

    middles: list[tuple[float, float]] = []
    for row, one in enumerate(named):
        foreign = taken.copy()
        for place, line in enumerate(lines):
            if place != row:
                foreign |= line
        middle = _place(lines[row], foreign, one)
        if middle is None:
            return None
        middles.append(middle)
        _cover(taken, middle, one)
    return middles


def _place(own: Cells, foreign: Cells, one: Named) -> tuple[float, float] | None:
    """Return the best middle of a name: near its own line, far from all others."""
    size = (one.height, one.width)
    own_distance = _distance_of_box(own, size)
    foreign_distance = _distance_of_box(foreign, size)
    fits = (own_distance >= NEAREST) & (own_distance <= FARTHEST)
    fits &= foreign_distance >= own_distance + CLEARANCE
    fits &= _inside(own.shape, size)
    if not fits.any():
        return None
    score = np.where(fits, np.minimum(foreign_distance, FREE_ENOUGH), -1.0)
    # Of equal places the nearest to its own line: so small a weight decides nothing else.
    score -= 0.01 * own_distance
    row, column = np.unravel_index(int(np.argmax(score)), score.shape)
    return float(column), float(row)


def _distance_of_box(covered: Cells, size: tuple[int, int]) -> NDArray[np.float64]:
    """Return how far a box is from what is covered, for each middle of the box."""
    if not covered.any():
        return np.full(covered.shape, np.inf)
    distance = ndimage.distance_transform_edt(~covered)
    return np.asarray(ndimage.minimum_filter(distance, size=size, mode="nearest"))


def _inside(shape: tuple[int, ...], size: tuple[int, int]) -> Cells:
    """Return the cells around which a box of this size lies inside the grid."""
    inside = np.zeros(shape, bool)
    up = size[0] // 2 + 1
    left = size[1] // 2 + 1
    inside[up : shape[0] - up, left : shape[1] - left] = True
    return inside


def _covered(points: Points, shape: tuple[int, int], *, joined: bool) -> Cells:
    """Return the cells that points lie in, and those of the lines that join them."""
    cells = np.zeros(shape, bool)
    known = points[np.isfinite(points).all(axis=1)]
    if joined and len(known) > 1:
        # Lines that leave the axes go on, though not for ever.
        largest = max(shape)
        known = _dense(np.clip(known, -largest, 2.0 * largest))
    columns, rows = np.rint(known).astype(int).T
    inside = (columns >= 0) & (columns < shape[1]) & (rows >= 0) & (rows < shape[0])
    cells[rows[inside], columns[inside]] = True
    return cells


def _dense(points: Points) -> Points:
    """Return points along the lines that join the given ones, one a cell or more."""
    # The length of each line, in the cells that it crosses.
    steps = np.abs(np.diff(points, axis=0)).max(axis=1)
    # Places along the lines. They must ascend, also where a point stands twice.
    along = np.concatenate([[0.0], np.cumsum(np.maximum(steps, 1e-9))])
    wanted = np.linspace(0.0, along[-1], int(along[-1]) + 2)
    columns = np.interp(wanted, along, points[:, 0])
    rows = np.interp(wanted, along, points[:, 1])
    return np.column_stack([columns, rows])


def _cover(taken: Cells, middle: tuple[float, float], one: Named) -> None:
    """Mark where a name stands, so that no other one stands there."""
    column, row = middle
    top = max(0, int(row - one.height / 2))
    left = max(0, int(column - one.width / 2))
    taken[top : top + one.height, left : left + one.width] = True
