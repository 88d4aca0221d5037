"""The sheet for a terminal: aligned columns, each figure's interval on the line below it."""

from __future__ import annotations

from randsmooth.report.sheet import Column, Sheet

LEGEND = "ACR and certified accuracy (%) at each L2 radius (pixels in [0, 1]); 95% intervals below the figures."


def render(sheet: Sheet) -> str:
    """Two lines a table: its figures, then their intervals."""
    names = ["name", *(line for table in sheet.tables for line in (table.name, ""))]
    images = ["images", *(line for table in sheet.tables for line in (f"{len(table):,}", ""))]
    columns = [_left(names), _right(images), *(_right(_lines(column)) for column in sheet.columns)]
    lines = [" ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    return "\n".join([*lines, "", LEGEND, *sheet.remarks]) + "\n"


def _lines(column: Column) -> list[str]:
    rows = range(len(column.estimates))
    return [
        column.title,
        *(line for row in rows for line in (column.figure(row), "-".join(column.ends(row)))),
    ]


def _left(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def _right(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]
