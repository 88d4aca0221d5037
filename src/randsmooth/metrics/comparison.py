"""Tables compared: where one certifies more than another, and several comparisons judged together.

With 95% probability none of all their claims is false.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.accuracy import asked_radii, check_radius, farthest, round_step
from randsmooth.metrics.estimate import (
    CRITICAL,
    Estimate,
    Floats,
    Ints,
    mean_interval,
    paired_shares,
    require_images,
)
from randsmooth.metrics.paired import gains, require_same_images

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
    only_a: Ints
    only_b: Ints
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
            return f"at r = {_down(self.low):g}"
        return f"from r = {_down(self.low):g} to {_down(self.high):g}{' with gaps' if self.gaps else ''}"


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
        >>> Crossing(radius=0.8127, low=0.7012, high=0.9034, ahead=False).words
        ('0.7', '0.91', '0.81')
    """

    radius: float
    low: float
    high: float
    ahead: bool

    @property
    def words(self) -> tuple[str, str, str]:
        """`low` rounded down, `high` rounded up, and `radius`, to a tenth of the first digit of `high - low`."""
        step = 10.0 ** (math.floor(math.log10(self.high - self.low)) - 1)
        low, high, radius = (
            round(r / step, DIGITS) for r in (self.low, self.high, self.radius)
        )
        return (
            f"{math.floor(low) * step:g}",
            f"{math.ceil(high) * step:g}",
            f"{round(radius) * step:g}",
        )


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
            return _in_order(self.crossings)
        (shown,) = self.stretches
        contrary = BEHIND if shown.ahead else AHEAD
        if self.outcome in (AHEAD, BEHIND):
            return f"{self.outcome} {shown}, nowhere shown {contrary}"
        within = f"to within {in_points(self.delta)} from r = 0 to {_down(self.end):g}"
        return f"{self.outcome} {within} (beyond chance {shown})"


