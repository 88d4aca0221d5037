"""The sheet for a terminal: aligned columns, each figure's interval on the line below it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from randsmooth.escape import printable
from randsmooth.report.sheet import against_baseline as versus
from randsmooth.report.sheet import verdicts
from randsmooth.report.sheet.content import Column, Sheet

WIDTH = 110

LEGEND = "ACR and certified accuracy (%) at each L2 radius (pixels in [0, 1]); 95% intervals below the figures."
BEYOND = "A dash at a radius: the table's rule, sigma, n and alpha certify no image there, whatever the classifier."


P_A_LEGEND = (
    "Share of images (%) whose p_A, the label's probability under noise, is at least x: every image weighs the same."
)


def render(sheet: Sheet) -> str:
    """Two lines a table: its figures, then their intervals. Below, the same for the p_A curve."""
    images = ["images", *(line for table in sheet.tables for line in (f"{len(table):,}", ""))]
    lines = _grid(sheet.titles, [images, *map(_lines, sheet.columns)])
    dashes = [BEYOND] if any(column.beyond for column in sheet.accuracy) else []
    return (
        "\n".join(
            [*lines, "", LEGEND, *dashes, *map(printable, sheet.remarks), *_p_a_lines(sheet), *_verdict_lines(sheet)]
        )
        + "\n"
    )


def _p_a_lines(sheet: Sheet) -> list[str]:
    """The p_A curves read off at a few x, for the tables that tell them."""
    telling = [(name, shares) for name, shares in zip(sheet.titles, sheet.p_a, strict=True) if shares]
    if not telling:
        return []
    names, shares = zip(*telling, strict=True)
    columns = [Column(f"p_A>={x:g}", [row[x] for row in shares], [], 100.0, 1) for x in shares[0]]
    return ["", *_grid(names, list(map(_lines, columns))), "", P_A_LEGEND]


def _verdict_lines(sheet: Sheet) -> list[str]:
    """Every method against the baseline, in one line each."""
    compared, refused = versus.possible(sheet)
    said = {sheet.tables[one.row].name: verdicts.words(one.comparison) for one in compared} | refused
    if sheet.baseline is None or not said:
        return []
    head = f"Certified accuracy against {sheet.tables[sheet.baseline].name}:"
    lines = [f"  {name}  {words}" for name, words in zip(left(list(said)), said.values(), strict=True)]
    together = textwrap.wrap(verdicts.together(compared[0].comparison.scope), WIDTH) if compared else []
    return ["", head, *lines, *together]


def _grid(names: Sequence[str], columns: Sequence[list[str]]) -> list[str]:
    """Aligned lines, two a name, under the heads that are each column's first cell."""
    first = ["name", *(line for name in names for line in (name, ""))]
    cells = zip(left(first), *map(right, columns), strict=True)
    return [" ".join(row).rstrip() for row in cells]


def _lines(column: Column) -> list[str]:
    rows = range(len(column.estimates))
    return [
        column.title,
        *(line for row in rows for line in (column.figure(row), "-".join(column.ends(row)))),
    ]


def left(cells: list[str]) -> list[str]:
    """Cells of one width, filled up behind."""
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def right(cells: list[str]) -> list[str]:
    """Cells of one width, filled up in front."""
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]
