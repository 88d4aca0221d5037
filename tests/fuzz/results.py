"""What a run is told as: a table, its failures in groups, and JSON."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rich.table import Table

from fuzz.examine import BAD, GOOD, OTHER, Outcome
from fuzz.reader import Reader
from fuzz.run import Tally

FRAME = re.compile(r'File "[^"]*/src/(randsmooth/[^"]+)", line (\d+)')


class Group(NamedTuple):
    """Failures that have one cause, as far as can be told."""

    reader: str
    kind: str
    said: str
    numbers: list[int]


def table(tallies: Mapping[str, Tally], readers: Mapping[str, Reader]) -> Table:
    """A row a reader. `of its own` is marked where the format has no digest, so that damage cannot be told."""
    drawn = Table("reader", "inputs", *GOOD, *BAD)
    for column in drawn.columns[1:]:
        column.justify = "right"
    for name, tally in tallies.items():
        cells = [f"{tally.counts[kind]:,}" for kind in (*GOOD, *BAD)]
        if not readers[name].signed:
            cells[GOOD.index(OTHER)] += " (no digest)"
        drawn.add_row(name, f"{tally.inputs:,}", *cells)
    drawn.add_section()
    sums = [sum(tally.counts[kind] for tally in tallies.values()) for kind in (*GOOD, *BAD)]
    drawn.add_row("all", f"{sum(sums):,}", *(f"{each:,}" for each in sums))
    return drawn


def groups(tallies: Iterable[Tally]) -> list[Group]:
    """The failures, those of one reader, kind and cause together; the most frequent first."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for tally in tallies:
        for number, outcome in tally.failures:
            found.setdefault((tally.reader, outcome.kind, _cause(outcome)), []).append(number)
    return sorted((Group(*key, numbers) for key, numbers in found.items()), key=lambda each: -len(each.numbers))


def record(tallies: Mapping[str, Tally], readers: Mapping[str, Reader], seed: int) -> str:
    """JSON of a run: its seed, the versions that made it, and each reader's counts."""
    counts = {
        name: {"digest": readers[name].signed, "inputs": tally.inputs}
        | {kind.replace(" ", "_"): tally.counts[kind] for kind in (*GOOD, *BAD)}
        for name, tally in tallies.items()
    }
    return json.dumps({"seed": seed, "versions": _versions(), "readers": counts}, indent=2) + "\n"


def _versions() -> dict[str, Any]:
    from randsmooth.versions import versions

    return {"python": platform.python_version()} | versions("hypothesis", "pyarrow", "pillow", "onnxruntime")


def _cause(outcome: Outcome) -> str:
    """A raw error by its type and the line of ours that let it out; a changed meaning by the place that changed."""
    frames = FRAME.findall(outcome.trace)
    if frames:
        return f"{outcome.said.partition(':')[0]} at {frames[-1][0]}:{frames[-1][1]}"
    return re.sub(r"\d+", "#", outcome.said.partition(":")[0])
