"""Verdicts: the conclusions from a band around a difference.

It shows who is ahead, at which radii, and where the curves cross.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from randsmooth.metrics.bands import Difference
from randsmooth.metrics.reach import RADIUS_DECIMALS, rounded_down

# The outcomes of a verdict; `Verdict` says what each means.
CROSSES = "crosses"
AHEAD = "ahead"
BEHIND = "behind"
AHEAD_EVERYWHERE = "ahead everywhere"
BEHIND_EVERYWHERE = "behind everywhere"
NO_DIFFERENCE = "no difference shown"

# The share of the images that "everywhere" leaves open.
DELTA = 0.01


@dataclass(frozen=True)
class Stretch:
    """Radii between which the difference is shown to have one sign and nowhere the other.

    Attributes:
        low, high: the first and the last radius at which it is shown.
        ahead: whether the difference is above 0.
        gaps: whether nothing is shown at some radii in between.

    Example:
        >>> print(Stretch(low=0.25, high=1.0, ahead=True, gaps=False))
        from r = 0.25 to 1
    """

    low: float
    high: float
    ahead: bool
    gaps: bool

    def __str__(self) -> str:
        low = rounded_down(self.low)
        high = rounded_down(self.high)
        if self.low == self.high:
            return f"at r = {low:g}"
        if self.gaps:
            return f"from r = {low:g} to {high:g} with gaps"
        return f"from r = {low:g} to {high:g}"


@dataclass(frozen=True)
class Crossing:
    """A change of the lead.

    Attributes:
        radius: the estimated first radius of the new lead: of all radii between `low`
            and `high`, the one at which the sum of the differences before it minus
            their sum from it on is extreme.
        low, high: the last radius at which the old lead is shown, and the first at
            which the new one is. With the confidence of the band, the lead changes
            between them.
        ahead: whether the compared table is ahead beyond it.

    Example:
        >>> Crossing(radius=0.8127, low=0.7012, high=0.9034, ahead=False).rounded
        (0.7, 0.91, 0.81)
    """

    radius: float
    low: float
    high: float
    ahead: bool

    @property
    def rounded(self) -> tuple[float, float, float]:
        """Return `low` rounded down, `high` rounded up, and `radius`, as printed.

        The step is a tenth of the first digit of `high - low`.
        """
        step = 10.0 ** (math.floor(math.log10(self.high - self.low)) - 1)

        def steps_to(r: float) -> float:
            return round(r / step, RADIUS_DECIMALS)

        low = math.floor(steps_to(self.low)) * step
        high = math.ceil(steps_to(self.high)) * step
        radius = round(steps_to(self.radius)) * step
        return _as_printed(low), _as_printed(high), _as_printed(radius)


def _as_printed(r: float) -> float:
    """Return the number that "%g" prints of `r`: without the error of 3 * 0.1."""
    return float(f"{r:g}")


@dataclass(frozen=True)
class Verdict:
    """The conclusion from a band about a table against another.

    Attributes:
        outcome: CROSSES if the table is shown ahead at some radii and behind at others;
            AHEAD or BEHIND if it is shown so at some radii and the contrary at none;
            AHEAD_EVERYWHERE if in addition the band lies above -delta at every radius up
            to `end`, and BEHIND_EVERYWHERE if it lies below delta; NO_DIFFERENCE if
            nothing is shown.
        stretches: the stretches of radii at which one sign is shown, ascending.
        crossings: one between each two neighbouring stretches, whose signs differ.
        delta: the share of the images that "everywhere" leaves open.
        end: the last radius compared.

    Example:
        >>> from randsmooth.metrics import Difference
        >>> radii = np.array([0.0, 0.5, 1.0])
        >>> value = np.array([0.10, 0.00, -0.10])
        >>> counts = np.zeros(3, np.int64)
        >>> difference = Difference(
        ...     radii, value, value - 0.05, value + 0.05, counts, counts, whole=True
        ... )
        >>> judge(difference).outcome
        'crosses'
    """

    outcome: str
    stretches: tuple[Stretch, ...]
    crossings: tuple[Crossing, ...]
    delta: float
    end: float

    def __str__(self) -> str:
        """Return the outcome with its radii, as every report prints it."""
        if self.outcome == NO_DIFFERENCE:
            return self.outcome
        if self.outcome == CROSSES:
            return _leads_in_order(self.crossings)

        (stretch,) = self.stretches
        if self.outcome in (AHEAD, BEHIND):
            contrary = BEHIND if stretch.ahead else AHEAD
            return f"{self.outcome} {stretch}, nowhere shown {contrary}"

        points = in_points(self.delta)
        end = rounded_down(self.end)
        return (
            f"{self.outcome} to within {points} from r = 0 to {end:g} "
            f"(beyond chance {stretch})"
        )


def _leads_in_order(crossings: Sequence[Crossing]) -> str:
    """Return which lead is shown before, between and beyond the crossings, in words."""
    first_lead = BEHIND if crossings[0].ahead else AHEAD
    first_low, _, _ = crossings[0].rounded
    sentence = f"{first_lead} up to r = {first_low:g}"

    # Each lead is shown from the end of its crossing to the beginning of the next.
    for crossing, following in zip(crossings, [*crossings[1:], None], strict=True):
        lead = AHEAD if crossing.ahead else BEHIND
        _, start, _ = crossing.rounded
        sentence += f", {lead} from {start:g}"
        if following is not None:
            end, _, _ = following.rounded
            sentence += f" to {end:g}"

    estimated_radii = [crossing.rounded[2] for crossing in crossings]
    near = " and ".join(f"{radius:g}" for radius in estimated_radii)
    return f"{sentence} (the curves cross near {near})"


def in_points(share: float) -> str:
    """Return a share of the images in words: `1 point`.

    Example:
        >>> in_points(0.01), in_points(0.025)
        ('1 point', '2.5 points')
    """
    points = f"{100.0 * share:g}"
    return "1 point" if points == "1" else f"{points} points"


def judge(difference: Difference, delta: float = DELTA) -> Verdict:
    """Return the verdict of the band of a difference at one radius or more.

    Example:
        >>> from randsmooth.metrics import Difference
        >>> radii = np.array([0.0, 0.5, 1.0])
        >>> value = np.array([0.10, 0.00, -0.10])
        >>> counts = np.zeros(3, np.int64)
        >>> difference = Difference(
        ...     radii, value, value - 0.05, value + 0.05, counts, counts, whole=True
        ... )
        >>> print(judge(difference))
        ahead up to r = 0, behind from 1 (the curves cross near 0.5)
    """
    places_of_stretches = _places_of_stretches(difference)
    stretches = tuple(_stretch(difference, places) for places in places_of_stretches)
    crossings = tuple(
        _crossing(difference, last=before[-1], first=after[0])
        for before, after in pairwise(places_of_stretches)
    )
    return Verdict(
        outcome=_outcome(difference, stretches, delta),
        stretches=stretches,
        crossings=crossings,
        delta=delta,
        end=float(difference.radii[-1]),
    )


def _outcome(difference: Difference, stretches: Sequence[Stretch], delta: float) -> str:
    """Return which of the outcomes of `Verdict` the stretches amount to."""
    if not stretches:
        return NO_DIFFERENCE
    if len(stretches) > 1:
        return CROSSES
    if stretches[0].ahead:
        within_delta = np.all(difference.low > -delta)
        everywhere = difference.whole and within_delta
        return AHEAD_EVERYWHERE if everywhere else AHEAD
    within_delta = np.all(difference.high < delta)
    everywhere = difference.whole and within_delta
    return BEHIND_EVERYWHERE if everywhere else BEHIND


def _places_of_stretches(difference: Difference) -> list[list[int]]:
    """Return the places among the radii at which each stretch's sign is shown."""
    sign = difference.above.astype(int) - difference.below.astype(int)
    shown = np.flatnonzero(sign).tolist()
    return [list(places) for _, places in groupby(shown, key=lambda i: int(sign[i]))]


def _stretch(difference: Difference, places: Sequence[int]) -> Stretch:
    """Return the stretch that is shown at `places` among the radii."""
    first = places[0]
    last = places[-1]
    return Stretch(
        low=float(difference.radii[first]),
        high=float(difference.radii[last]),
        ahead=bool(difference.above[first]),
        gaps=len(places) < last - first + 1,
    )


def _crossing(difference: Difference, last: int, first: int) -> Crossing:
    """Return the crossing between two stretches.

    Args:
        difference: the difference of the two tables.
        last: the last place among the radii of one lead.
        first: the first place of the next.
    """
    ahead = bool(difference.above[first])
    # The lead of the table that is overtaken: the curves cross where its sum is
    # largest.
    old_lead = difference.value[last:first]
    if ahead:
        old_lead = -old_lead
    place = last + 1 + int(np.argmax(np.cumsum(old_lead)))
    return Crossing(
        radius=float(difference.radii[place]),
        low=float(difference.radii[last]),
        high=float(difference.radii[first]),
        ahead=ahead,
    )
