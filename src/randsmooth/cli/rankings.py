"""A leaderboard on the terminal, from the records beside its page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from randsmooth.documents import parse_json, read_file
from randsmooth.escape import printable

# Width of a printed sentence, in columns of the terminal.
COLUMNS = 78

# Tables that are printed, of all settings together; each setting has one at least.
MOST_PRINTED = 30

# The level of p_A that has a column beside certified accuracy.
LEVEL_BESIDE = 0.9

# Added before a percentage is printed: floats hold 0.6465 a little below it.
ROUNDING = 1e-9


def records_of(page: Path) -> list[dict[str, Any]]:
    """Return the figures of a leaderboard, which lie beside its page."""
    path = page.with_suffix(".json")
    records: list[dict[str, Any]] = parse_json(read_file(path), path)
    return records


def ranking_lines(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Return the best tables of a leaderboard, two lines each, in its order.

    There is a block for each setting in which they can be compared.
    """
    blocks = [
        list(block) for _, block in groupby(records, key=lambda one: one["setting"])
    ]
    most = max(1, MOST_PRINTED // max(1, len(blocks)))
    for block in blocks:
        yield from _block_lines(block, most)
        yield ""


def _block_lines(block: Sequence[dict[str, Any]], most: int) -> Iterator[str]:
    """Return the lines of one setting, with at most so many tables."""
    first = block[0]
    yield from textwrap.wrap(printable(first["setting"]), COLUMNS)
    yield from textwrap.wrap(first["how_ranked"], COLUMNS)
    head = "certified accuracy"
    if first["ranked_by"] is not None:
        head = f"certified at {first['ranked_by']['radius']:g}"
    yield _row(head, f"p_A >= {LEVEL_BESIDE:g}", "accuracy at 0", "ACR")
    for record in block[:most]:
        rank = "-" if record["rank"] is None else str(record["rank"])
        yield f"{rank:>3} {printable(record['file'])}"
        yield _row(
            percentage(record["ranked_by"]),
            percentage(_share_beside(record)),
            percentage(record["smoothed_accuracy"]),
            figure(record["acr"], ".3f"),
        )
    if len(block) > most:
        yield f"    {len(block) - most:,} more on the page"
    if len(block) > 1 and first["rank"] is not None:
        yield from textwrap.wrap(remark_on_first(block), COLUMNS)


def _row(ranked_by: str, share: str, accuracy: str, radius: str) -> str:
    """Lay out the figures of a table below its name."""
    return f"    {ranked_by:18}  {share:18}  {accuracy:18}  {radius}".rstrip()


def _share_beside(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the share of images with p_A of at least LEVEL_BESIDE, where it is known."""
    for share in record["p_A"]:
        if share["at_least"] == LEVEL_BESIDE:
            return dict(share)
    return None


def percentage(estimate: Mapping[str, float] | None) -> str:
    """Return an estimate with its interval in percent; a dash where there is none.

    Example:
        >>> percentage({"value": 0.75, "low": 0.2, "high": 0.99}), percentage(None)
        ('75.0 (20.0-99.0)', '-')
    """
    if estimate is None or estimate.get("value") is None:
        return "-"
    value, low, high = (
        f"{100.0 * estimate[end] + ROUNDING:.1f}" for end in ("value", "low", "high")
    )
    return f"{value} ({low}-{high})"


def figure(estimate: Mapping[str, float] | None, form: str) -> str:
    """Return the value of an estimate; a dash where there is none."""
    if estimate is None or estimate.get("value") is None:
        return "-"
    return f"{estimate['value']:{form}}"


def remark_on_first(records: Sequence[dict[str, Any]]) -> str:
    """Return why the first of several tables looks too good: these images chose it."""
    remark = (
        f"The first of {len(records)} was chosen by these images and looks too good"
    )
    if_chosen = records[0]["ranked_by_if_chosen"]
    if if_chosen is None:
        return f"{remark}."
    limits = f"{if_chosen['low']:.1%} to {if_chosen['high']:.1%} (95%)"
    return f"{remark}; allowing for that, its certified accuracy is {limits}."
