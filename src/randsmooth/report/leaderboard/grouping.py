"""Tables that may be compared, in one group each, and in a group the rows in the order of their p_A curves."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.escape import NOT_RECORDED, setting
from randsmooth.metrics import P_A_LEVELS, Comparison, Estimate
from randsmooth.report.against_baseline import verdict_words
from randsmooth.report.leaderboard.entries import Entry
from randsmooth.report.sheet import Mark, column, find_baseline, rank

MOST_RADII = 8  # columns; beyond them the usual radii are thinned
MOST_COMPARED = 40  # tables judged together: with more, next to nothing can be shown of any, and it takes minutes


@dataclass(frozen=True)
class Cell:
    """One figure as printed, with its interval; `figure` is empty where the table does not give it."""

    figure: str = ""
    low: str = ""
    high: str = ""
    mark: Mark = dataclasses.field(default_factory=Mark)


@dataclass(frozen=True)
class BoardRow:
    """One table's figures: a cell for each of P_A_LEVELS, smoothed accuracy, one for each radius, ACR.

    `at_radii` are the accuracies at the radii in full. `against` is its comparison with the setting's Gaussian table,
    where there is one.
    """

    entry: Entry
    p_a: list[Cell]
    accuracy: list[Cell]
    acr: Cell
    at_radii: list[Estimate | None]
    against: Comparison | None

    @property
    def verdict(self) -> str:
        """`crosses at r = 0.37 (...), ahead beyond`; empty without a comparison."""
        return verdict_words(self.against) if self.against else ""

    @property
    def rank(self) -> tuple[float, ...]:
        """What rows are ordered by, highest first: the printed p_A shares, then the accuracies."""
        return tuple(float(cell.figure or -1) for cell in [*self.p_a, *self.accuracy])


@dataclass(frozen=True)
class Setting:
    """Tables that may be compared: one data set, the same images, one sigma, n and alpha."""

    words: str
    rows: list[BoardRow]

    @property
    def crowded(self) -> bool:
        """Whether there are too many tables to be compared with a Gaussian one."""
        return len(self.rows) > MOST_COMPARED

    @property
    def judged(self) -> list[BoardRow]:
        """The rows that are compared with the Gaussian table among them."""
        return [row for row in self.rows if row.against is not None]


def by_setting(entries: Sequence[Entry], radii: Sequence[float] | None = None) -> tuple[list[float], list[Setting]]:
    """The radii of the columns, and the entries by setting, each setting's in the order of their p_A curves.

    Args:
        radii: in pixels in [0, 1]; None for the usual ones above 0, thinned to a readable number.

    Raises:
        InputError: no entry, or a radius that makes no sense.
    """
    if not entries:
        raise InputError("there is no certificate table to rank; give a folder that holds at least one")
    at = usual_radii(entries) if radii is None else list(dict.fromkeys(radii))
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(_key(entry), []).append(entry)
    keys = sorted(groups, key=_ascending)
    words = _numbered([_words(groups[key][0]) for key in keys])
    return at, [Setting(text, _rows(groups[key], at)) for text, key in zip(words, keys, strict=True)]


def usual_radii(entries: Sequence[Entry]) -> list[float]:
    """Multiples of 0.25 as far as any table certifies, or of twice as much until they fit the page; not 0."""
    usual = metrics.usual_radii([entry.table for entry in entries])
    while len(usual) > MOST_RADII + 1:
        usual = usual[::2]
    return usual[1:]


def _key(entry: Entry) -> tuple[Any, ...]:
    """What must be equal for two tables to be compared. A log of test images often does not say that they are."""
    header = entry.header
    return header.dataset, header.split or "test", header.sigma, header.n, header.alpha, len(entry.table), entry.images


def _ascending(key: Sequence[Any]) -> list[tuple[bool, Any]]:
    """`key` for sorting: what is not recorded comes last."""
    return [(value is None, 0 if value is None else value) for value in key]


def _words(entry: Entry) -> str:
    header = entry.header
    where = f"{setting(header.dataset)} {setting(header.split) if header.split else ''}".strip()
    facts = [f"{name} {setting(getattr(header, name))}" for name in ("sigma", "n", "alpha")]
    named = where if header.dataset else f"data set {NOT_RECORDED}"
    return ", ".join([named, f"{len(entry.table):,} images", *facts])


def _numbered(words: Sequence[str]) -> list[str]:
    """`words` with a number where two settings, about different images, read the same."""
    again = [list(words[:place]).count(text) for place, text in enumerate(words)]
    return [f"{text}; image set {count + 1}" if count else text for text, count in zip(words, again, strict=True)]


def _rows(entries: Sequence[Entry], radii: Sequence[float]) -> list[BoardRow]:
    """One setting's rows by rank; the best and the second best of each column but ACR are marked."""
    at_radii = [[_accuracy_at(entry, r) for r in radii] for entry in entries]
    p_a = [_marked([entry.p_a.get(x) for entry in entries]) for x in P_A_LEVELS]
    accuracy = [_marked([entry.smoothed for entry in entries]), *map(_marked, zip(*at_radii, strict=True))]
    acr = _cells([entry.acr for entry in entries], 1.0, 3)
    against = _against_gaussian([entry.table for entry in entries], radii)
    rows = [
        BoardRow(entry, [at[i] for at in p_a], [at[i] for at in accuracy], acr[i], at_radii[i], against[i])
        for i, entry in enumerate(entries)
    ]
    return sorted(rows, key=lambda row: row.rank, reverse=True)


def _against_gaussian(tables: Sequence[Certificates], radii: Sequence[float]) -> list[Comparison | None]:
    """One for each table, all judged together.

    None for the Gaussian table itself; None for all where there is no such table, where a table repeats an image, or
    where there are more than MOST_COMPARED.
    """
    reference = find_baseline(tables)
    if reference is None or len(tables) > MOST_COMPARED:
        return [None] * len(tables)
    others = [row for row in range(len(tables)) if row != reference]
    try:
        pairs = [metrics.pair(tables[row], tables[reference]) for row in others]
    except InputError:
        return [None] * len(tables)
    found = dict(zip(others, metrics.compare(pairs, radii), strict=True))
    return [found.get(row) for row in range(len(tables))]


def _accuracy_at(entry: Entry, r: float) -> Estimate | None:
    """Certified accuracy at `r`; None where the images have no labels."""
    return metrics.certified_accuracy(entry.table, r) if entry.table.labelled else None


def _cells(estimates: Sequence[Estimate | None], scale: float = 100.0, decimals: int = 1) -> list[Cell]:
    """The figures of a column; those that are not known are left empty."""
    found = column("", estimates, scale, decimals)
    printed = zip(found.figures, found.ends, strict=True)
    return [Cell(figure, ends[0], ends[1]) if ends else Cell() for figure, ends in printed]


def _marked(estimates: Sequence[Estimate | None]) -> list[Cell]:
    """Percentages with marks, unless all are equal; those that are not known are left out of the ranking."""
    cells = _cells(estimates)
    figures = [cell.figure for cell in cells if cell.figure]
    if len(set(figures)) < 2:
        return cells
    marks = iter(rank(figures, None))
    return [dataclasses.replace(cell, mark=next(marks)) if cell.figure else cell for cell in cells]
