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

# The most tables to print, of all settings together; each setting has one at least.
MOST_PRINTED = 30

# The level of p_A that has a column beside certified accuracy.
LEVEL_BESIDE = 0.9

# Added to a percentage before it is rounded to a tenth: 100 * 0.6465 as a float is a
# little less than 64.65, and would be printed as 64.6.
ROUNDING = 1e-9


def records_of(page: Path) -> list[dict[str, Any]]:
    """Return the records of a leaderboard, one a table, from the file beside its page."""
    path = page.with_suffix(".json")
    records: list[dict[str, Any]] = parse_json(read_file(path), path)
    return records


def ranking_lines(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the best tables of a leaderboard, two lines each, in its order.

    There is a block for each setting in which tables can be compared.

    Args:
        records: the records of the leaderboard, those of one setting together.
    """
    if not records:
        return
    blocks = [
        list(block)
        for _, block in groupby(records, key=lambda record: record["setting"])
    ]
    most = max(1, MOST_PRINTED // len(blocks))
    for block in blocks:
        yield from _block_lines(block, most)
        yield ""


def _block_lines(block: Sequence[dict[str, Any]], most: int) -> Iterator[str]:
    """Yield the lines of one setting.

    Args:
        block: the records of the setting, the best first.
        most: the most tables to print.
    """
    # What is said of the setting is the same in all records.
    first = block[0]
    yield from textwrap.wrap(printable(first["setting"]), COLUMNS)
    yield from textwrap.wrap(first["how_ranked"], COLUMNS)
    title = "certified accuracy"
    if first["ranked_by"] is not None:
        title = f"certified at {first['ranked_by']['radius']:g}"
    yield _row(title, f"p_A >= {LEVEL_BESIDE:g}", "accuracy at 0", "ACR")
    for record in block[:most]:
        rank = "-" if record["rank"] is None else str(record["rank"])
        yield f"{rank:>3} {printable(record['file'])}"
        yield _row(
            percentage(record["ranked_by"]),
            percentage(_share_beside(record)),
            percentage(record["smoothed_accuracy"]),
            figure(record["acr"], form=".3f"),
        )
    if len(block) > most:
        yield f"    {len(block) - most:,} more on the page"
    if len(block) > 1 and first["rank"] is not None:
        yield from textwrap.wrap(remark_on_first(block), COLUMNS)


def _row(ranked_by: str, share: str, accuracy: str, radius: str) -> str:
    """Return the figures of a table, or the titles of its columns, on a line."""
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
    percent = {
        name: f"{100.0 * estimate[name] + ROUNDING:.1f}"
        for name in ("value", "low", "high")
    }
    return f"{percent['value']} ({percent['low']}-{percent['high']})"


def figure(estimate: Mapping[str, float] | None, form: str) -> str:
    """Return the value of an estimate in a format; a dash where there is none.

    Example:
        >>> figure({"value": 0.5}, form=".3f"), figure(None, form=".3f")
        ('0.500', '-')
    """
    if estimate is None or estimate.get("value") is None:
        return "-"
    return f"{estimate['value']:{form}}"


def remark_on_first(records: Sequence[dict[str, Any]]) -> str:
    """Return a sentence on the first of several tables, which looks too good.

    The images that ranked the tables are those of its figures: of several tables that
    are equally good, chance puts one first. The sentence ends with an interval that
    allows for this, where there is one.
    """
    remark = (
        f"The first of {len(records)} was chosen by these images and looks too good"
    )
    if_chosen = records[0]["ranked_by_if_chosen"]
    if if_chosen is None:
        return f"{remark}."
    limits = f"{if_chosen['low']:.1%} to {if_chosen['high']:.1%} (95%)"
    return f"{remark}; allowing for that, its certified accuracy is {limits}."
