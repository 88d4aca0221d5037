"""Images walked through a certification rule, many at a time, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from randsmooth.rules import Evidence, Rule


def walks(rule: Rule, q: NDArray[np.float64], rng: np.random.Generator) -> list[tuple[int, ...]]:
    """The path of an image for each failure probability in `q` (N,): successes are drawn as the rule asks for them."""
    next_look = cache(rule.next_look)  # many paths begin alike
    paths: list[tuple[int, ...]] = [()] * len(q)
    seen = np.zeros(len(q), np.int64)
    while True:
        asked = np.array([next_look(path) or 0 for path in paths])
        going = np.flatnonzero(asked)
        if not len(going):
            return paths
        drawn = asked[going] - seen[going]
        if np.any(drawn <= 0):
            raise ValueError(f"it looks again after {asked[going][drawn <= 0][0]} samples, when it has seen as many")
        gained = drawn - rng.binomial(drawn, q[going])
        seen[going] = asked[going]
        for i, more in zip(going.tolist(), gained.tolist(), strict=True):
            paths[i] = (*paths[i], (paths[i][-1] if paths[i] else 0) + more)


def evidence_of(rule: Rule, paths: Sequence[Sequence[int]]) -> Evidence:
    """The evidence of images with two classes, of which the first was picked."""
    counts = np.array([(path[-1], rule.samples(path) - path[-1]) for path in paths], np.int64)
    arrays = tuple(np.array(path, np.int64) for path in paths)
    return Evidence(np.arange(len(paths)), np.zeros(len(paths), np.int64), counts, arrays)
