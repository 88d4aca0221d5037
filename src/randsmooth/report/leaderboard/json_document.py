"""The leaderboard for programs: its lines as JSON at full precision."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from randsmooth import metrics
from randsmooth.escape import NOT_RECORDED
from randsmooth.escape import to_json as json_of
from randsmooth.metrics import Comparison, Estimate
from randsmooth.report.leaderboard.entries import Entry
from randsmooth.report.leaderboard.grouping import by_setting
from randsmooth.report.sheet.against_baseline import verdict_words


def to_json(entries: Sequence[Entry], *, radii: Sequence[float] | None = None) -> str:
    """A list of records in the page's order; arguments and errors as `grouping.by_setting`."""
    at, groups = by_setting(entries, radii)
    records = [
        _record(row.entry, at, group.words) | {"against": _judged(row.against)}
        for group in groups
        for row in group.rows
    ]
    return json_of(records) + "\n"


def _record(entry: Entry, radii: Sequence[float], setting: str) -> dict[str, Any]:
    header = entry.header
    facts = {key: getattr(header, key) for key in ("sigma", "n0", "n", "alpha", "label_aware")}
    accuracy = [{"radius": r, **_plain(metrics.certified_accuracy(entry.table, r))} for r in radii]
    return {
        "name": entry.table.name,
        "file": entry.file,
        "setting": setting,
        **_texts(entry),
        **facts,
        "logged": entry.logged,
        "notes": list(header.notes),
        "images": len(entry.table),
        "p_A": [{"at_least": x, **_plain(share)} for x, share in entry.p_a.items()],
        "smoothed_accuracy": _plain(entry.smoothed),
        "certified_accuracy": accuracy,
        "acr": _plain(entry.acr),
    }


def _judged(one: Comparison | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"baseline": one.b, "words": verdict_words(one), "judged_together": dataclasses.asdict(one.scope)}


def _texts(entry: Entry) -> dict[str, str | None]:
    header = entry.header
    method = None if entry.method == NOT_RECORDED else entry.method
    return {"dataset": header.dataset, "split": header.split, "rule": header.rule, "method": method}


def _plain(estimate: Estimate) -> dict[str, float | int]:
    return dataclasses.asdict(estimate)