def _in_order(crossings: Sequence[Crossing]) -> str:
    """Which lead is shown up to the first crossing, between two and beyond the last, and where the curves cross."""
    low, high, radius = zip(*(crossing.words for crossing in crossings), strict=True)
    leads = [AHEAD if crossing.ahead else BEHIND for crossing in crossings]
    ends = [*(f" to {end}" for end in low[1:]), ""]
    said = (
        f", {lead} from {start}{end}"
        for lead, start, end in zip(leads, high, ends, strict=True)
    )
    before = BEHIND if crossings[0].ahead else AHEAD
    return f"{before} up to r = {low[0]}{''.join(said)} (the curves cross near {' and '.join(radius)})"


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
        ahead up to r = 0, behind from 1 (the curves cross near 0.5)
    """
    sign = difference.above.astype(int) - difference.below.astype(int)
    groups = [
        [int(i) for i in run]
        for _, run in groupby(np.flatnonzero(sign), key=lambda i: sign[i])
    ]
    stretches = tuple(_stretch(difference, places) for places in groups)
    crossings = tuple(
        _crossing(difference, before[-1], after[0])
        for before, after in pairwise(groups)
    )
    outcome = CROSSES if stretches else NO_DIFFERENCE
    if len(stretches) == 1:
        ahead = stretches[0].ahead
        within = np.all(difference.low > -delta if ahead else difference.high < delta)
        everywhere = (AHEAD_EVERYWHERE, AHEAD) if ahead else (BEHIND_EVERYWHERE, BEHIND)
        outcome = everywhere[0 if difference.whole and within else 1]
    return Verdict(outcome, stretches, crossings, delta, float(difference.radii[-1]))


def _stretch(difference: Difference, places: list[int]) -> Stretch:
    low, high = (float(difference.radii[i]) for i in (places[0], places[-1]))
    return Stretch(
        low,
        high,
        bool(difference.above[places[0]]),
        len(places) <= places[-1] - places[0],
    )


def _crossing(difference: Difference, last: int, first: int) -> Crossing:
    """Between the last place of one lead and the first of the next."""
    ahead = bool(difference.above[first])
    lead = difference.value[last:first] * (
        -1.0 if ahead else 1.0
    )  # of the table that is overtaken
    place = last + 1 + int(np.argmax(np.cumsum(lead)))
    radii = difference.radii
    return Crossing(float(radii[place]), float(radii[last]), float(radii[first]), ahead)


POINTS = 800  # at most, on the smallest round step that keeps to it: 0.005 at sigma 0.5 and 1
DIGITS = 9  # radii that agree in them are one: 3 * 0.1 is not 0.3 in floating point


@dataclass(frozen=True)
class Reach:
    """The radii (M,), ascending, at which two tables are compared.

    Attributes:
        whole: whether both were asked about every radius from 0 to the last, so that a curve can be drawn through them.
        limit: in words, what restricts the radii; empty if both tables reach equally far.
    """

    radii: Floats
    whole: bool
    limit: str


def reach(a: Certificates, b: Certificates, asked: Sequence[float] = ()) -> Reach:
    """Radii from 0 through the farthest that the n of both allow, the radii `asked` for up to there among them.

    All radii of both tables are among them, too: certified accuracies change nowhere else, so that what is said of all
    these radii holds at every radius in between.

    Beyond the nearer of the two ends one table can certify nothing, whatever its classifier: a smaller n or less noise
    would be called worse there for what it was not asked. A table whose samples answered particular radii only
    (--rule radius or grid) is compared at those; between them its radii are lower bounds.

    Raises:
        InputError: a radius that makes no sense.
    """
    check_radius(*asked)
    ends = farthest(a), farthest(b)
    end, nearer = min(ends), a if ends[0] < ends[1] else b
    lacking = ", ".join(
        name for name in ("sigma", "n", "alpha") if getattr(nearer.header, name) is None
    )
    most = (
        "farthest that {} can certify"
        if nearer.header.settled
        else f"largest radius of {{}}, its {lacking} unknown"
    )
    limit = (
        ""
        if ends[0] == ends[1]
        else f"through r = {_down(end):g}, the {most.format(nearer.name)}"
    )
    few = [asked_radii(table) for table in (a, b)]
    shared = [np.round(radii, DIGITS) for radii in few if radii is not None]
    if not shared:
        steps = np.round([*grid(end), *(r for r in asked if r <= end)], DIGITS)
        own = [table.radius[table.correct & (table.radius <= end)] for table in (a, b)]
        return Reach(np.unique(np.concatenate([steps, *own])), True, limit)
    common = np.asarray(np.intersect1d(shared[0], shared[-1]), np.float64)
    common = common[common <= end]
    return Reach(common, False, _particular(common, a, b, few))


def grid(end: float) -> Floats:
    """Radii from 0 to `end` on a round step, at most POINTS of them and then `end` itself, rounded down."""
    if end == 0.0:
        return np.zeros(1)
    step = round_step(end, POINTS)
    return np.unique(
        np.round([*(np.arange(int(_down(end) / step) + 1) * step), _down(end)], DIGITS)
    )


def _down(r: float) -> float:
    """`r` to four significant digits, never above it."""
    scale = 10.0 ** (3 - int(np.floor(np.log10(r)))) if r > 0.0 else 1.0
    return float(np.floor(round(r * scale, DIGITS)) / scale)


def _particular(
    common: Floats, a: Certificates, b: Certificates, few: Sequence[Floats | None]
) -> str:
    """Which tables limit the comparison to the radii `common`."""
    names = " and ".join(
        table.name
        for table, radii in zip((a, b), few, strict=True)
        if radii is not None
    )
    if len(common) == 0:
        return f"at no radius: the samples of {names} answer none that the other can be asked for"
    where = (
        f"r = {common[0]:g}"
        if len(common) == 1
        else f"{len(common)} radii from {common[0]:g} to {common[-1]:g}"
    )
    return f"at {where} only, all that the samples of {names} answer"


TINY = 1e-12  # a smaller sum of squares is 0, apart from rounding


@dataclass(frozen=True)
class Scores:
    """One pair's differences x: 1 where only `a` certifies an image at a radius, -1 where only `b` does, else 0.

    Attributes:
        a, b: the tables, of N images.
        at: the M radii at which they are compared.
        held: at how many of the radii each image is certified, (N,) of either table: at the first so many.
        only_a, only_b: (M,) how often x is 1, and -1.
        gain: (N,) differences of radii, 0 where wrong, whose mean is that of the ACRs; None where it is not compared.
    """

    a: Certificates
    b: Certificates
    at: Reach
    held: tuple[Ints, Ints]
    only_a: Ints
    only_b: Ints
    gain: Floats | None

    @classmethod
    def of(cls, a: Certificates, b: Certificates, asked: Sequence[float]) -> Scores:
        """Raises InputError unless the tables are about the same images, and some; and as `reach`."""
        require_same_images(a, b)
        require_images(len(a))
        at = reach(a, b, asked)
        in_a, in_b = (
            np.searchsorted(at.radii, t.radius, side="right") * t.correct
            for t in (a, b)
        )
        one, M = np.ones((len(a), 1), np.int64), len(at.radii)
        some_a, some_b, both = (
            _sums_at(held, one, M)[:, 0]
            for held in (in_a, in_b, np.minimum(in_a, in_b))
        )
        return cls(
            a,
            b,
            at,
            (in_a, in_b),
            some_a - both,
            some_b - both,
            gains(a, b)[0] if at.whole else None,
        )

    @property
    def figures(self) -> int:
        """How many differences: the radii, and ACR."""
        return len(self.at.radii) + self.at.whole

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """(figures,) the sum of x and that of x^2, ACR last."""
        total, squares = self.only_a - self.only_b, self.only_a + self.only_b
        if self.gain is None:
            return total.astype(np.float64), squares.astype(np.float64)
        return np.append(total, self.gain.sum()), np.append(
            squares, self.gain @ self.gain
        )

    def largest(self, signs: NDArray[np.float32]) -> Floats:
        """(2, D) the largest |t| of all figures under each of D columns of `signs` (N, D): of x, and of x - mean."""
        of_a, of_b = (_sums_at(held, signs, len(self.at.radii)) for held in self.held)
        drawn = of_a - of_b
        if self.gain is not None:
            drawn = np.concatenate(
                [drawn, (self.gain.astype(np.float32) @ signs)[None]]
            )
        total, squares = self.moments
        mean = total / len(self.a)
        centred = drawn - mean.astype(np.float32)[:, None] * signs.sum(axis=0)
        return np.stack(
            [_largest_t(drawn, squares), _largest_t(centred, squares - mean * total)]
        )


def _sums_at(held: Ints, of: NDArray[Any], radii: int) -> NDArray[Any]:
    """(M, D) sums of the numbers `of` (N, D) over the images that are certified at each of so many radii."""
    order = np.argsort(-held)
    sums = np.concatenate([np.zeros_like(of[:1]), np.cumsum(of[order], axis=0)])
    return np.asarray(sums[np.searchsorted(-held[order], -np.arange(radii))])


def _largest_t(sums: NDArray[np.float32], squares: Floats) -> Floats:
    """(D,) the largest |sum| / sqrt(squares) of the rows of (M, D); a row without differences counts 0."""
    scale = np.where(
        squares > TINY, 1.0 / np.sqrt(np.maximum(squares, TINY)), 0.0
    ).astype(np.float32)
    t = sums * scale[:, None]
    return np.asarray(
        np.maximum(t.max(axis=0, initial=0.0), -t.min(axis=0, initial=0.0))
    )


DRAWS = 1000  # of signs
QUANTILE = 0.97  # of the largest t: random signs reach its tail less often than chance does (5.8% for 0.95, 500 images)
BLOCK = 2**20  # numbers held at a time: 4 MiB, which stay in a processor's cache
SURE = 1.0 + 1e-6  # rounding turns no tie of a sum of signs into a claim


@dataclass(frozen=True)
class Scope:
    """How many differences are judged together; with 95% probability all of their bands hold.

    Attributes:
        pairs: how many comparisons.
        figures: how many differences, counting all radii and the ACR of every pair.
        critical: the critical value of each; for a single difference it would be 1.96.
        draws: how many draws of random signs the critical value comes from.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> (comparison,) = compare([(a, b)])
        >>> comparison.scope.pairs, comparison.scope.critical >= 1.96
        (1, True)
    """

    pairs: int
    figures: int
    critical: float
    draws: int

    @property
    def words(self) -> str:
        """How many differences the intervals hold for at once, in a sentence."""
        methods = "the method" if self.pairs == 1 else f"all {self.pairs} methods"
        return (
            f"All radii and the ACR of {methods} are judged together, {self.figures:,} differences whose intervals "
            "hold all at once with 95% confidence: many methods and many radii make no difference appear by chance."
        )


@dataclass(frozen=True)
class Point:
    """The difference in certified accuracy at one radius.

    Attributes:
        difference: with the ends of the band at this radius.
        only_a, only_b: images that only the one or only the other table certifies.
        shown: -1 if the band lies below 0, 1 if it lies above, 0 if it contains 0.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> (comparison,) = compare([(a, b)], radii=[0.3])
        >>> point = comparison.at(0.3)
        >>> point.difference.value, point.only_a, point.only_b, point.shown
        (0.5, 2, 0, 0)
    """

    difference: Estimate
    only_a: int
    only_b: int
    shown: int


@dataclass(frozen=True)
class Comparison:
    """Table `a` against table `b` over the same images.

    Attributes:
        a, b: their names.
        images: how many were compared.
        limit: in words, what restricts the radii of the comparison (see `Reach`); empty if nothing does.
        curve: the difference of their certified accuracies at every radius of either table, and more; None if no radius
            was asked about in both.
        acr: ACR of `a` minus that of `b`; None if a rule's radii are only lower bounds.
        verdict: what `curve` shows; None without it.
        scope: how many differences are judged together with these.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> a = from_radii([0.5, 0.5, 0.5, 0.0], name="a")
        >>> b = from_radii([0.0, 0.9, 0.2, 0.0], name="b")
        >>> (comparison,) = compare([(a, b)], radii=[0.3])
        >>> print(comparison.verdict, comparison.at(0.3).difference.value)
        no difference shown 0.5
        >>> comparison
        Comparison('a' against 'b': 4 images, no difference shown)
    """

    a: str
    b: str
    images: int
    limit: str
    curve: Difference | None
    acr: Estimate | None
    verdict: Verdict | None
    scope: Scope

    def __repr__(self) -> str:
        shown = f"compared {self.limit}" if self.verdict is None else str(self.verdict)
        return f"Comparison({self.a!r} against {self.b!r}: {self.images:,} images, {shown})"

    @property
    def words(self) -> str:
        """What certified accuracy says of the two, as every report prints it, and how far the comparison reaches."""
        if self.verdict is None:
            return f"not compared: {self.limit}"
        return f"{self.verdict} [{self.limit}]" if self.limit else str(self.verdict)

    def at(self, r: float) -> Point | None:
        """The difference at `r`, one of the radii asked for; None if the two cannot be compared there."""
        curve, r = self.curve, round(r, DIGITS)
        if curve is None or r not in curve.radii:
            return None
        i = np.searchsorted(curve.radii, r)
        estimate = Estimate(
            float(curve.value[i]),
            float(curve.low[i]),
            float(curve.high[i]),
            self.images,
        )
        return Point(
            estimate,
            int(curve.only_a[i]),
            int(curve.only_b[i]),
            int(curve.above[i]) - int(curve.below[i]),
        )

    @property
    def acr_shown(self) -> int:
        """-1 if the ACR of `a` is shown to be lower, 1 if it is shown to be higher, 0 otherwise."""
        return (
            0
            if self.acr is None
            else int(self.acr.low > 0.0) - int(self.acr.high < 0.0)
        )


def compare(
    pairs: Sequence[tuple[CertificatesLike, CertificatesLike]],
    radii: Sequence[float] = (),
    *,
    delta: float = DELTA,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[Comparison]:
    """Compare the first table of each pair with the second: certified accuracy at every radius, and ACR.

    Every difference is a mean over images of x_i (1, 0 or -1 at a radius; a difference of radii for ACR). Each draw
    gives every image a random sign e_i, the same in all pairs and at all radii, so that dependences are preserved. The
    critical value z of all intervals is the 97% quantile, over the draws, of the largest
    |sum e_i (x_i - mean)| / sqrt(sum (x_i - mean)^2) of all differences, or that of |sum e_i x_i| / sqrt(sum x_i^2) if
    it is larger. For a single radius the latter is McNemar's exact test: nothing is claimed that this test does not
    find at 5%, however few images differ. The intervals are `paired_shares` and, for ACR, `mean_interval` at z. As
    certified accuracies change at the radii of the tables only, what is shown at all of these holds in between.

    Args:
        pairs: tables over the same images in the same order (see `pair`), usually of several methods and one baseline.
        radii: to be included in the comparison, as far as both tables were asked about them (see `reach`).
        delta: how far below 0 the band of a table that is called "ahead everywhere" may reach, a share of the images.
        draws: of random signs.
        seed: of these draws.

    Raises:
        InputError: tables that are not about the same images or hold none, a radius that is negative or not finite, or
            a delta outside (0, 1).

    Source: the multiplier bootstrap of Chernozhukov, Chetverikov & Kato 2013, with Rademacher's multipliers; the
    largest |t| of a family as in Romano & Wolf 2005.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> better = from_radii(np.linspace(0.5, 1.0, 100), name="better")
        >>> worse = from_radii(np.linspace(0.0, 0.5, 100), name="worse")
        >>> (comparison,) = compare([(better, worse)], radii=[0.5])
        >>> comparison.at(0.5).difference.value, comparison.acr_shown
        (0.99, 1)
    """
    if not 0.0 < delta < 1.0:
        raise InputError(
            f"delta={delta} is a share of the images and must lie in (0, 1); 0.01 is 1 point"
        )
    scores = [
        Scores.of(as_certificates(a), as_certificates(b), radii) for a, b in pairs
    ]
    scope = Scope(
        len(scores),
        sum(each.figures for each in scores),
        _critical(scores, draws, seed),
        draws,
    )
    return [_comparison(each, scope, delta) for each in scores]


def verdict(
    a: CertificatesLike, b: CertificatesLike, *, delta: float = DELTA, seed: int = 0
) -> Verdict:
    """Where the certified accuracy of `a` is above or below that of `b`, judged at all radii and for ACR together.

    To judge several methods, use `compare`, which corrects for their number.

    Raises:
        InputError: as `compare`, or there is no radius at which the two can be compared.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> better = from_radii(np.linspace(0.5, 1.0, 100), name="better")
        >>> worse = from_radii(np.linspace(0.0, 0.5, 100), name="worse")
        >>> verdict(better, worse).outcome
        'ahead'
    """
    (comparison,) = compare([(a, b)], delta=delta, seed=seed)
    if comparison.verdict is None:
        raise InputError(
            f"{comparison.a} and {comparison.b} cannot be compared: {comparison.limit}"
        )
    return comparison.verdict


def _comparison(scores: Scores, scope: Scope, delta: float) -> Comparison:
    curve = acr = None
    a, b, at, images, z = scores.a, scores.b, scores.at, len(scores.a), scope.critical
    if len(at.radii):
        value = (scores.only_a - scores.only_b) / images
        ends = paired_shares(scores.only_a, scores.only_b, images, z)
        curve = Difference(
            at.radii, value, *ends, scores.only_a, scores.only_b, at.whole
        )
    if scores.gain is not None:
        low, high = mean_interval(*gains(a, b), z)
        acr = Estimate(float(scores.gain.mean()), float(low), float(high), images)
    said = None if curve is None else judge(curve, delta)
    return Comparison(a.name, b.name, images, at.limit, curve, acr, said, scope)


def _critical(scores: Sequence[Scores], draws: int, seed: int) -> float:
    """The value that the largest |t| of all pairs exceeds in 3% of the draws; never below that of one figure."""
    if not scores:
        return CRITICAL
    images = np.unique(np.concatenate([each.a.idx for each in scores]))
    block = max(1, BLOCK // max(len(images), *(each.figures for each in scores)))
    rng, blocks = np.random.default_rng(seed), []
    for start in range(0, draws, block):
        drawn = rng.integers(
            0, 2, (len(images), min(block, draws - start)), dtype=np.int8
        )
        signs = (2 * drawn - 1).astype(
            np.float32
        )  # (N, D); every pair takes those of its own images
        blocks.append(
            np.max(
                [
                    each.largest(signs[np.searchsorted(images, each.a.idx)])
                    for each in scores
                ],
                axis=0,
            )
        )
    largest = np.sort(np.concatenate(blocks, axis=1), axis=1)
    return max(
        float(largest[:, min(math.ceil(QUANTILE * (draws + 1)), draws) - 1].max())
        * SURE,
        CRITICAL,
    )
