"""The curves of tables: by radius, by p_A, and by the number of samples, as points with 95% bands and as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.report.figures.charts import Chart, Look, Scale, Series

Floats = NDArray[np.float64]

POINTS = 500
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
RADIUS = "certified L2 radius (pixels in [0, 1])"
BUDGETS = (100, 300, 1_000, 3_000, 10_000, 30_000)
MARGIN = 0.06  # of p_A, to the left of where the first curve begins


@dataclass(frozen=True)
class Curve:
    """A falling staircase: between two points the height is that of the right one.

    Attributes:
        x: (M,) ascending.
        share: (M,) share of images that reach x.
        low, high: (M,) pointwise 95% interval (Wilson).
    """

    x: Floats
    share: Floats
    low: Floats
    high: Floats


def radius_curve(table: Certificates, x: Floats) -> Curve:
    """Certified accuracy at each radius of `x` (M,)."""
    return _curve(x, metrics.certified_shares(table, x), len(table))


def p_a_curve(table: Certificates, x: Floats) -> Curve:
    """Share of images with p_A of at least each of `x` (M,), from where the table knows it."""
    shares = metrics.p_a_curve(table, x)
    known = ~np.isnan(shares)
    return _curve(x[known], shares[known], len(table))


def _curve(x: Floats, share: Floats, images: int) -> Curve:
    low, high = metrics.wilson(np.rint(share * images), images)
    return Curve(x, share, low, high)


def radius_grid(tables: Sequence[Certificates]) -> Floats:
    """Radii from 0 to just past the farthest certificate, at most about POINTS, on a round step."""
    farthest = max((float(np.max(t.radius * t.correct, initial=0.0)) for t in tables), default=0.0)
    step = next((s for s in STEPS if farthest / s <= POINTS), farthest / POINTS)
    return np.round(np.arange(int(farthest / step) + 3) * step, 9)


def p_a_grid() -> Floats:
    """p_A from 0 to 1, finer above 0.99, where the curves fall steeply.

    Divided, as counts are, so that k / n = x is met exactly.
    """
    return np.unique(np.concatenate((np.arange(401) / 400, np.arange(9900, 10001, 2) / 10000)))


def radius_chart(tables: Sequence[Certificates], looks: Sequence[Look]) -> Chart:
    """Certified accuracy in percent against the radius, a series for each table whose images have labels."""
    grid = radius_grid(tables)
    known = [(row, table) for row, table in enumerate(tables) if table.labelled]
    series = [_series(row, table, radius_curve(table, grid), looks[row]) for row, table in known]
    y = Scale("certified accuracy (%)", from_zero=True)
    return Chart(Scale(RADIUS, (0.0, float(grid[-1])), hover=".3~f"), y, series, height=400)


def p_a_chart(known: Mapping[int, Certificates], looks: Sequence[Look]) -> Chart:
    """Share of images in percent with at least each p_A, a series for each table.

    A log gives p_A from 1/2 upward only: where no table gives more, the rest is left out and shaded.

    Args:
        known: the tables whose p_A is known, one or more, by their rows in the sheet.

    Raises:
        InputError: the p_A of one is not known (see `metrics.p_a`).
    """
    grid = p_a_grid()
    series = [_series(row, table, p_a_curve(table, grid), looks[row]) for row, table in known.items()]
    start = min(float(one.x[0]) for one in series)
    left = round(max(0.0, start - MARGIN), 3)
    y = Scale("images with at least this p_A (%)", from_zero=True)
    unknown_below = 0.5 if start > 0.0 else None
    return Chart(Scale("p_A", (left, 1.0), hover=".3~f"), y, series, height=400, unknown_below=unknown_below)


def _series(row: int, table: Certificates, curve: Curve, look: Look) -> Series:
    low, share, high = (100 * end for end in (curve.low, curve.share, curve.high))
    return Series(row, table.name, look, curve.x, share, low, high, "step", hover="%{y:.1f}%")


class BudgetCurve(NamedTuple):
    """ACR at each n, in expectation given the stored samples; the last n is the table's own."""

    n: list[int]
    acr: list[float]


def budget_curves(tables: Sequence[Certificates]) -> list[BudgetCurve | None]:
    """The curve of each table; None where it does not allow one (see `metrics.expected_radius`)."""
    groups: dict[Any, list[int]] = {}
    for row, table in enumerate(tables):
        groups.setdefault(_facts(table), []).append(row)
    found: list[BudgetCurve | None] = [None] * len(tables)
    for rows in groups.values():
        for row, curve in zip(rows, _together([tables[row] for row in rows]), strict=True):
            found[row] = curve
    return found


def _facts(table: Certificates) -> tuple[Any, ...]:
    """What decides how a count is judged: tables that agree in it share the work."""
    header, width = table.header, None if table.counts is None else table.counts.shape[1]
    return width, table.labelled, header.sigma, header.n, header.alpha, header.rule, header.label_aware, header.bound


def _together(tables: Sequence[Certificates]) -> Sequence[BudgetCurve | None]:
    """Curves of tables that agree in `_facts`, so that a count gives the same radius in each of them."""
    header = tables[0].header
    if header.n is None or header.alpha is None:
        return [None] * len(tables)
    least = bounds.smallest_n(header.alpha)
    n = [budget for budget in BUDGETS if least <= budget < header.n] + [header.n]
    whole, ends = _stacked(tables), np.cumsum([len(table) for table in tables])[:-1]
    try:
        radii = [np.split(metrics.expected_radius(whole, budget), ends) for budget in n]
    except InputError:
        return [None] * len(tables)
    return [BudgetCurve(n, [float(at[row].mean()) for at in radii]) for row in range(len(tables))]


def _stacked(tables: Sequence[Certificates]) -> Certificates:
    """One object with the rows of all tables, for arithmetic only: no table has an image twice, and this one may."""
    columns = ["idx", "label", "predict", "radius", "seconds"]
    columns += [] if tables[0].is_log else ["counts0", "counts"]
    joined: dict[str, Any] = {
        column: np.concatenate([getattr(table, column) for table in tables]) for column in columns
    }
    return replace(tables[0], paths=None, **joined)
