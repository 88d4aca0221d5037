"""The columns of a table that follow from its evidence: for people who look at it, and never read back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates.table import Certificates
from randsmooth.rules import Evidence


def derived(table: Certificates) -> dict[str, NDArray[Any]]:
    """predict, radius, correct (where there are labels), picked, n_A and p_lower, (N,) each.

    Raises:
        InputError: a table without counts.
    """
    counts0, counts = table.evidence()
    evidence = Evidence.of(counts0, counts, idx=table.idx, paths=table.paths, u=table.u)
    q = table.rule.claims(evidence)[0] if table.q is None else table.q  # a table made by hand has none yet
    correct = {"correct": table.correct} if table.labelled else {}
    return {
        "predict": table.predict,
        "radius": table.radius,
        **correct,
        "picked": evidence.picked,
        "n_A": np.take_along_axis(counts, evidence.picked[:, None], axis=1)[:, 0],
        "p_lower": 1.0 - q,
    }
