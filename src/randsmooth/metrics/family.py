"""Several comparisons judged together, so that with 95% probability none of all their claims is false."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates, CertificatesLike, as_certificates
from randsmooth.errors import InputError
from randsmooth.metrics.estimate import LEVEL, Estimate, critical, mean_interval, paired_shares, require_images
from randsmooth.metrics.outcome import DELTA, Difference, Verdict, judge
from randsmooth.metrics.paired import gain_bounds, gains, require_same_images
from randsmooth.metrics.reach import DIGITS, reach

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


TINY = 1e-12  # a smaller sum of squares is 0, apart from rounding


@dataclass(frozen=True)
class Scores:
    """One pair's differences x: 1 where only `a` certifies an image at a radius, -1 where only `b` does, else 0.

    Attributes:
        radii: (M,) ascending.
        idx: (N,) positions of the images.
        steps: (M, N) sparse; the sum of its rows from the j-th on is x at the j-th radius.
        only_a, only_b: (M,) how often x is 1, and -1.
        gain: (N,) differences of radii, 0 where wrong, whose mean is that of the ACRs; None where it is not compared.
    """

    radii: Floats
    idx: Ints
    steps: sparse.csr_array
    only_a: Ints
    only_b: Ints
    gain: Floats | None

    @classmethod
    def of(cls, a: Certificates, b: Certificates, radii: Floats, *, with_acr: bool) -> Scores:
        """Raises InputError unless the tables are about the same images, and some."""
        require_same_images(a, b)
        require_images(len(a))
        held_a, held_b = (np.searchsorted(radii, t.radius, side="right") * t.correct for t in (a, b))
        both = _count(np.minimum(held_a, held_b), radii)
        only_a, only_b = (_from_each_on(_count(held, radii) - both) for held in (held_a, held_b))
        gain = gains(a, b) if with_acr else None
        return cls(radii, a.idx, _steps(held_a, held_b, len(radii)), only_a, only_b, gain)

    @property
    def figures(self) -> int:
        """How many differences: the radii, and ACR."""
        return len(self.radii) + int(self.gain is not None)

    @cached_property
    def moments(self) -> tuple[Floats, Floats]:
        """(figures,) the sum of x and that of x^2, ACR last."""
        total, squares = self.only_a - self.only_b, self.only_a + self.only_b
        if self.gain is None:
            return total.astype(np.float64), squares.astype(np.float64)
        return np.append(total, self.gain.sum()), np.append(squares, self.gain @ self.gain)

    def largest(self, signs: NDArray[np.float32]) -> Floats:
        """(2, D) the largest |t| of all figures under each of D columns of `signs` (N, D): of x, and of x - mean."""
        drawn = _from_each_on(self.steps @ signs)
        if self.gain is not None:
            drawn = np.concatenate([drawn, (self.gain.astype(np.float32) @ signs)[None]])
        total, squares = self.moments
        mean = total / len(self.idx)
        centred = drawn - mean.astype(np.float32)[:, None] * signs.sum(axis=0)
        return np.stack([_largest_t(drawn, squares), _largest_t(centred, squares - mean * total)])


def _count(held: Ints, radii: Floats) -> Ints:
    """(M,) how many images have each radius as their last certified one; `held` is its place from 1, 0 for none."""
    return np.bincount(held, minlength=len(radii) + 1)[1:]


def _steps(a: Ints, b: Ints, radii: int) -> sparse.csr_array:
    """(M, N) +1 at the last radius at which `a` certifies an image, -1 at that of `b`; zero where both are the same."""
    from scipy import sparse  # here, since it takes long to load

    image = np.flatnonzero(a != b)
    last, values = np.concatenate([a[image], b[image]]), np.repeat(np.array([1.0, -1.0], np.float32), len(image))
    some = last > 0
    return sparse.coo_array((values[some], (last[some] - 1, np.tile(image, 2)[some])), shape=(radii, len(a))).tocsr()


def _from_each_on(rows: NDArray[Any]) -> NDArray[Any]:
    """For each row, the sum of it and all rows after it."""
    return np.asarray(np.cumsum(rows[::-1], axis=0)[::-1])


def _largest_t(sums: NDArray[np.float32], squares: Floats) -> Floats:
    """(D,) the largest |sum| / sqrt(squares) of the rows of (M, D); a row without differences counts 0."""
    scale = np.where(squares > TINY, 1.0 / np.sqrt(np.maximum(squares, TINY)), 0.0).astype(np.float32)
    t = sums * scale[:, None]
    return np.asarray(np.maximum(t.max(axis=0, initial=0.0), -t.min(axis=0, initial=0.0)))


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

    def at(self, r: float) -> Point | None:
        """The difference at `r`, one of the radii asked for; None if the two cannot be compared there."""
        place = np.zeros(0) if self.curve is None else np.flatnonzero(self.curve.radii == round(r, DIGITS))
        if self.curve is None or len(place) == 0:
            return None
        i, curve = place[0], self.curve
        estimate = Estimate(float(curve.value[i]), float(curve.low[i]), float(curve.high[i]), self.images)
        return Point(estimate, int(curve.only_a[i]), int(curve.only_b[i]), int(curve.above[i]) - int(curve.below[i]))

    @property
    def acr_shown(self) -> int:
        """-1 if the ACR of `a` is shown to be lower, 1 if it is shown to be higher, 0 otherwise."""
        return 0 if self.acr is None else int(self.acr.low > 0.0) - int(self.acr.high < 0.0)


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
        raise InputError(f"delta={delta} is a share of the images and must lie in (0, 1); 0.01 is 1 point")
    tables = [(as_certificates(a), as_certificates(b)) for a, b in pairs]
    reaches = [reach(a, b, radii) for a, b in tables]
    scores = [
        Scores.of(a, b, reached.radii, with_acr=reached.whole) for (a, b), reached in zip(tables, reaches, strict=True)
    ]
    scope = Scope(len(tables), sum(each.figures for each in scores), _critical(scores, draws, seed), draws)
    return [
        _comparison(pair, reached.limit, scored, scope, delta)
        for pair, reached, scored in zip(tables, reaches, scores, strict=True)
    ]


def verdict(a: CertificatesLike, b: CertificatesLike, *, delta: float = DELTA, seed: int = 0) -> Verdict:
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
    a, b = as_certificates(a), as_certificates(b)
    (comparison,) = compare([(a, b)], delta=delta, seed=seed)
    if comparison.verdict is None:
        raise InputError(f"{a.name} and {b.name} cannot be compared: {comparison.limit}")
    return comparison.verdict


def _comparison(
    pair: tuple[Certificates, Certificates], limit: str, scores: Scores, scope: Scope, delta: float
) -> Comparison:
    curve = acr = None
    images, z = len(scores.idx), scope.critical
    if len(scores.radii):
        value = (scores.only_a - scores.only_b) / images
        ends = paired_shares(scores.only_a, scores.only_b, images, z)
        curve = Difference(scores.radii, value, *ends, scores.only_a, scores.only_b, scores.gain is not None)
    if scores.gain is not None:
        low, high = mean_interval(scores.gain, gain_bounds(*pair), z)
        acr = Estimate(float(scores.gain.mean()), float(low), float(high), images)
    said = None if curve is None else judge(curve, delta)
    return Comparison(pair[0].name, pair[1].name, images, limit, curve, acr, said, scope)


def _critical(scores: Sequence[Scores], draws: int, seed: int) -> float:
    """The value that the largest |t| of all pairs exceeds in 3% of the draws; never below that of one figure."""
    alone = critical(LEVEL)
    if not scores:
        return alone
    images = np.unique(np.concatenate([each.idx for each in scores]))
    rows = max(len(images), *(each.figures for each in scores))
    blocks = [_largest(scores, images, signs) for signs in _signs(len(images), draws, max(1, BLOCK // rows), seed)]
    largest = np.sort(np.concatenate(blocks, axis=1), axis=1)
    place = min(math.ceil(QUANTILE * (draws + 1)), draws) - 1
    return max(float(largest[:, place].max()) * SURE, alone)


def _largest(scores: Sequence[Scores], images: NDArray[np.int64], signs: NDArray[np.float32]) -> Floats:
    """(2, D) over all pairs; every pair takes the signs of its own images."""
    most = np.zeros((2, signs.shape[1]))
    for each in scores:
        own = signs if np.array_equal(each.idx, images) else signs[np.searchsorted(images, each.idx)]
        most = np.maximum(most, each.largest(own))
    return most


def _signs(images: int, draws: int, block: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """Random signs (N, D), in blocks of D draws."""
    rng = np.random.default_rng(seed)
    for start in range(0, draws, block):
        drawn = rng.integers(0, 2, (images, min(block, draws - start)), dtype=np.int8)
        yield (2 * drawn - 1).astype(np.float32)
