"""The rules that look once: n samples of every image, or every copy that a noise has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from randsmooth import bounds
from randsmooth.errors import BadValue, TooFewSamples
from randsmooth.rules.base import Claim, Evidence, Floats, Rule
from randsmooth.rules.limits import CONFIDENCE_BOUNDS, ConfidenceBound

# Bounds that use the counts of other classes than the picked one.
BOUNDS_OF_ALL_CLASSES = ("two-sided", "pairwise")

# The share of alpha that is left to the bound on p_A, where that is not all of it.
SHARE_FOR_P_A = {"two-sided": 0.5, "any-class": 0.5}

# What each bound does, for the guarantee.
HOW_BOUNDED = {
    "clopper-pearson": "p_A is bounded by one-sided Clopper-Pearson",
    "two-sided": (
        "p_A and the runner-up's probability are bounded by Clopper-Pearson, alpha/2 each"
    ),
    "pairwise": (
        "the class is tested against each other one by Clopper-Pearson bounds on the two "
        "together"
    ),
    "randomised": (
        "p_A is bounded by randomised Clopper-Pearson, over noise and uniform number"
    ),
    "any-class": (
        "p_A is bounded by Clopper-Pearson at alpha/2, whichever class these samples "
        "picked"
    ),
}


class Once(Rule):
    """A rule that looks once, at n samples."""

    sequential: ClassVar[bool] = False

    def next_look(self, path: Sequence[int]) -> int | None:
        return None if len(path) else self.n


@dataclass(frozen=True)
class Fixed(Once):
    """n samples of every image, whatever they show (Cohen et al. 2019, CERTIFY).

    Attributes:
        bound: "clopper-pearson"; "two-sided", which bounds the runner-up too; "pairwise",
            which tests the picked class against each other one; "randomised"; or
            "any-class", which holds for a class that the same samples picked.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = Fixed(Gaussian(0.5), n=1000, alpha=0.001, bound="two-sided")
        >>> rule.next_look([]), rule.next_look([990])
        (1000, None)
        >>> rule.level  # the other half of alpha is spent on the runner-up
        0.0005
    """

    name: ClassVar[str] = "fixed"
    usage: ClassVar[str] = "fixed"
    summary: ClassVar[str] = (
        "n samples of every image, and the radius that Clopper-Pearson proves from them."
    )
    takes: ClassVar[tuple[ConfidenceBound, ...]] = CONFIDENCE_BOUNDS
    bound: ConfidenceBound = "clopper-pearson"

    def __post_init__(self) -> None:
        least = bounds.smallest_n(self.level)
        if self.n < least:
            raise TooFewSamples(
                f"alpha={self.alpha} needs n >= {least} to certify anything; got n={self.n}",
                field="n",
                value=self.n,
            )

    @property
    def level(self) -> float:
        """The failure probability that is left to the bound on p_A.

        A part of alpha may go to other classes.
        """
        if self.bound == "pairwise":
            # To know its share loads SciPy, which no error should wait for.
            return (1.0 - bounds.FOR_THE_PAIR) * self.alpha
        return SHARE_FOR_P_A.get(self.bound, 1.0) * self.alpha

    def guarantee(self) -> str:
        how = HOW_BOUNDED[self.bound]
        return f"{self.level_kept}: {self.n} samples per image, {how}."

    @property
    def farthest(self) -> float:
        """The largest radius that is asked of any image: of two classes, if pairwise.

        What lies beyond by chance, by the randomised bound, is asked of no image.
        """
        level = self.alpha if self.bound == "pairwise" else self.level
        return self.noise.largest_radius(self.n, level)

    def claim(self, path: Sequence[int]) -> Claim:
        q_upper = bounds.any_class_q_upper if self.any_class else bounds.q_upper
        return self.by_q(float(q_upper(path[-1], self.n, self.alpha)))

    def claims(self, evidence: Evidence) -> tuple[Floats, Floats]:
        # An image that was given up after its selection has no samples, and nothing is
        # claimed of it.
        drawn = evidence.counts.sum(axis=1) > 0
        q = np.ones(len(drawn))
        radius = np.zeros(len(drawn))
        counts = evidence.counts[drawn]
        picked = evidence.picked[drawn]

        if self.bound == "pairwise":
            q[drawn], q_each, p_each = bounds.pairwise_bounds(
                counts, picked, self.alpha
            )
            radius[drawn] = self.noise.radius(q_each, p_each).min(axis=1)
            return q, radius

        if self.bound == "two-sided":
            q[drawn], p_B = bounds.two_sided_bounds(counts, picked, self.alpha)
            radius[drawn] = self.noise.radius(q[drawn], p_B)
            return q, radius

        n_A = counts[np.arange(len(counts)), picked]
        n = counts.sum(axis=1)
        if self.bound == "randomised":
            # Every table under this bound has these numbers.
            assert evidence.u is not None
            q[drawn] = bounds.randomised_q_upper(n_A, n, self.alpha, evidence.u[drawn])
        elif self.any_class:
            q[drawn] = bounds.any_class_q_upper(n_A, n, self.alpha)
        else:
            q[drawn] = bounds.q_upper(n_A, n, self.alpha)
        return q, self.noise.radius(q)

    def certifies(self, q: Floats, radius: Floats) -> NDArray[np.bool_]:
        if self.bound in BOUNDS_OF_ALL_CLASSES:
            return np.asarray(radius > 0.0)
        return super().certifies(q, radius)


@dataclass(frozen=True)
class Exact(Once):
    """All copies of every image, each once: a certificate that holds with certainty.

    The smoothed class is the most frequent of all copies, and its lead says how far no
    image can have another (Levine & Feizi 2021).

    Raises:
        Problem: the noise has infinitely many copies, or n is not their number, or alpha not 0.

    Example:
        >>> from randsmooth.noise import Splitting
        >>> rule = Exact(Splitting(0.5), n=255, alpha=0.0)
        >>> q, radius = rule.claims(Evidence.of(np.array([[1, 0]]), np.array([[200, 55]])))
        >>> q.round(3).tolist(), (radius * 255).tolist()
        ([0.216], [72.0])
    """

    name: ClassVar[str] = "exact"
    usage: ClassVar[str] = "exact"
    summary: ClassVar[str] = (
        "every copy of each image, for noise with finitely many copies "
        "(splitting=0.5 has 255). The radius holds with certainty. It needs no n, "
        "n0 or alpha."
    )
    certain: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.noise.exact_radius(0, 0)
        if self.n != self.noise.copies or self.alpha != 0.0:
            raise BadValue(
                f"rule exact counts all {self.noise.copies} copies, with certainty: "
                f"n={self.n} and alpha={self.alpha:g} must be {self.noise.copies} and 0"
            )

    @property
    def any_class(self) -> bool:
        return True

    def guarantee(self) -> str:
        return (
            f"Each certificate holds with certainty, without alpha: all {self.n} copies of "
            "an image are counted, under the thresholds that the seed places."
        )

    def claim(self, path: Sequence[int]) -> Claim:
        """Return the claim as if one other class had all other copies.

        `claims` knows how many the next one has.
        """
        others = self.n - path[-1]
        return Claim(others / self.n, float(self.noise.exact_radius(path[-1], others)))

    def claims(self, evidence: Evidence) -> tuple[Floats, Floats]:
        rows = np.arange(len(evidence.picked))
        n_A = evidence.counts[rows, evidence.picked]
        others = evidence.counts.copy()
        others[rows, evidence.picked] = 0
        n_next = others.max(axis=1, initial=0)
        # Of a tie nothing is claimed.
        q = np.where(n_A > n_next, 1.0 - n_A / self.n, 1.0)
        return q, self.noise.exact_radius(n_A, n_next)

    def certifies(self, q: Floats, radius: Floats) -> NDArray[np.bool_]:
        # A class may be ahead of each other one with less than half of the copies.
        return np.asarray(q < 1.0)
