"""Best, second best, below the baseline: judged on the figures as printed, so that a reader sees why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Mark(NamedTuple):
    """What is said of one figure among its column's."""

    best: bool = False
    second: bool = False
    below: bool = False


def marks(printed: Sequence[str], baseline: int | None) -> list[Mark]:
    """A mark for each printed figure of a column; higher is better, equal figures share a place.

    A lone figure is not called best. `baseline` is the place of the baseline in the column.
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
