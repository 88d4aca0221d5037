"""Pairs of tables compared, and the comparisons judged together.

With 95% probability none of all their claims is false.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from randsmooth.certificates import CertificatesLike, as_certificates
from randsmooth.errors import BadValue, NotComparable
from randsmooth.metrics.bands import (
    DRAWS,
    Difference,
    PairScores,
    Scope,
    judged_together,
)
from randsmooth.metrics.estimate import Estimate
from randsmooth.metrics.intervals import mean_interval
from randsmooth.metrics.pairing import gains
from randsmooth.metrics.reach import RADIUS_DECIMALS, Limit
from randsmooth.metrics.verdicts import DELTA, Verdict, judge
from randsmooth.notebooks import ShownInNotebooks


@dataclass(frozen=True)
class Point:
    """The difference in certified accuracy at one radius.

    Attributes:
        difference: the difference, with the ends of its interval: those of the band at
            this radius, or of this radius alone (see `judged_at`).
        only_a, only_b: the number of images that only the one or only the other table
            certifies.
        shown: -1 if the interval lies below 0, 1 if it lies above, 0 if it contains 0.

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
class Comparison(ShownInNotebooks):
    """Table `a` against table `b` over the same images.

    Attributes:
        a, b: the names of the tables.
        images: the number of images that were compared.
        norm: the norm of the radii, one of `noise.NORMS`.
        limit: the reason why the radii of the comparison are restricted (see `Reach`);
            None if they are not.
        curve: the difference of their certified accuracies at every radius of either
            table, and more; None if no radius was asked about in both.
        acr: ACR of `a` minus that of `b`; None if a rule's radii are only lower bounds.
        verdict: the verdict that `curve` gives; None without a curve.
        scope: the family of differences that are judged together with these.

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
    norm: str
    limit: Limit | None
    curve: Difference | None
    acr: Estimate | None
    verdict: Verdict | None
    scope: Scope

    def __repr__(self) -> str:
        outcome = self.verdict or f"compared {self.limit}"
        return (
            f"Comparison({self.a!r} against {self.b!r}: {self.images:,} images, "
            f"{outcome})"
        )

    def __str__(self) -> str:
        """Return the verdict, and what restricts its radii, as every report prints it."""
        if self.verdict is None:
            return f"not compared: {self.limit}"
        if self.limit is None:
            return str(self.verdict)
        return f"{self.verdict} [{self.limit}]"

    def at(self, r: float) -> Point | None:
        """Return the difference at `r`, one of the radii asked for.

        None means that the two cannot be compared there.
        """
        curve = self.curve
        r = round(r, RADIUS_DECIMALS)
        if curve is None or r not in curve.radii:
            return None
        i = np.searchsorted(curve.radii, r)
        difference = Estimate(
            value=float(curve.value[i]),
            low=float(curve.low[i]),
            high=float(curve.high[i]),
            images=self.images,
        )
        return Point(
            difference=difference,
            only_a=int(curve.only_a[i]),
            only_b=int(curve.only_b[i]),
            shown=int(curve.above[i]) - int(curve.below[i]),
        )

    @property
    def acr_shown(self) -> int:
        """Return -1 if the ACR of `a` is shown to be lower, 1 if higher, 0 otherwise."""
        if self.acr is None:
            return 0
        return int(self.acr.low > 0.0) - int(self.acr.high < 0.0)


def compare(
    pairs: Sequence[tuple[CertificatesLike, CertificatesLike]],
    radii: Sequence[float] = (),
    *,
    delta: float = DELTA,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[Comparison]:
    """Compare the first table of each pair with the second.

    What is compared is certified accuracy at every radius, and ACR. Every difference is
    a mean over images of x_i (1, 0 or -1 at a radius; a difference of radii for ACR).
    Each draw gives every image a random sign e_i, the same in all pairs and at all
    radii, so that dependences are preserved. The critical value z of all intervals is
    the 97% quantile, over the draws, of the largest |sum e_i (x_i - mean)| / sqrt(sum
    (x_i - mean)^2) of all differences, or that of |sum e_i x_i| / sqrt(sum x_i^2) if it
    is larger. For a single radius the latter is McNemar's exact test: nothing is
    claimed that this test does not find at 5%, however few images differ. The intervals
    are `paired_shares` and, for ACR, `mean_interval` at z. As certified accuracies
    change at the radii of the tables only, what is shown at all of these holds in
    between.

    Args:
        pairs: tables over the same images in the same order (see `pair`), usually of
            several methods and one baseline.
        radii: radii to include in the comparison, as far as both tables were asked
            about them (see `reach`).
        delta: the distance below 0 that the band of a table that is called "ahead
            everywhere" may reach, a share of the images.
        draws: the number of draws of random signs.
        seed: the seed of these draws.

    Raises:
        Problem: tables that are not about the same images or hold none, a radius that
            is negative or not finite, or a delta outside (0, 1).

    Source: the multiplier bootstrap of Chernozhukov, Chetverikov & Kato 2013, with
        Rademacher's multipliers; the largest |t| of a family as in Romano & Wolf 2005.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> better = from_radii(np.linspace(0.5, 1.0, 100), name="better")
        >>> worse = from_radii(np.linspace(0.0, 0.5, 100), name="worse")
        >>> (comparison,) = compare([(better, worse)], radii=[0.5])
        >>> comparison.at(0.5).difference.value, comparison.acr_shown
        (0.99, 1)
    """
    if not 0.0 < delta < 1.0:
        raise BadValue(
            field="delta",
            value=delta,
            expected="is a share of the images and must lie in (0, 1); 0.01 is 1 point",
        )
    scores = [
        PairScores.of(as_certificates(a), as_certificates(b), radii) for a, b in pairs
    ]
    scope = judged_together(scores, draws, seed)
    return [_comparison(pair, scope, delta) for pair in scores]


def verdict(
    a: CertificatesLike, b: CertificatesLike, *, delta: float = DELTA, seed: int = 0
) -> Verdict:
    """Return where the certified accuracy of `a` is above or below that of `b`.

    All radii and ACR are judged together. To judge several methods, use `compare`,
    which corrects for their number.

    Raises:
        Problem: tables that `compare` refuses, or no radius at which the two can be
            compared.

    Example:
        >>> from randsmooth.certificates import from_radii
        >>> better = from_radii(np.linspace(0.5, 1.0, 100), name="better")
        >>> worse = from_radii(np.linspace(0.0, 0.5, 100), name="worse")
        >>> verdict(better, worse).outcome
        'ahead'
    """
    (comparison,) = compare([(a, b)], delta=delta, seed=seed)
    if comparison.verdict is None:
        raise NotComparable(
            f"{comparison.a} and {comparison.b} cannot be compared: {comparison.limit}"
        )
    return comparison.verdict


def _comparison(scores: PairScores, scope: Scope, delta: float) -> Comparison:
    """Judge one pair at the critical value of its scope."""
    curve = scores.difference(scope.critical)
    return Comparison(
        a=scores.a.name,
        b=scores.b.name,
        images=len(scores.a),
        norm=scores.a.norm,
        limit=scores.reach.limit,
        curve=curve,
        acr=_acr_difference(scores, scope.critical),
        verdict=None if curve is None else judge(curve, delta),
        scope=scope,
    )


def _acr_difference(scores: PairScores, critical: float) -> Estimate | None:
    """Return the difference of the ACRs; None where it is not compared."""
    if scores.gain is None:
        return None
    low, high = mean_interval(*gains(scores.a, scores.b), critical)
    value = float(scores.gain.mean())
    return Estimate(value, float(low), float(high), images=len(scores.a))
