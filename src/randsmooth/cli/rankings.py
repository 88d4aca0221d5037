"""A leaderboard on the terminal, from the records beside its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from randsmooth.documents import parse_json, read_file
from randsmooth.escape import names_of, printable
from randsmooth.metrics import Estimate
from randsmooth.number_text import half_up
from randsmooth.progress import terminal_width
from randsmooth.report.layouts import GAP_BETWEEN_WORDS, aligned, widest, wrapped
from randsmooth.report.printed import (
    average_radius,
    percent,
    percent_with_ends,
    points_with_ends,
)
from randsmooth.report.ranking_radius import LEVEL_BESIDE, figure_heads

# The most tables to print, of all settings together; each setting has one at least.
MOST_PRINTED = 30

# The line above settings without a ranked table, and the most of these to print.
NOT_RANKED = "Not ranked, as each table of the setting failed a check:"
MOST_SETTINGS = 8

# Figures stand below the name, which is behind the rank.
FIGURES_INDENT = "    "

# Stands before the reason why a table is not ranked.
DOUBTED = "✗"

# The sentence below a ranking with differences.
DIFFERENCE_LEGEND = (
    "Difference ({}): to the Gaussian table of the setting, in points, on the same images. "
    "The intervals hold at a radius that was chosen before the tables were seen."
)


def records_of(page: Path) -> list[dict[str, Any]]:
    """Return the records of a leaderboard, one a table, from the file beside its page."""
    path = page.with_suffix(".json")
    records: list[dict[str, Any]] = parse_json(read_file(path), path)
    return records


def ranking_lines(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the best tables of a leaderboard, two lines each, in its order.

    There is a block for each setting in which tables can be compared. Settings of which no
    table is ranked come last, in a line each.

    Args:
        records: the records of the leaderboard, those of one setting together.
    """
    blocks = [
        list(block)
        for _, block in groupby(records, key=lambda record: record["setting"])
    ]
    ranked = [block for block in blocks if not _is_doubted(block)]
    most = max(1, MOST_PRINTED // max(1, len(ranked)))
    for block in ranked:
        yield from _block_lines(block, most)
        yield ""
    yield from _doubted_lines([block for block in blocks if _is_doubted(block)])


def _is_doubted(block: Sequence[dict[str, Any]]) -> bool:
    """Return whether each table of a setting failed a check, so that none is ranked."""
    return all(record["doubted"] for record in block)


def _doubted_lines(blocks: Sequence[Sequence[dict[str, Any]]]) -> Iterator[str]:
    """Yield the settings of which no table is ranked, without figures.

    The checks above the ranking say what each table failed.
    """
    if not blocks:
        return
    width = terminal_width()
    yield NOT_RANKED
    for block in blocks[:MOST_SETTINGS]:
        files = names_of([printable(record["file"]) for record in block])
        setting = printable(block[0]["setting"])
        yield from wrapped(f"  {setting}: {files}", width, FIGURES_INDENT)
    others = len(blocks) - MOST_SETTINGS
    if others > 0:
        yield f"  {others:,} more on the page"
    yield ""


def _block_lines(block: Sequence[dict[str, Any]], most: int) -> Iterator[str]:
    """Yield the lines of one setting: what it is, its tables, and remarks on them.

    Args:
        block: the records of the setting, the best first.
        most: the most tables to print.
    """
    width = terminal_width()
    # What is said of the setting is the same in all records.
    yield from wrapped(printable(block[0]["setting"]), width)
    yield from wrapped(block[0]["how_ranked"], width)
    yield from _table_lines(block[:most], width)
    if len(block) > most:
        yield f"{FIGURES_INDENT}{len(block) - most:,} more on the page"
    yield from _remark_lines(block, width)


def _table_lines(records: Sequence[dict[str, Any]], width: int) -> Iterator[str]:
    """Yield the head of the figures, then rank, name and figures of each table."""
    ranked_by = records[0]["ranked_by"]
    radius = None if ranked_by is None else ranked_by["radius"]
    declined = any(record["declined"] is not None for record in records)
    rows = [figure_heads(radius, declined=declined)]
    rows += [_cells(record, declined=declined) for record in records]
    if all(record["difference"] is None for record in records):
        # Without a Gaussian table the column would hold dashes alone.
        rows = [[first, *others] for first, _, *others in rows]
    head, *figures = figure_lines(rows, width - len(FIGURES_INDENT))
    for line in head:
        yield f"{FIGURES_INDENT}{line}"
    for record, lines in zip(records, figures, strict=True):
        rank = "-" if record["rank"] is None else str(record["rank"])
        # Not wrapped here: a path that is cut cannot be pasted.
        yield f"{rank:>3} {printable(record['file'])}"
        if record["doubted"]:
            reason = f"{FIGURES_INDENT}{DOUBTED} {record['doubted']}"
            yield from wrapped(reason, width, FIGURES_INDENT)
        for line in lines:
            yield f"{FIGURES_INDENT}{line}"


def _remark_lines(block: Sequence[dict[str, Any]], width: int) -> Iterator[str]:
    """Yield what a reader must know of the differences, and of the first of several."""
    compared = [record for record in block if record["difference"] is not None]
    if compared:
        words = compared[0]["differences_judged"]["words"]
        yield from wrapped(DIFFERENCE_LEGEND.format(words), width)
    ranked = [record for record in block if record["rank"] is not None]
    if len(ranked) > 1 and ranked[0]["ranked_by_if_chosen"] is not None:
        yield from wrapped(_remark_on_first(ranked), width)


def figure_lines(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Return the lines of each row: one, or one a figure where the rows are too wide.

    Then each figure stands behind the head of its column, and the head has no line.

    Args:
        rows: the cells of each row; the first row is the head.
        width: the most letters of a line.

    Example:
        >>> rows = [["at 0", "ACR"], ["15.0", "0.067"]]
        >>> figure_lines(rows, width=11)
        [['at 0    ACR'], ['15.0  0.067']]
        >>> figure_lines(rows, width=10)
        [[], ['at 0 15.0', 'ACR  0.067']]
    """
    lines = aligned(rows, [True for _ in rows[0]], gap=GAP_BETWEEN_WORDS)
    if widest(lines) <= width:
        return [[line] for line in lines]
    head, *body = rows
    return [[], *(aligned([*zip(head, row, strict=True)]) for row in body)]


def _cells(record: Mapping[str, Any], *, declined: bool) -> list[str]:
    """Return the figures of a table as printed, that of declined images if asked for."""
    estimates = {
        name: _estimate(record[name])
        for name in ("ranked_by", "difference", "smoothed_accuracy", "declined", "acr")
    }
    cells = [
        percent_with_ends(estimates["ranked_by"]),
        points_with_ends(estimates["difference"]),
        percent(_estimate(_share_beside(record))),
        percent(estimates["smoothed_accuracy"]),
    ]
    if declined:
        cells.append(percent(estimates["declined"]))
    return [*cells, average_radius(estimates["acr"], record["norm"])]


def _estimate(facts: Mapping[str, Any] | None) -> Estimate | None:
    """Return the estimate that a record holds; None where there is none."""
    # The figure at a radius is a record also where tables without labels have none.
    if facts is None or facts["value"] is None:
        return None
    return Estimate(facts["value"], facts["low"], facts["high"], facts["images"])


def _share_beside(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the share of images with p_A of at least LEVEL_BESIDE, where it is known."""
    for share in record["p_A"]:
        if share["at_least"] == LEVEL_BESIDE:
            return dict(share)
    return None


def _remark_on_first(records: Sequence[dict[str, Any]]) -> str:
    """Return a sentence on the first of several tables, which looks too good.

    The images that ranked the tables are those of its figures: of several tables that
    are equally good, chance puts one first. The sentence ends with an interval that
    allows for this.
    """
    if_chosen = records[0]["ranked_by_if_chosen"]
    low = half_up(100.0 * if_chosen["low"], decimals=1)
    high = half_up(100.0 * if_chosen["high"], decimals=1)
    limits = f"{low}% to {high}% (95%)"
    return (
        f"The first of {len(records)} was chosen by these images and looks too good; "
        f"allowing for that, its certified accuracy is {limits}."
    )
