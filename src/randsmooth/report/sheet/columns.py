"""The columns of a sheet: one metric of every table, as measured, as printed, and ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import Estimate

UNKNOWN_FIGURE = "–"  # printed in place of a figure that a table does not give


class Mark(NamedTuple):
    """How one figure stands among those of its column."""

    best: bool = False
    second: bool = False
    below: bool = False


@dataclass(frozen=True)
class Column:
    """One metric of every table.

    Attributes:
        title: the column's head.
        estimates: one for each table; None where the table does not give the metric.
        figures: the estimates as printed, a dash for None and for a row in `out_of_reach`.
        ends: both ends of each 95% interval as printed; empty where `figures` has a dash.
        marks: one for each table; all empty in a column that is not ranked.
        out_of_reach: the rows whose rule, sigma, n and alpha certify no image at this radius, whatever the classifier.
            Their estimate is 0 by definition and measures nothing: tables print a dash, CSV and JSON keep the 0.
    """

    title: str
    estimates: Sequence[Estimate | None]
    figures: list[str]
    ends: list[tuple[str, ...]]
    marks: list[Mark]
    out_of_reach: frozenset[int] = frozenset()


@dataclass(frozen=True)
class RankedColumn(Column):
    """A metric by which the tables that give it are ranked."""


def plain_column(title: str, estimates: Sequence[Estimate | None], scale: float, decimals: int) -> Column:
    """A column without marks; a figure is printed as value * scale with so many decimals."""
    figures, ends = _printed(estimates, scale, decimals)
    return Column(title, estimates, figures, ends, [Mark()] * len(estimates))


def ranked_column(
    title: str,
    estimates: Sequence[Estimate | None],
    scale: float,
    decimals: int,
    baseline: int | None,
    out_of_reach: frozenset[int] = frozenset(),
) -> RankedColumn:
    """A column whose figures are marked as best, second best, and below that of the row `baseline`."""
    known = [None if row in out_of_reach else estimate for row, estimate in enumerate(estimates)]
    figures, ends = _printed(known, scale, decimals)
    ranked = [row for row in range(len(estimates)) if known[row] is not None]
    marks = rank([figures[row] for row in ranked], ranked.index(baseline) if baseline in ranked else None)
    by_row = dict(zip(ranked, marks, strict=True))
    every = [by_row.get(row, Mark()) for row in range(len(estimates))]
    return RankedColumn(title, estimates, figures, ends, every, out_of_reach)


def _printed(
    estimates: Sequence[Estimate | None], scale: float, decimals: int
) -> tuple[list[str], list[tuple[str, ...]]]:
    figures = [f"{e.value * scale:.{decimals}f}" if e else UNKNOWN_FIGURE for e in estimates]
    ends = [tuple(f"{x * scale:.{decimals}f}" for x in (e.low, e.high)) if e else () for e in estimates]
    return figures, ends


def rank(printed: Sequence[str], baseline: int | None) -> list[Mark]:
    """A mark for each printed figure of a column: the higher the better, and equal figures share a place.

    Figures are ranked as printed, so that a reader sees why. A single figure is not called best.

    Args:
        baseline: the place of the baseline's figure in `printed`; None: no figure is called below it.
    """
    figures = [float(text) for text in printed]
    places = sorted(set(figures), reverse=True) if len(figures) > 1 else []
    return [
        Mark(
            best=places[:1] == [figure],
            second=places[1:2] == [figure],
            below=baseline is not None and figure < figures[baseline],
        )
        for figure in figures
    ]


def out_of_reach(tables: Sequence[Certificates], r: float) -> frozenset[int]:
    """The rows of the tables that cannot certify radius `r`, whatever their classifier."""
    return frozenset(row for row, table in enumerate(tables) if not metrics.can_certify(table, r))
