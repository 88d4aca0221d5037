"""The sheet for a terminal: aligned columns, each figure's interval on the line below it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from randsmooth.escape import printable
from randsmooth.report.sheet.against_baseline import compare_possible
from randsmooth.report.sheet.columns import Column, plain_column
from randsmooth.report.sheet.content import Sheet

WIDTH = 110

LEGEND = "ACR and certified accuracy (%) at each L2 radius (pixels in [0, 1]); 95% intervals below the figures."
OUT_OF_REACH = (
    "A dash at a radius: the table's rule, sigma, n and alpha certify no image there, whatever the classifier."
)
P_A_LEGEND = (
    "Share of images (%) whose p_A, the label's probability under noise, is at least x: every image weighs the same."
)


def render(sheet: Sheet) -> str:
    """Two lines a table: its figures, then their intervals. Below, the same for the p_A curve."""
    images = ["images", *(line for table in sheet.tables for line in (f"{len(table):,}", ""))]
    table = _grid(sheet.titles, [images, *map(_lines, sheet.columns)])
    legend = [LEGEND, *([OUT_OF_REACH] if any(column.out_of_reach for column in sheet.accuracy) else [])]
    lines = [*table, "", *legend, *map(printable, sheet.remarks), *_p_a_lines(sheet), *_verdict_lines(sheet)]
    return "\n".join(lines) + "\n"


def _p_a_lines(sheet: Sheet) -> list[str]:
    """The p_A curves at a few x, of the tables whose p_A is known."""
    known = [(name, shares) for name, shares in zip(sheet.titles, sheet.p_a, strict=True) if shares]
    if not known:
        return []
    names, shares = zip(*known, strict=True)
    columns = [plain_column(f"p_A>={x:g}", [row[x] for row in shares], 100.0, 1) for x in shares[0]]
    return ["", *_grid(names, list(map(_lines, columns))), "", P_A_LEGEND]


def _verdict_lines(sheet: Sheet) -> list[str]:
    """Every table against the baseline, in one line each."""
    against, refused = compare_possible(sheet)
    verdicts = {sheet.tables[one.row].name: one.verdict for one in against} | refused
    if sheet.baseline is None or not verdicts:
        return []
    head = f"Certified accuracy against {sheet.tables[sheet.baseline].name}:"
    lines = [f"  {name}  {words}" for name, words in zip(left(list(verdicts)), verdicts.values(), strict=True)]
    scope = textwrap.wrap(against[0].scope, WIDTH) if against else []
    return ["", head, *lines, *scope]


def _grid(names: Sequence[str], columns: Sequence[list[str]]) -> list[str]:
    """Aligned lines, two a name, under the heads that are each column's first cell."""
    first = ["name", *(line for name in names for line in (name, ""))]
    cells = zip(left(first), *map(right, columns), strict=True)
    return [" ".join(row).rstrip() for row in cells]


def _lines(column: Column) -> list[str]:
    figures = zip(column.figures, column.ends, strict=True)
    return [column.title, *(line for figure, ends in figures for line in (figure, "-".join(ends)))]


def left(cells: list[str]) -> list[str]:
    """Cells padded with spaces behind, to one width."""
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def right(cells: list[str]) -> list[str]:
    """Cells padded with spaces in front, to one width."""
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]
