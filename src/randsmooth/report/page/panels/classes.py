"""Certified accuracy of every class under every table, at every radius of the sheet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.report.sheet.content import Sheet, beyond
from randsmooth.report.sheet.naming import class_name

Cell = list[int] | None


@dataclass(frozen=True)
class ClassView:
    """The per-class table for each radius.

    Attributes:
        names: of the C classes that occur.
        images: (C,) how many images of each, "1,000" or "900 to 1,000" where the tables differ.
        cells: [radius][class][table] = [value, low, high] in tenths of a percent; None where a table has
            no image of the class, or cannot certify the radius.
    """

    names: list[str]
    images: list[str]
    cells: list[list[list[Cell]]]


def view(sheet: Sheet) -> ClassView:
    """The per-class view of all tables. Classes are those that occur in any of them."""
    tables = sheet.tables
    present = np.unique(np.concatenate([table.label for table in tables]))
    totals = [_count(table, present, np.ones(len(table), bool)) for table in tables]
    cells = []
    for r in sheet.radii:
        hits = [_count(table, present, metrics.certified(table, r)) for table in tables]
        untold = beyond(tables, r)
        columns = [
            [None] * len(present) if row in untold else _cells(hit, total)
            for row, (hit, total) in enumerate(zip(hits, totals, strict=True))
        ]
        cells.append([list(row) for row in zip(*columns, strict=True)])
    names = [class_name(tables, int(label)) for label in present]
    return ClassView(names, [_span(row) for row in np.transpose(totals)], cells)


def _count(table: Certificates, present: NDArray[np.int64], keep: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(C,) images of each class in `present` among the rows to keep."""
    counted = np.bincount(table.label[keep], minlength=int(present[-1]) + 1)
    return np.asarray(counted[present], np.int64)


def _cells(hits: NDArray[np.int64], totals: NDArray[np.int64]) -> list[Cell]:
    low, high = metrics.wilson(hits, np.maximum(totals, 1))
    thousandths = np.rint(1000 * np.stack([hits / np.maximum(totals, 1), low, high], axis=1)).astype(int)
    return [row.tolist() if total else None for row, total in zip(thousandths, totals, strict=True)]


def _span(totals: NDArray[np.int64]) -> str:
    low, high = int(totals.min()), int(totals.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
