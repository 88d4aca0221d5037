"""The differences between pairs of tables, and bands around them that hold all at once.

With 95% probability none of all the bands of a family of comparisons fails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.certificates import Certificates
from randsmooth.metrics.estimate import require_images
from randsmooth.metrics.intervals import CRITICAL, Floats, Ints, paired_shares
from randsmooth.metrics.pairing import gains, require_same_images
from randsmooth.metrics.reach import Reach, reach

# Number of draws of random signs, from which the critical value is taken.
DRAWS = 1000

# The quantile of the largest |t| over the draws. It is more than 0.95 since random
# signs reach the tail of |t| less often than chance does: 0.95 would fail in 5.8%, 500
# images.
QUANTILE = 0.97

# The most numbers that are held at a time: 4 MiB, which stay in a processor's cache.
MOST_NUMBERS_AT_ONCE = 2**20

# The critical value is larger by this factor, so that rounding turns no tie of a sum of
# signs into a claim.
TIE_MARGIN = 1.0 + 1e-6

# A smaller sum of squares is taken as 0: it differs from 0 by rounding alone.
SMALLEST_SQUARES = 1e-12


@dataclass(frozen=True)
class Difference:
    """Certified accuracy of one table minus that of another, with a band.

    The band holds at all radii at once.

    Attributes:
        radii: (M,) ascending, in units of pixels in [0, 1].
        value, low, high: (M,) the difference and the ends of its band, shares of the
            images.
        only_a, only_b: (M,) how many images only the one or only the other certifies.
        whole: whether the radii are so fine that the difference is known at every
            radius up to the last.

    Example:
        >>> radii = np.array([0.0, 0.5, 1.0])
        >>> value = np.array([0.10, 0.00, -0.10])
        >>> counts = np.zeros(3, np.int64)
        >>> difference = Difference(
        ...     radii, value, value - 0.05, value + 0.05, counts, counts, whole=True
        ... )
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
        """Return (M,) whether the difference is shown to be above 0."""
        return np.asarray(self.low > 0.0)

    @property
    def below(self) -> NDArray[np.bool_]:
        """Return (M,) whether the difference is shown to be below 0."""
        return np.asarray(self.high < 0.0)


@dataclass(frozen=True)
class PairScores:
    """One pair's scores x at each radius; their mean is a difference of accuracies.

    The score of an image is 1 where only `a` certifies it, -1 where only `b` does, else
    0.

    Attributes:
        a, b: the tables, of N images.
        reach: the M radii at which they are compared.
        radii_of_a, radii_of_b: (N,) the number of radii at which either table certifies
            each image; these are the first ones.
        only_a, only_b: (M,) the number of images whose x is 1, and -1.
        gain: (N,) differences of radii, 0 where wrong, whose mean is that of the ACRs;
            None where ACR is not compared.
    """

    a: Certificates
    b: Certificates
    reach: Reach
    radii_of_a: Ints
    radii_of_b: Ints
    only_a: Ints
    only_b: Ints
    gain: Floats | None

    @classmethod
    def of(cls, a: Certificates, b: Certificates, asked: Sequence[float]) -> PairScores:
        """Score two tables at the radii of `reach`.

        Raises:
            Problem: the tables are not about the same images, hold none, or are
                refused by `reach`.
        """
        require_same_images(a, b)
        require_images(len(a))
        compared = reach(a, b, asked)
        radii = compared.radii

        radii_of_a = _count_certified_radii(a, radii)
        radii_of_b = _count_certified_radii(b, radii)
        radii_of_both = np.minimum(radii_of_a, radii_of_b)

        certified_by_a = _images_at_each(radii_of_a, len(radii))
        certified_by_b = _images_at_each(radii_of_b, len(radii))
        certified_by_both = _images_at_each(radii_of_both, len(radii))
        return cls(
            a=a,
            b=b,
            reach=compared,
            radii_of_a=radii_of_a,
            radii_of_b=radii_of_b,
            only_a=certified_by_a - certified_by_both,
            only_b=certified_by_b - certified_by_both,
            gain=gains(a, b)[0] if compared.whole else None,
        )

    @property
    def figures(self) -> int:
        """Count the differences that are judged: one a radius, and that of ACR."""
        return len(self.reach.radii) + (self.gain is not None)

    @cached_property
    def sums(self) -> Floats:
        """Return (figures,) the sum of the scores x of each difference, ACR last."""
        of_radii = self.only_a - self.only_b
        if self.gain is None:
            return of_radii.astype(np.float64)
        return np.append(of_radii, self.gain.sum())

    @cached_property
    def sums_of_squares(self) -> Floats:
        """Return (figures,) the sum of x^2 of each difference, ACR last."""
        of_radii = self.only_a + self.only_b
        if self.gain is None:
            return of_radii.astype(np.float64)
        return np.append(of_radii, self.gain @ self.gain)

    def largest_t(self, signs: NDArray[np.float32]) -> Floats:
        """Return the largest |t| of all differences under random signs.

        Args:
            signs: (N, D) the sign of each image, in D draws.

        Returns:
            (2, D) the largest |t| of the scores x, and of x - mean.
        """
        radii = len(self.reach.radii)
        of_a = _sums_at_each(self.radii_of_a, signs, radii)
        of_b = _sums_at_each(self.radii_of_b, signs, radii)
        signed_sums = of_a - of_b
        if self.gain is not None:
            of_gain = self.gain.astype(np.float32) @ signs
            signed_sums = np.concatenate([signed_sums, of_gain[None]])

        mean = self.sums / len(self.a)
        sum_of_signs = signs.sum(axis=0)
        centred_sums = signed_sums - mean.astype(np.float32)[:, None] * sum_of_signs
        centred_squares = self.sums_of_squares - mean * self.sums
        return np.stack(
            [
                _largest_t(signed_sums, self.sums_of_squares),
                _largest_t(centred_sums, centred_squares),
            ]
        )

    def difference(self, critical: float) -> Difference | None:
        """Return the difference with the band of a critical value; None at no radius."""
        if len(self.reach.radii) == 0:
            return None
        images = len(self.a)
        low, high = paired_shares(self.only_a, self.only_b, images, critical)
        return Difference(
            radii=self.reach.radii,
            value=(self.only_a - self.only_b) / images,
            low=low,
            high=high,
            only_a=self.only_a,
            only_b=self.only_b,
            whole=self.reach.whole,
        )


