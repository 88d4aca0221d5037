"""The p_A curve with a band around all of it, and what two such curves say of each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import bounds
from randsmooth.certificates import Certificates
from randsmooth.metrics.difference import CurveDifference, curve_difference
from randsmooth.metrics.estimate import LEVEL, Estimate, require_images
from randsmooth.metrics.p_a import PA, p_a, p_a_curve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BETTER = "better everywhere"
WORSE = "worse everywhere"
CROSSES = "crosses"
NO_DIFFERENCE = "no difference beyond chance"
CELLS = 1000  # of p_A in [0, 1]: the crossing is found to 0.001


@dataclass(frozen=True)
class PABand:
    """A p_A curve and a band that covers the population's whole curve at once.

    Attributes:
        x: (M,) values of p_A.
        share: (M,) share of images with p_A >= x; NaN where the table does not know it, as are the ends.
        low, high: (M,) ends of the 95% band.
        images: how many were measured.
    """

    x: Floats
    share: Floats
    low: Floats
    high: Floats
    images: int


def dkw(images: int) -> float:
    """Half-width e of the 95% band around a distribution function: sqrt(log(2 / 0.05) / (2 images)).

    P(the sample's curve leaves the population's by more than e anywhere) <= 0.05, for any distribution.

    Raises:
        InputError: no image.

    Source: Dvoretzky, Kiefer & Wolfowitz 1956, with the constant 2 of Massart 1990, corollary 1.
    """
    require_images(images)
    return math.sqrt(math.log(2.0 / (1.0 - LEVEL)) / (2.0 * images))


def p_a_band(table: Certificates, x: ArrayLike) -> PABand:
    """`p_a_curve` at `x` (M,) with its simultaneous 95% band, which holds at every x at once, asked for or not.

    It speaks of fresh images whose p_A is measured with as many samples. Two bands that overlap do not mean that two
    tables over the same images do not differ: ask `verdict`.

    Raises:
        InputError: no image, or p_A is unknown (see `p_a`).
    """
    x = np.asarray(x, np.float64)
    share = p_a_curve(table, x)
    half = dkw(len(table))
    return PABand(x, share, np.maximum(share - half, 0.0), np.minimum(share + half, 1.0), len(table))


@dataclass(frozen=True)
class Verdict:
    """What the p_A curves of `a` and `b` say of each other.

    Attributes:
        outcome: of `a`. BETTER: its curve is above that of `b` somewhere beyond chance, and below it nowhere. WORSE:
            the reverse. CROSSES: both occur. NO_DIFFERENCE: neither does.
        overtaker: name of the table that is ahead at the larger p_A where the curves cross, else None.
        p_a: the smallest p_A from which on it is not behind, to 1/CELLS, with a 95% interval; None without a crossing.
        radius: the radius that this p_A is worth at the tables' sigma, n and alpha; None too where these differ.
        curve: the difference that the outcome was read from.
    """

    outcome: str
    overtaker: str | None
    p_a: Estimate | None
    radius: Estimate | None
    curve: CurveDifference

    def __str__(self) -> str:
        if self.p_a is None:
            return self.outcome
        if self.radius is None:
            return f"{self.outcome} at p_A = {self.p_a.value:.3f}"
        return f"{self.outcome} at r = {bounds.round_down(self.radius.value, 3)}"


def verdict(a: Certificates, b: Certificates, *, resamples: int = 1000, seed: int = 0) -> Verdict:
    """Whether `a` is better or worse than `b` at every p_A, or where their curves cross.

    What counts as a difference is judged by the band of `curve_difference`. Crossing curves are split at the one p_A
    that explains them best: the sum of the difference over all smaller p_A, minus the sum over all larger ones, is
    extreme there. Its interval is the percentile bootstrap over the images, each keeping both of its values. Curves
    may cross more often than that: look at `curve`.

    Raises:
        InputError: the tables are not about the same images (see `pair`), or p_A is unknown (see `p_a`).
    """
    curve = curve_difference(a, b, resamples=resamples, seed=seed)
    above, below = bool(curve.above.any()), bool(curve.below.any())
    if not (above and below):
        outcome = BETTER if above else WORSE if below else NO_DIFFERENCE
        return Verdict(outcome, None, None, None, curve)
    crossing, b_overtakes = _crossing(p_a(a), p_a(b), resamples, seed)
    overtaker = b.name if b_overtakes else a.name
    return Verdict(CROSSES, overtaker, crossing, _radius_at(crossing, a, b), curve)


def _crossing(first: PA, second: PA, resamples: int, seed: int) -> tuple[Estimate, bool]:
    """The p_A at which the lead changes, and whether the second takes it."""
    cells = _cells(first), _cells(second)
    start = math.ceil(CELLS * max(first.known_from, second.known_from))
    images = len(cells[0])
    whole = _difference(cells, np.ones(images), start)
    gains = _gains(whole)
    b_overtakes = bool(gains.max() >= -gains.min())
    sign = 1.0 if b_overtakes else -1.0
    value = _lead_changes(sign * whole, start)
    rng = np.random.default_rng(seed)
    drawn = (rng.multinomial(images, np.full(images, 1.0 / images)) for _ in range(resamples))
    places = [_lead_changes(sign * _difference(cells, weights, start), start) for weights in drawn]
    low, high = np.quantile(places, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    return Estimate(value, float(low), float(high), images), b_overtakes


def _cells(p: PA) -> Ints:
    """(N,) the largest j with j / CELLS <= p_A; 0 where p_A is unknown, which is below all that is asked."""
    grid = np.arange(CELLS + 1) / CELLS  # divided, as counts are: k/n = x is then met exactly
    return np.searchsorted(grid, np.nan_to_num(p.values, nan=0.0), side="right") - 1


def _difference(cells: tuple[Ints, Ints], weights: NDArray[np.generic], start: int) -> Floats:
    """(M,) weight of images with p_A >= j / CELLS, first minus second, for j = start..CELLS."""
    held = [np.bincount(cell, weights, CELLS + 1)[::-1].cumsum()[::-1] for cell in cells]
    return np.asarray((held[0] - held[1])[start:])


def _gains(difference: Floats) -> Floats:
    """(M + 1,) for each split, the first's lead summed before it minus that summed after it."""
    before = np.concatenate(([0.0], np.cumsum(difference)))
    return np.asarray(2.0 * before - before[-1])


def _lead_changes(difference: Floats, start: int) -> float:
    """The p_A from which on the second is ahead, where the first leads before."""
    return min(start + int(np.argmax(_gains(difference))), CELLS) / CELLS


def _radius_at(p: Estimate, a: Certificates, b: Certificates) -> Estimate | None:
    """The radius that n p_A successes of n certify; None unless both tables have the same sigma, n and alpha."""
    facts = [(table.header.sigma, table.header.n, table.header.alpha) for table in (a, b)]
    sigma, n, alpha = facts[0]
    if facts[0] != facts[1] or sigma is None or n is None or alpha is None:
        return None
    successes = np.rint(np.array([p.value, p.low, p.high]) * n)
    value, low, high = bounds.radius_of_tail(bounds.lower_tail(successes, n, alpha), sigma).tolist()
    return Estimate(value, low, high, p.images)
