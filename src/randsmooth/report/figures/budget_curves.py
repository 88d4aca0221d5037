"""ACR as it would have been with fewer samples per image, for all tables at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

BUDGETS = (100, 300, 1_000, 3_000, 10_000, 30_000)


class BudgetCurve(NamedTuple):
    """ACR at each n, in expectation given the stored samples; the last n is the table's own."""

    n: list[int]
    acr: list[float]


def curves(tables: Sequence[Certificates]) -> list[BudgetCurve | None]:
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
