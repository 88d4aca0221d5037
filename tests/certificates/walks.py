"""What the tests of tables share: images walked through a rule, tables and journal rows made of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from randsmooth.certificates import (
    Certificates,
    Header,
    JournalRow,
    from_evidence,
    rule_of,
)
from randsmooth.rules import Rule
from randsmooth.rules.base import Ints
from randsmooth.testing import walks

SEQUENTIAL = [
    "radius=0",
    "radius=0.5",
    "screen=0.5",
    "grid",
    "grid=0.1",
    "upto=0.5",
    "dense=1",
    "anytime",
    "anytime=0.5",
]
RULES = ["fixed", *SEQUENTIAL]
HEADER = Header(
    sigma=0.5, n0=20, n=2000, alpha=0.05, seed=7, classes=("zero", "one", "two")
)
COLUMNS = (
    "idx",
    "label",
    "predict",
    "radius",
    "seconds",
    "counts0",
    "counts",
    "machine",
    "image",
    "u",
)


def table_of(header: Header, images: int = 40, seed: int = 0) -> Certificates:
    """A table of three classes, as a run under `header` would have made it."""
    rng, rule = np.random.default_rng(seed), rule_of(header)
    picked, label = rng.integers(0, 3, images), rng.integers(0, 3, images)
    q = rng.uniform(0.0, 0.9, images) ** 2
    paths = walks(rule, 0.4 * q if rule.any_class else q, rng)
    if header.n0 == 0:
        picked = label if header.label_aware else picked
    elif header.label_aware:
        paths = [
            path if k == y else ()
            for path, k, y in zip(paths, picked, label, strict=True)
        ]
    counts = [
        _counts(rule, path, k, rng)
        for path, k in zip(paths, picked.tolist(), strict=True)
    ]
    columns: dict[str, Any] = {
        "idx": np.arange(images, dtype=np.int64) * 3,
        "label": label,
    }
    columns |= {"counts0": (header.n0 or 1) * np.eye(3, dtype=np.int64)[picked]}
    columns |= {"counts": np.array(counts, np.int64).reshape(images, 3)}
    columns |= {"seconds": rng.uniform(0.0, 5.0, images).round(6)}
    columns |= {"paths": [np.array(path, np.int64) for path in paths]}
    u = rng.uniform(size=images) if header.bound == "randomised" else None
    return from_evidence(header, **columns, name="made", u=u)


def _counts(
    rule: Rule, path: Sequence[int], picked: int, rng: np.random.Generator
) -> Ints:
    n_a = path[-1] if path else 0
    return np.insert(rng.multinomial(rule.samples(path) - n_a, [0.7, 0.3]), picked, n_a)


def same(a: Certificates, b: Certificates) -> bool:
    """Whether two tables hold the same header and evidence, to the last bit, and claim the same."""
    paths = [path.tolist() for path in a.paths or ()] == [
        path.tolist() for path in b.paths or ()
    ]
    columns = [(getattr(a, name), getattr(b, name)) for name in COLUMNS]
    alike = all(
        one is other if one is None else np.array_equal(one, other)
        for one, other in columns
    )
    return a.header == b.header and paths and alike


def evidence_of(table: Certificates) -> dict[str, Any]:
    """The arguments of `from_evidence` that make this table."""
    names = (
        "idx",
        "label",
        "counts0",
        "counts",
        "seconds",
        "paths",
        "machine",
        "image",
        "u",
    )
    return {name: getattr(table, name) for name in names}


def rows_of(table: Certificates) -> list[JournalRow]:
    own: Any = (
        table.idx.tolist(),
        table.label.tolist(),
        *table.evidence(),
        table.paths or (),
        table.seconds.tolist(),
    )
    return [JournalRow(*row) for row in zip(*own, strict=True)]
