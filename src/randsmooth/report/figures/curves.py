"""The curves as points with 95% bands, for paper and for the page alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth import metrics
from randsmooth.certificates import Certificates

Floats = NDArray[np.float64]

POINTS = 500
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Curve:
    """A falling staircase: between two points the height is that of the right one.

    Attributes:
        x: (M,) ascending.
        share: (M,) share of images that reach x.
        low, high: (M,) pointwise 95% interval (Wilson).
    """

    x: Floats
    share: Floats
    low: Floats
    high: Floats


def radius_curve(table: Certificates, x: Floats) -> Curve:
    """Certified accuracy at each radius of `x` (M,)."""
    return _curve(x, metrics.certified_shares(table, x), len(table))


def p_a_curve(table: Certificates, x: Floats) -> Curve:
    """Share of images with p_A of at least each of `x` (M,), from where the table knows it."""
    shares = metrics.p_a_curve(table, x)
    known = ~np.isnan(shares)
    return _curve(x[known], shares[known], len(table))


def _curve(x: Floats, share: Floats, images: int) -> Curve:
    low, high = metrics.wilson(np.rint(share * images), images)
    return Curve(x, share, low, high)


def radius_grid(tables: Sequence[Certificates]) -> Floats:
    """Radii from 0 to just past the farthest certificate, at most about POINTS, on a round step."""
    farthest = max(float(np.max(t.radius * t.correct, initial=0.0)) for t in tables)
    step = next((s for s in STEPS if farthest / s <= POINTS), farthest / POINTS)
    return np.round(np.arange(int(farthest / step) + 3) * step, 9)


def p_a_grid() -> Floats:
    """p_A from 0 to 1, finer above 0.99, where the curves fall steeply.

    Divided, as counts are, so that k / n = x is met exactly.
    """
    return np.unique(np.concatenate((np.arange(401) / 400, np.arange(9900, 10001, 2) / 10000)))


def missing_facts(table: Certificates) -> list[str]:
    """Which of sigma, n and alpha a log must be given before its p_A is known; none for a table of counts."""
    if not table.is_log:
        return []
    return [field for field in ("sigma", "n", "alpha") if getattr(table.header, field) is None]
