"""Certified accuracy of every class under every table, at a radius that the reader picks."""

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import NO_LABEL, Certificates
from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.printed import tenths_of_percent
from randsmooth.report.sheet import Sheet, SheetColumn

Ints = NDArray[np.int64]
# The share of images certified and both ends of its interval, in tenths of a percent;
# None for a class without images, or a radius out of reach.
ShareAndInterval = list[int] | None

# The index of the radius at which the page opens; it is the last radius where there are
# fewer.
OPENED_RADIUS = 2


def view(content: PageContent) -> PanelView | None:
    """Return the classes that occur, and their cells as [radius][class][table].

    The answer is None without radii or labels. The page opens at the third radius, 0.5
    among the usual ones.
    """
    sheet = content.sheet
    if not sheet.radii or not sheet.class_names:
        return None
    classes = np.array(list(sheet.class_names))
    totals = [_count_classes(table.label, classes) for table in sheet.tables]
    cells = [
        _cells_at(sheet, radius, column, classes, totals)
        for radius, column in zip(sheet.radii, sheet.accuracy, strict=True)
    ]
    opened = min(OPENED_RADIUS, len(sheet.radii) - 1)
    printed = {
        "names": list(sheet.class_names.values()),
        "images": [_span(of_class) for of_class in np.transpose(totals)],
        "cells": cells[opened],
        "opened": opened,
    }
    titles = [column.title for column in sheet.accuracy]
    data = {"radii": titles, "cells": cells}
    return PanelView(printed, data=data, title="Class by class")


def _cells_at(
    sheet: Sheet, radius: float, column: SheetColumn, classes: Ints, totals: list[Ints]
) -> list[list[ShareAndInterval]]:
    """Return the cells at one radius as [class][table].

    Args:
        column: the column of the sheet for this radius.
        classes: (C,) the classes, ascending.
        totals: for each table (C,) the number of its images of each class.
    """
    cells_of_tables: list[list[ShareAndInterval]] = []
    for row, table in enumerate(sheet.tables):
        if row in column.out_of_reach:
            cells_of_tables.append([None for _ in classes])
        else:
            cells_of_tables.append(_cells(table, radius, classes, totals[row]))
    return [list(of_class) for of_class in zip(*cells_of_tables, strict=True)]


def _cells(
    table: Certificates, radius: float, classes: Ints, totals: Ints
) -> list[ShareAndInterval]:
    """Return the cells of one table at one radius, a cell for each class.

    Args:
        classes: (C,) the classes, ascending.
        totals: (C,) the number of images of each class.
    """
    certified = table.correct & (table.radius >= radius)
    hits = _count_classes(table.label[certified], classes)
    # An interval needs an image. A class without any gets no cell below.
    images = np.maximum(totals, 1)
    low, high = metrics.share_interval(hits, images)
    tenths = tenths_of_percent(np.stack([hits / images, low, high], axis=1))
    cells: list[ShareAndInterval] = []
    for share_and_interval, total in zip(tenths, totals, strict=True):
        cells.append(share_and_interval.tolist() if total else None)
    return cells


def _count_classes(labels: Ints, classes: Ints) -> Ints:
    """Return the (C,) numbers of labels of each class.

    Args:
        labels: labels, NO_LABEL among them for images without one.
        classes: (C,) the classes, ascending.
    """
    known = labels[labels != NO_LABEL]
    counts = np.bincount(known, minlength=int(classes[-1]) + 1)
    return np.asarray(counts[classes], np.int64)


def _span(totals: Ints) -> str:
    """Return the images of a class: "1,000", or "900 to 1,000" where tables differ.

    Args:
        totals: the number of images in each table.
    """
    low = int(totals.min())
    high = int(totals.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