def _count_certified_radii(table: Certificates, radii: Floats) -> Ints:
    """Return (N,) at how many of the radii (M,) each image is right and certified."""
    return np.searchsorted(radii, table.radius, side="right") * table.correct


def _images_at_each(certified_radii: Ints, radii: int) -> Ints:
    """Return (M,) how many images are certified at each of so many radii."""
    ones = np.ones((len(certified_radii), 1), np.int64)
    return np.asarray(_sums_at_each(certified_radii, ones, radii)[:, 0])


def _sums_at_each(
    certified_radii: Ints, values: NDArray[Any], radii: int
) -> NDArray[Any]:
    """Return (M, D) sums of values over the images that are certified at each radius.

    Args:
        certified_radii: (N,) the number of radii, the first ones, at which each image
            is certified.
        values: (N, D) the values of the images, D of each.
        radii: the number M of radii.
    """
    order = np.argsort(-certified_radii)
    sums = np.cumsum(values[order], axis=0)
    sums_from_none = np.concatenate([np.zeros_like(values[:1]), sums])
    images_certified = np.searchsorted(-certified_radii[order], -np.arange(radii))
    return np.asarray(sums_from_none[images_certified])


def _largest_t(sums: NDArray[np.float32], squares: Floats) -> Floats:
    """Return (D,) the largest |sum| / sqrt(squares) of the rows of (M, D).

    A row without differences counts 0.
    """
    some = squares > SMALLEST_SQUARES
    inverse_root = 1.0 / np.sqrt(np.maximum(squares, SMALLEST_SQUARES))
    scale = np.where(some, inverse_root, 0.0).astype(np.float32)
    t = sums * scale[:, None]
    largest = t.max(axis=0, initial=0.0)
    smallest = t.min(axis=0, initial=0.0)
    return np.asarray(np.maximum(largest, -smallest))


@dataclass(frozen=True)
class Scope:
    """How many differences are judged together.

    With 95% probability all of their bands hold.

    Attributes:
        pairs: the number of comparisons.
        figures: the number of differences, counting all radii and the ACR of every
            pair.
        critical: the critical value of each; for a single difference it would be 1.96.
        draws: the number of draws of random signs behind the critical value.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> from randsmooth.metrics import compare
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

    def __str__(self) -> str:
        methods = "the method" if self.pairs == 1 else f"all {self.pairs} methods"
        return (
            f"All radii and the ACR of {methods} are judged together: the intervals of "
            f"all {self.figures:,} differences hold at once with 95% confidence, so "
            "multiple comparisons do not produce a spurious difference."
        )


def judged_together(scores: Sequence[PairScores], draws: int, seed: int) -> Scope:
    """Return the critical value at which the bands of all pairs hold at once."""
    return Scope(
        pairs=len(scores),
        figures=sum(pair.figures for pair in scores),
        critical=_critical_value(scores, draws, seed),
        draws=draws,
    )


def _critical_value(scores: Sequence[PairScores], draws: int, seed: int) -> float:
    """Return the value that the largest |t| of all pairs exceeds in 3% of the draws.

    It is never below that of one difference.
    """
    if not scores:
        return CRITICAL
    images = np.unique(np.concatenate([pair.a.idx for pair in scores]))
    rows_of_pairs = [np.searchsorted(images, pair.a.idx) for pair in scores]

    longest_axis = max(len(images), *(pair.figures for pair in scores))
    draws_at_once = max(1, MOST_NUMBERS_AT_ONCE // longest_axis)

    rng = np.random.default_rng(seed)
    blocks = []
    for start in range(0, draws, draws_at_once):
        columns = min(draws_at_once, draws - start)
        bits = rng.integers(0, 2, (len(images), columns), dtype=np.int8)
        signs = (2 * bits - 1).astype(np.float32)
        # Every pair takes the signs of its own images, so that dependences stay.
        of_pairs = [
            pair.largest_t(signs[rows])
            for pair, rows in zip(scores, rows_of_pairs, strict=True)
        ]
        blocks.append(np.max(of_pairs, axis=0))

    largest = np.sort(np.concatenate(blocks, axis=1), axis=1)
    place = min(math.ceil(QUANTILE * (draws + 1)), draws) - 1
    quantile = float(largest[:, place].max())
    return max(quantile * TIE_MARGIN, CRITICAL)
