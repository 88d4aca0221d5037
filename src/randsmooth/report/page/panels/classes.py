"""Certified accuracy of every class under every table, at a radius that the reader picks."""

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import NO_LABEL, Certificates
from randsmooth.report.page.panels import PageContent, PanelView


def view(content: PageContent) -> PanelView | None:
    """The classes that occur, and their cells as [radius][class][table] for the script; None without radii or labels.

    The page opens at the third radius, 0.5 among the usual ones.
    """
    sheet = content.sheet
    if not sheet.radii or not sheet.class_names:
        return None
    present = np.array(list(sheet.class_names))
    totals = [
        _count(table, present, np.ones(len(table), bool)) for table in sheet.tables
    ]
    cells = []
    for r, column in zip(sheet.radii, sheet.accuracy, strict=True):
        hits = [
            _count(table, present, table.correct & (table.radius >= r))
            for table in sheet.tables
        ]
        columns = [
            [None] * len(present) if row in column.out_of_reach else _cells(hit, total)
            for row, (hit, total) in enumerate(zip(hits, totals, strict=True))
        ]
        cells.append([list(row) for row in zip(*columns, strict=True)])
    opened = min(2, len(sheet.radii) - 1)
    images = [_span(row) for row in np.transpose(totals)]
    printed = {
        "names": list(sheet.class_names.values()),
        "images": images,
        "cells": cells[opened],
        "opened": opened,
    }
    return PanelView(
        printed,
        data={"radii": [column.title for column in sheet.accuracy], "cells": cells},
    )


def _count(
    table: Certificates, present: NDArray[np.int64], keep: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """(C,) images of each class in `present` among the rows to keep."""
    counted = np.bincount(
        table.label[keep & (table.label != NO_LABEL)], minlength=int(present[-1]) + 1
    )
    return np.asarray(counted[present], np.int64)


def _cells(
    hits: NDArray[np.int64], totals: NDArray[np.int64]
) -> list[list[int] | None]:
    low, high = metrics.share_interval(hits, np.maximum(totals, 1))
    tenths = np.rint(
        1000 * np.stack([hits / np.maximum(totals, 1), low, high], axis=1)
    ).astype(int)
    return [
        row.tolist() if total else None
        for row, total in zip(tenths, totals, strict=True)
    ]


def _span(totals: NDArray[np.int64]) -> str:
    """How many images of a class: "1,000", or "900 to 1,000" where the tables differ."""
    low, high = int(totals.min()), int(totals.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
