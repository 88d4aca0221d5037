"""What the page's script knows of the tables beside what is printed: filters, intervals, notes and curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from randsmooth.escape import LONG, printable, shortened
from randsmooth.report.leaderboard.curves import LEVELS, STEPS, UNIT
from randsmooth.report.leaderboard.entries import FILTERS, facts
from randsmooth.report.leaderboard.grouping import BoardRow, Cell

DIGITS = 4  # significant, of a radius


def payload(rows: Sequence[BoardRow], filters: dict[str, list[str]]) -> dict[str, Any]:
    """The data of the page, in the order of its lines; texts that many lines share are kept once.

    Each line is [places in the filters, places in the notes, file, intervals, end, accuracy, p_A]. `intervals` are
    those of its figures, [] where there is none.
    """
    places = {key: {value: place for place, value in enumerate(values)} for key, values in filters.items()}
    notes: dict[str, int] = {}
    lines = [_line(row, places, notes) for row in rows]
    kept = {"filters": list(FILTERS), "notes": list(notes), "lines": lines}
    return kept | {"steps": STEPS, "unit": UNIT, "levels": LEVELS.tolist()}


def _line(row: BoardRow, places: dict[str, dict[str, int]], notes: dict[str, int]) -> list[Any]:
    entry, known = row.entry, facts(row.entry)
    said = [shortened(printable(note), LONG) for note in entry.header.notes]
    curves = entry.curves
    return [
        [places[key][known[key]] for key in FILTERS],
        [notes.setdefault(note, len(notes)) for note in said],
        shortened(printable(entry.file), LONG),
        [_interval(cell) for cell in [*row.p_a, *row.accuracy, row.acr]],
        float(f"{curves.end:.{DIGITS}g}"),
        curves.accuracy,
        curves.p_a,
    ]


def _interval(cell: Cell) -> list[float]:
    return [float(cell.low), float(cell.high)] if cell.figure else []
