"""What a band around a difference shows: ahead, behind, crossing, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CROSSES = "crosses"
AHEAD = "ahead"
BEHIND = "behind"
AHEAD_EVERYWHERE = "ahead everywhere"
BEHIND_EVERYWHERE = "behind everywhere"
NO_DIFFERENCE = "no difference shown"
DELTA = 0.01  # a share of the images: what "everywhere" may leave open


@dataclass(frozen=True)
class Difference:
    """Certified accuracy of one table minus that of another, with a band that holds at all radii at once.

    Attributes:
        radii: (M,) ascending, in units of pixels in [0, 1].
        value, low, high: (M,) shares of the images, the difference and the ends of its band.
        only_a, only_b: (M,) images that only the one or only the other certifies.
        whole: whether the radii are so fine that the difference is known at every radius up to the last.

    Example:
        >>> radii = np.array([0.0, 0.5, 1.0])
        >>> value = np.array([0.10, 0.00, -0.10])
        >>> counts = np.zeros(3, np.int64)
        >>> difference = Difference(radii, value, value - 0.05, value + 0.05, counts, counts, whole=True)
        >>> difference.above.tolist(), difference.below.tolist()
        ([True, False, False], [False, False, True])
    """

    radii: Floats
    value: Floats
    low: Floats
    high: Floats
    only_a: NDArray[np.int64]
    only_b: NDArray[np.int64]
    whole: bool

    @property
    def above(self) -> NDArray[np.bool_]:
        """(M,) whether the difference is shown to be above 0."""
        return np.asarray(self.low > 0.0)

    @property
    def below(self) -> NDArray[np.bool_]:
        """(M,) whether the difference is shown to be below 0."""
        return np.asarray(self.high < 0.0)


@dataclass(frozen=True)
class Stretch:
    """Radii from `low` to `high` between which the difference is shown to have one sign and nowhere the other.

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
        if self.low == self.high:
            return f"at r = {self.low:.4g}"
        return f"from r = {self.low:.4g} to {self.high:.4g}{' with gaps' if self.gaps else ''}"


@dataclass(frozen=True)
class Crossing:
    """A change of the lead.

    Attributes:
        radius: the estimated first radius of the new lead: of all radii between `low` and `high`, the one at which the
            sum of the differences before it minus their sum from it on is extreme.
        low, high: with the confidence of the band, the lead changes between these: the last radius at which the old
            lead is shown, and the first at which the new one is.
        ahead: whether the compared table is ahead beyond it.

    Example:
        >>> print(Crossing(radius=0.8, low=0.7, high=0.9, ahead=False))
        at r = 0.8 (0.7 to 0.9), behind beyond
    """

    radius: float
    low: float
    high: float
    ahead: bool

    def __str__(self) -> str:
        return f"at r = {self.radius:.4g} ({self.low:.4g} to {self.high:.4g}), {AHEAD if self.ahead else BEHIND} beyond"


@dataclass(frozen=True)
class Verdict:
    """What a band shows of a table against another.

    Attributes:
        outcome: CROSSES if the table is shown ahead at some radii and behind at others; AHEAD or BEHIND if it is shown
            so at some radii and the contrary at none; AHEAD_EVERYWHERE if moreover the band lies above -delta at every
            radius up to `end`, and BEHIND_EVERYWHERE if it lies below delta; NO_DIFFERENCE if nothing is shown.
        stretches: of radii at which one sign is shown, ascending.
        crossings: one between each two neighbouring stretches, whose signs differ.
        delta: the share of the images that "everywhere" leaves open.
        end: the last radius compared.

    Example:
        >>> radii = np.array([0.0, 0.5, 1.0])
        >>> value = np.array([0.10, 0.00, -0.10])
        >>> counts = np.zeros(3, np.int64)
        >>> difference = Difference(radii, value, value - 0.05, value + 0.05, counts, counts, whole=True)
        >>> judge(difference).outcome
        'crosses'
    """

    outcome: str
    stretches: tuple[Stretch, ...]
    crossings: tuple[Crossing, ...]
    delta: float
    end: float

    def __str__(self) -> str:
        """The outcome with its radii, as every report prints it."""
        if self.outcome == NO_DIFFERENCE:
            return self.outcome
        if self.outcome == CROSSES:
            return f"{CROSSES} {', and '.join(map(str, self.crossings))}"
        (shown,) = self.stretches
        contrary = BEHIND if shown.ahead else AHEAD
        if self.outcome in (AHEAD, BEHIND):
            return f"{self.outcome} {shown}, nowhere shown {contrary}"
        return f"{self.outcome} to within {in_points(self.delta)} from r = 0 to {self.end:.4g} (beyond chance {shown})"


def in_points(share: float) -> str:
    """A share of the images in words: `1 point`.

    Example:
        >>> in_points(0.01), in_points(0.025)
        ('1 point', '2.5 points')
    """
    points = f"{100.0 * share:g}"
    return f"{points} point{'' if points == '1' else 's'}"


def judge(difference: Difference, delta: float = DELTA) -> Verdict:
    """What the band of a difference at one radius or more shows.

    Example:
        >>> radii = np.array([0.0, 0.5, 1.0])
        >>> value = np.array([0.10, 0.00, -0.10])
        >>> counts = np.zeros(3, np.int64)
        >>> difference = Difference(radii, value, value - 0.05, value + 0.05, counts, counts, whole=True)
        >>> print(judge(difference))
        crosses at r = 0.5 (0 to 1), behind beyond
    """
    groups = _runs(difference)
    stretches = tuple(_stretch(difference, places) for places in groups)
    crossings = tuple(_crossing(difference, before[-1], after[0]) for before, after in pairwise(groups))
    outcome = _outcome(difference, stretches, delta)
    return Verdict(outcome, stretches, crossings, delta, float(difference.radii[-1]))


def _outcome(difference: Difference, stretches: tuple[Stretch, ...], delta: float) -> str:
    if len(stretches) != 1:
        return CROSSES if stretches else NO_DIFFERENCE
    if stretches[0].ahead:
        return AHEAD_EVERYWHERE if difference.whole and np.all(difference.low > -delta) else AHEAD
    return BEHIND_EVERYWHERE if difference.whole and np.all(difference.high < delta) else BEHIND


def _runs(difference: Difference) -> list[list[int]]:
    """Places where something is shown, cut wherever its sign changes."""
    sign = difference.above.astype(int) - difference.below.astype(int)
    return [[int(i) for i in run] for _, run in groupby(np.flatnonzero(sign), key=lambda i: sign[i])]


def _stretch(difference: Difference, places: list[int]) -> Stretch:
    low, high = (float(difference.radii[i]) for i in (places[0], places[-1]))
    return Stretch(low, high, bool(difference.above[places[0]]), len(places) <= places[-1] - places[0])


def _crossing(difference: Difference, last: int, first: int) -> Crossing:
    """Between the last place of one lead and the first of the next."""
    ahead = bool(difference.above[first])
    lead = difference.value[last:first] * (-1.0 if ahead else 1.0)  # of the table that is overtaken
    place = last + 1 + int(np.argmax(np.cumsum(lead)))
    radii = difference.radii
    return Crossing(float(radii[place]), float(radii[last]), float(radii[first]), ahead)
