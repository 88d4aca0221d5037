"""What the page draws and compares beyond field.csv: curves of each log, and how many images each two logs share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from docs.field.judging import FINE, Judged, fine_quantiles, p_a_values

from randsmooth.report.leaderboard.curves import STEPS, UNIT

LEVELS = (0.5, 0.75, 0.9)  # of p_A, at which pairs of logs are compared
FINEST = 10_000  # what standard deviations and quantiles are multiplied by

Curves = dict[str, Any]


def curves_of(judged: Sequence[Judged]) -> Curves:
    """The curves of the judged logs, in their order, and their comparable pairs.

    Returns:
        `logs`: their names; `p_a`: of each, p_A at the last so many of the 99 percentiles, in 1/10,000 (those before
        are below 1/2); `end`: the largest radius of a right image; `accuracy`: shares of images certified at `steps` +
        1 radii from 0 to `end`, in 1/1000. `groups`: logs with p_A over the same images; for i < j in a group's
        `logs`, place j (j - 1) / 2 + i of `both` has how many images have p_A of at least each of LEVELS in both, and
        of `spread` the standard deviation over the images of the difference of their radii, in 1/10,000.
    """
    return {
        "logs": [f"{one.place.repository}/{one.place.path}".strip("/") for one in judged],
        "p_a": [fine_quantiles(one) for one in judged],
        "end": [float(f"{one.entry.curves.end:.4g}") for one in judged],
        "accuracy": [one.entry.curves.accuracy for one in judged],
        "groups": _groups(judged),
        "percentiles": len(FINE),
        "steps": STEPS,
        "unit": UNIT,
        "levels": list(LEVELS),
    }


def _groups(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, one in enumerate(judged):
        if one.entry.p_a and one.table.idx.min() >= 0:
            places.setdefault(one.setting, []).append(place)
    return [_group(judged, members) for members in places.values() if len(members) > 1]


def _group(judged: Sequence[Judged], members: Sequence[int]) -> dict[str, Any]:
    logs = [judged[place] for place in members]
    images = len(logs[0].table)
    p_a = np.stack([p_a_values(one) for one in logs])
    radii = np.stack([one.table.radius * one.table.correct for one in logs])
    means, products = radii.mean(axis=1), radii @ radii.T / images
    square = np.diag(products)
    variance = square[:, None] + square[None, :] - 2.0 * products - (means[:, None] - means[None, :]) ** 2
    later, earlier = np.tril_indices(len(logs), -1)  # row by row: place j (j - 1) / 2 + i
    held = [(p_a >= level).astype(np.float64) for level in LEVELS]
    return {
        "logs": list(members),
        "images": images,
        "both": [(each @ each.T)[later, earlier].astype(int).tolist() for each in held],
        "spread": np.rint(FINEST * np.sqrt(np.maximum(variance[later, earlier], 0.0))).astype(int).tolist(),
    }


def pairs_in(curves: Curves) -> Mapping[tuple[str, str], tuple[int, list[int], float]]:
    """(earlier log, later log) -> images, images with p_A of at least each of LEVELS in both, and the spread."""
    found = {}
    for group in curves["groups"]:
        names = [curves["logs"][place] for place in group["logs"]]
        for j, later in enumerate(names):
            for i, earlier in enumerate(names[:j]):
                at = j * (j - 1) // 2 + i
                both = [counts[at] for counts in group["both"]]
                found[earlier, later] = group["images"], both, group["spread"][at] / FINEST
    return found


def write_json(curves: Curves) -> str:
    """One line for each entry, so that a change of a log changes few lines."""
    lists = ("logs", "p_a", "accuracy", "groups")
    lines = [f'"{key}": {_lines(value) if key in lists else _compact(value)}' for key, value in curves.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _lines(entries: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(map(_compact, entries)) + "\n]"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
