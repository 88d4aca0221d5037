"""The leaderboard for programs: its lines as JSON at full precision."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from randsmooth.escape import NOT_RECORDED
from randsmooth.escape import to_json as json_of
from randsmooth.metrics import Comparison, Estimate
from randsmooth.report.leaderboard.entries import Entry
from randsmooth.report.leaderboard.grouping import BoardRow, Setting, by_setting
from randsmooth.report.sheet.against_baseline import verdict_words


def to_json(entries: Sequence[Entry], *, radii: Sequence[float] | None = None) -> str:
    """A list of records in the page's order, one a line; arguments and errors as `grouping.by_setting`."""
    return ranked_json(*by_setting(entries, radii))


def ranked_json(radii: Sequence[float], groups: Sequence[Setting]) -> str:
    """`to_json` of entries that are ranked already."""
    records = [json_of(_record(row, radii, group.words), indent=None) for group in groups for row in group.rows]
    return "[\n" + ",\n".join(records) + "\n]\n"


def _record(row: BoardRow, radii: Sequence[float], setting: str) -> dict[str, Any]:
    entry, header = row.entry, row.entry.header
    facts = {key: getattr(header, key) for key in ("sigma", "n0", "n", "alpha", "label_aware")}
    at_radii = zip(radii, row.at_radii, strict=True)
    accuracy = [{"radius": r, **(_plain(found) or {"value": None})} for r, found in at_radii]
    return {
        "name": entry.table.name,
        "file": entry.file,
        "setting": setting,
        **_texts(entry),
        **facts,
        "logged": entry.logged,
        "notes": list(header.notes),
        "images": len(entry.table),
        "p_A": [{"at_least": x, **(_plain(share) or {})} for x, share in entry.p_a.items()],
        "smoothed_accuracy": _plain(entry.smoothed),
        "certified_accuracy": accuracy,
        "acr": _plain(entry.acr),
        "against": _judged(row.against),
    }


def _judged(one: Comparison | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"baseline": one.b, "words": verdict_words(one), "judged_together": dataclasses.asdict(one.scope)}


def _texts(entry: Entry) -> dict[str, str | None]:
    header = entry.header
    method, repository = (None if text == NOT_RECORDED else text for text in (entry.method, entry.repository))
    known = {"dataset": header.dataset, "split": header.split, "rule": header.rule, "method": method}
    return known | {"settings": entry.settings or None, "repository": repository}


def _plain(estimate: Estimate | None) -> dict[str, float | None] | None:
    return None if estimate is None else {"value": estimate.value, "low": estimate.low, "high": estimate.high}
