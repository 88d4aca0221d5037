"""Certified accuracy by radius, with a slider that reads all curves at one radius."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates
from randsmooth.noise import NORMS
from randsmooth.report.charts import at_quantiles
from randsmooth.report.page.panel import PageContent, PanelView
from randsmooth.report.printed import tenths_of_percent

# The number of steps of the slider, from radius 0 to the farthest one.
SLIDER_STEPS = 160
# Where no radius was named, the slider starts at this part of its way.
START_OF_UNNAMED = 4
# Decimals of the radius of a stop. There are more where all radii are up to SMALL_RADIUS,
# as in L-infinity.
STOP_DECIMALS = 4
STOP_DECIMALS_OF_SMALL_RADII = 6
SMALL_RADIUS = 0.25


def view(content: PageContent) -> PanelView | None:
    """Return the curves and the stops of the slider; None where no table has labels.

    The slider shows the p_A that certifies a radius under the settings of one table.
    Where the tables differ in settings, the page says which table that is.
    """
    sheet = content.sheet
    tables = [table for table in sheet.tables if table.labelled]
    if not tables:
        return None
    _, farthest = content.radius_chart.x_range or (0.0, 0.0)
    settled = _first_settled(tables)
    p_a_of = ""
    if any(sheet.settings) and settled is not None:
        p_a_of = settled.name
    named = None if sheet.at is None else sheet.at.radius
    return PanelView(
        {"p_a_of": p_a_of},
        {"radius": content.radius_chart},
        slider_stops(tables, farthest, named),
        title="Certified accuracy by radius",
    )


def _first_settled(tables: Sequence[Certificates]) -> Certificates | None:
    """Return the first table with known noise, n and alpha; None where there is none."""
    return next((table for table in tables if table.header.settled), None)


def slider_stops(
    tables: Sequence[Certificates], farthest: float, named: float | None = None
) -> dict[str, Any]:
    """Return what the slider shows at each of its M radii up to `farthest`.

    Args:
        tables: the certificates, which have labels.
        farthest: the last radius of the curves.
        named: the radius of the answer, at which the slider starts; None where there is
            none.

    Returns:
        "radii": (M,) the radii, `named` among them where the curves reach it. "start":
        the place of the radius at which the slider starts. "named": that radius in full.
        "digits": the decimals that are printed of a radius.
        "p_a": (M,) the smallest share of noisy copies that certifies the radius, under
        the noise, n and alpha of the first table that has all three; None where no table
        has them, and at a radius that no share certifies. "accuracy": for each table
        (M,) certified accuracy in tenths of a percent. "names": the names of the tables.
    """
    decimals = STOP_DECIMALS
    if farthest <= SMALL_RADIUS:
        decimals = STOP_DECIMALS_OF_SMALL_RADII
    radii = np.round(np.linspace(0.0, farthest, SLIDER_STEPS + 1), decimals)
    # A reader needs fewer decimals than the curves.
    printed_decimals = decimals - 2
    if NORMS[tables[0].norm].whole:
        radii = np.arange(0.0, np.ceil(farthest))
        printed_decimals = 0
    start = len(radii) // START_OF_UNNAMED
    if named is not None and named <= farthest:
        radii = np.union1d(radii, [named])
        start = int(np.searchsorted(radii, named))
    settled = _first_settled(tables)
    p_a: list[float | None] = [None for _ in radii]
    # Each number of words has a p_A of its own.
    if settled is not None and settled.words is None:
        p_a = _least_p_a(settled, radii)
    return {
        "radii": radii.tolist(),
        "start": start,
        "named": named,
        "digits": printed_decimals,
        "p_a": p_a,
        "p_a_at": [_place_of(share) for share in p_a],
        "accuracy": [_accuracies(table, radii) for table in tables],
        "names": [table.name for table in tables],
    }


def _place_of(p_a: float | None) -> float | None:
    """Return where a p_A lies on the axis of its chart."""
    if p_a is None:
        return None
    return round(float(at_quantiles([p_a])[0]), STOP_DECIMALS)


def _accuracies(table: Certificates, radii: NDArray[np.float64]) -> list[int]:
    """Return certified accuracy at each radius, in tenths of a percent."""
    shares = metrics.certified_shares(table, radii)
    tenths: list[int] = tenths_of_percent(shares).tolist()
    return tenths


def _least_p_a(table: Certificates, radii: NDArray[np.float64]) -> list[float | None]:
    """Return k / n for each radius, with the fewest successes k that certify it.

    It is None for a radius that even n successes of n do not certify.

    Args:
        table: a table with known noise, n and alpha.
    """
    noise = table.noise
    n = table.header.n or 0
    alpha = table.header.alpha
    if alpha:
        farthest = noise.largest_radius(n, alpha)
        reached = radii <= farthest
        # Larger radii are replaced, as no number of successes belongs to them.
        q = noise.tail(np.minimum(radii, farthest))
        shares = bounds.successes_of_q(q, n, alpha) / n
    else:
        # Without alpha all copies were counted: the share is p_A itself.
        shares = 1.0 - noise.tail(radii)
        reached = (shares < 1.0) | (radii == 0.0)
    return [
        round(float(share), 4) if is_reached else None
        for share, is_reached in zip(shares, reached, strict=True)
    ]
