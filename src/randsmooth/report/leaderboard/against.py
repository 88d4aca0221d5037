"""Tables of one setting against the Gaussian one among them, for the leaderboard."""

from __future__ import annotations

from collections.abc import Sequence

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.metrics import Comparison
from randsmooth.report.sheet import baseline


def compared(tables: Sequence[Certificates], radii: Sequence[float]) -> list[Comparison | None]:
    """One a table, all judged together; None for the baseline, and for all where none offers itself or rows repeat."""
    reference = baseline.find(tables)
    if reference is None:
        return [None] * len(tables)
    others = [row for row in range(len(tables)) if row != reference]
    try:
        pairs = [metrics.pair(tables[row], tables[reference]) for row in others]
    except InputError:
        return [None] * len(tables)
    found = dict(zip(others, metrics.compare(pairs, radii), strict=True))
    return [found.get(row) for row in range(len(tables))]
