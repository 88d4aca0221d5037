"""What the radius slider shows: at each radius every table's accuracy, and the p_A that the radius takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.certificates import Certificates
from randsmooth.report.figures import curves
from randsmooth.report.sheet.content import Sheet

STEPS = 160


def stops(sheet: Sheet) -> dict[str, Any]:
    """Radii (M,), the p_A that each takes (null where unknown or out of reach), and accuracies in tenths of a percent.

    The p_A is the smallest share of noisy copies that certifies the radius, at the sigma, n and alpha of the first
    table that has all three.
    """
    farthest = float(curves.radius_grid(sheet.tables)[-1])
    radii = np.round(np.linspace(0.0, farthest, STEPS + 1), 4)
    shares = [curves.radius_curve(table, radii).share for table in sheet.tables]
    judge = next((table for table in sheet.tables if _known(table)), None)
    return {
        "radii": radii.tolist(),
        "p_a": [None] * len(radii) if judge is None else _p_a(judge, radii),
        "accuracy": [[round(1000.0 * float(share)) for share in row] for row in shares],
        "names": [table.name for table in sheet.tables],
    }


def judge(sheet: Sheet) -> str:
    """Whose sigma, n and alpha turn a radius into a p_A, where the tables differ in them; else empty."""
    known = [table.name for table in sheet.tables if _known(table)]
    return known[0] if known and any(sheet.settings) else ""


def _known(table: Certificates) -> bool:
    return None not in (table.header.sigma, table.header.n, table.header.alpha)


def _p_a(table: Certificates, radii: NDArray[np.float64]) -> list[float | None]:
    """k / n of the fewest successes k that certify each radius; None beyond what n successes of n do."""
    sigma, n, alpha = table.header.sigma or 0.0, table.header.n or 0, table.header.alpha or 0.0
    farthest = bounds.largest_radius(n, alpha, sigma)
    k = bounds.successes_of_tail(bounds.tail_of_radius(np.minimum(radii, farthest), sigma), n, alpha)
    return [round(float(v), 4) if r <= farthest else None for v, r in zip(k / n, radii, strict=True)]
