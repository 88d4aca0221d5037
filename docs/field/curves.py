"""What the page draws and compares beyond field.csv: curves of each log, and the pairs of logs that are counted."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from docs.field.judging import Judged
from docs.field.pairs import FINEST, LEVELS, judged_of, measure_pairs
from docs.field.rows import Row

from randsmooth.progress import Progress
from randsmooth.report.entries import P_A_GRID, RADIUS_STEPS, SHARE_UNIT

Curves = dict[str, Any]


def curves_of(
    judged: Sequence[Judged], rows: Sequence[Row], progress: Progress
) -> Curves:
    """The curves of the judged logs, in their order, and the pairs that are counted.

    Returns:
        `logs`: a hash of their names; `p_a`: of each, shares of images with p_A of at least the last so many of
        `p_a_axis` (the others are below 1/2); `end`: the largest radius of a right image; `accuracy`: shares of images
        certified at `steps` + 1 radii from 0 to `end`. Shares are in 1/`unit`. `pairs`: see `measure_pairs`; their
        ends are in 1/`finest`.
    """
    known = judged_of(rows)
    return {
        "logs": fingerprint(known),
        "p_a": [one.entry.curves.p_a for one in judged],
        "end": [float(f"{one.entry.curves.end:.4g}") for one in judged],
        "accuracy": [one.entry.curves.accuracy for one in judged],
        "pairs": measure_pairs(judged, known, progress),
        "p_a_axis": P_A_GRID.tolist(),
        "steps": RADIUS_STEPS,
        "unit": SHARE_UNIT,
        "levels": list(LEVELS),
        "finest": FINEST,
    }


def fingerprint(judged: Sequence[Row]) -> str:
    """Which logs the curves are of, and in which order."""
    names = "\n".join(f"{row['repository']}/{row['path']}" for row in judged)
    return hashlib.sha256(names.encode()).hexdigest()[:16]


def write_json(drawn: Curves) -> str:
    """One line for each entry, so that a change of a log changes few lines."""
    lists = ("p_a", "accuracy", "pairs")
    lines = [
        f'"{key}": {_lines(value) if key in lists else _compact(value)}'
        for key, value in drawn.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(entries: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(map(_compact, entries)) + "\n]"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
