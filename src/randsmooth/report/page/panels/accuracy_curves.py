"""Certified accuracy by radius, with a slider that reads all curves at one radius."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates
from randsmooth.noise import NORMS
from randsmooth.report.page.panels import PageContent, PanelView

SLIDER_STEPS = 160


def view(content: PageContent) -> PanelView | None:
    """The curves, the slider's stops, and whose settings turn a radius into a p_A where the tables differ in them.

    Tables without labels have no curve; None where no table has one.
    """
    sheet = content.sheet
    tables = [table for table in sheet.tables if table.labelled]
    if not tables:
        return None
    named = next((table.name for table in tables if table.header.settled), "")
    _, farthest = content.radius_chart.x_range or (0.0, 0.0)
    stops = slider_stops(tables, farthest)
    return PanelView(
        {"p_a_of": named if any(sheet.settings) else ""},
        {"radius": content.radius_chart},
        stops,
    )


def slider_stops(tables: Sequence[Certificates], farthest: float) -> dict[str, Any]:
    """Radii (M,) up to `farthest`, the p_A that each takes, and every table's accuracies in tenths of a percent.

    The p_A is the smallest share of noisy copies that certifies the radius, under the noise, n and alpha of the first
    table that has all three; None where no table has them, or where no p_A certifies so large a radius.
    """
    whole, digits = NORMS[tables[0].norm].whole, 4 if farthest > 0.25 else 6
    steps = np.round(np.linspace(0.0, farthest, SLIDER_STEPS + 1), digits)
    radii = np.arange(0.0, np.ceil(farthest)) if whole else steps
    shares = [metrics.certified_shares(table, radii) for table in tables]
    table = next((table for table in tables if table.header.settled), None)
    return {
        "radii": radii.tolist(),
        "digits": 0 if whole else digits - 2,
        "p_a": [None] * len(radii) if table is None else _least_p_a(table, radii),
        "accuracy": [[round(1000.0 * float(share)) for share in row] for row in shares],
        "names": [table.name for table in tables],
    }


def _least_p_a(table: Certificates, radii: NDArray[np.float64]) -> list[float | None]:
    """k / n of the fewest successes k that certify each radius; None beyond what n successes of n do."""
    noise, n, alpha = table.smoothing, table.header.n or 0, table.header.alpha
    if alpha:
        reached = radii <= (farthest := noise.largest_radius(n, alpha))
        shares = (
            bounds.successes_of_q(noise.tail(np.minimum(radii, farthest)), n, alpha) / n
        )
    else:  # all copies are counted: p_A itself
        shares = 1.0 - noise.tail(radii)
        reached = (shares < 1.0) | (radii == 0.0)
    return [
        round(float(p_a), 4) if there else None
        for p_a, there in zip(shares, reached, strict=True)
    ]
