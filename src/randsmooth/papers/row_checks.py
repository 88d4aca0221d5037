"""Where the numbers in one row of a paper contradict each other, so that no classifier can have them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.papers.published_values import published_texts

Floats = NDArray[np.float64]
ROW = ["paper", "object", "version", "dataset", "sigma", "method", "setting"]
N, ALPHA = 100_000, 0.001  # what all three papers certify with
ACCURACY = "accuracy@"


def inconsistencies() -> pd.DataFrame:
    """The contradictions in rows of the published tables, one per line.

    Certified accuracy cannot rise with the radius, nor be above 0 where no count can certify, and ACR is the area under
    its curve. Every number involved may be off by its rounding, half a unit of the last digit printed. The tables as
    typed here contain no contradiction; a slip in typing them would be likely to introduce one.

    Returns:
        A table with the columns paper, object, version, dataset, sigma, method, setting and `what` contradicts itself.

    Example:
        >>> len(inconsistencies())
        0
    """
    lines = [(*key, what) for key, row in published_texts().groupby(ROW, sort=False) for what in _contradictions(row)]
    found = pd.DataFrame(lines, columns=[*ROW, "what"], dtype=str)
    return found.assign(sigma=pd.to_numeric(found["sigma"]))


def _contradictions(row: pd.DataFrame) -> Iterator[str]:
    accuracies = row[row["metric"].str.startswith(ACCURACY)]
    if accuracies.empty:
        return
    radii = accuracies["metric"].str.removeprefix(ACCURACY).astype(float).to_numpy()
    percent, slack = accuracies["value"].astype(float).to_numpy(), _rounding(accuracies)
    farthest = bounds.largest_radius(N, ALPHA, float(row["sigma"].iloc[0]))
    within = radii <= farthest
    yield from _rises(radii, percent)
    yield from _too_far(radii[~within], percent[~within], farthest)
    low, high = area(radii[within], percent[within] / 100.0, farthest, slack[within] / 100.0)
    for acr, acr_slack in _acr(row):
        if not low - acr_slack <= acr <= high + acr_slack:
            yield f"ACR {acr:g} is outside [{low:.4f}, {high:.4f}], what the accuracies allow"


def _rises(radii: Floats, percent: Floats) -> Iterator[str]:
    for i in np.flatnonzero(np.diff(percent) > 0.0):
        yield f"accuracy rises from {percent[i]:g} at {radii[i]:g} to {percent[i + 1]:g} at {radii[i + 1]:g}"


def _too_far(radii: Floats, percent: Floats, farthest: float) -> Iterator[str]:
    for i in np.flatnonzero(percent > 0.0):
        yield f"accuracy {percent[i]:g} at {radii[i]:g}, but no radius beyond {farthest:.3f} can be certified"


def _acr(row: pd.DataFrame) -> Iterator[tuple[float, float]]:
    """The ACR of a row and its rounding, if there is one."""
    acr = row[row["metric"] == "acr"]
    yield from zip(acr["value"].astype(float), _rounding(acr), strict=True)


def area(radii: Floats, accuracy: Floats, farthest: float, slack: Floats | float = 0.0) -> tuple[float, float]:
    """The least and the largest ACR of a classifier whose certified accuracy is known at some radii.

    Args:
        radii: (M,) ascending from 0, none above `farthest`, the largest radius that can be certified.
        accuracy: (M,) share of images certified at each, known to within `slack` (M,).

    Between two radii the curve lies between its values at both. It may fall right after the first, which gives the
    least area, or only at the second, which gives the largest.
    """
    widths = np.diff(radii, append=farthest)  # (M,)
    low, high = np.maximum(accuracy - slack, 0.0), np.minimum(accuracy + slack, 1.0)
    return float(widths[:-1] @ low[1:]), float(widths @ high)


def _rounding(cells: pd.DataFrame) -> Floats:
    """Half a unit of the last digit of each printed value (M,)."""
    decimals = np.array([len(value.partition(".")[2]) for value in cells["value"]], np.float64)
    return np.asarray(0.5 * 10.0**-decimals)
