"""The rule of the original CERTIFY: the same number of samples for every image, with a choice of bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from randsmooth import bounds
from randsmooth.errors import InputError
from randsmooth.rules.base import Claim, Evidence, Floats, Rule
from randsmooth.rules.choices import CONFIDENCE_BOUNDS, ConfidenceBound

OF_ALL_CLASSES = ("two-sided", "pairwise")  # bounds that use the counts of other classes than the picked one


@dataclass(frozen=True)
class Fixed(Rule):
    """n samples of every image, whatever they show (Cohen et al. 2019, CERTIFY).

    Attributes:
        bound: "clopper-pearson"; "two-sided", which bounds the runner-up too; "pairwise", which tests the picked class
            against each other one; "randomised"; or "any-class", which holds for a class that the same samples picked.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = Fixed(Gaussian(0.5), n=1000, alpha=0.001, bound="two-sided")
        >>> rule.next_look([]), rule.next_look([990])
        (1000, None)
        >>> rule.level  # the other half of alpha is spent on the runner-up
        0.0005
    """

    name: ClassVar[str] = "fixed"
    sequential: ClassVar[bool] = False
    takes: ClassVar[tuple[ConfidenceBound, ...]] = CONFIDENCE_BOUNDS
    bound: ConfidenceBound = "clopper-pearson"

    def __post_init__(self) -> None:
        least = bounds.smallest_n(self.level)
        if self.n < least:
            raise InputError(f"alpha={self.alpha} needs n >= {least} to certify anything; got n={self.n}")

    @property
    def level(self) -> float:
        """The failure probability that is left to the bound on p_A; a part of alpha may go to other classes."""
        if self.bound == "pairwise":
            return (1.0 - bounds.FOR_THE_PAIR) * self.alpha
        return self.alpha / 2.0 if self.bound in ("two-sided", "any-class") else self.alpha

    def guarantee(self) -> str:
        how = {
            "clopper-pearson": "p_A is bounded by one-sided Clopper-Pearson",
            "two-sided": "p_A and the runner-up's probability are bounded by Clopper-Pearson, alpha/2 each",
            "pairwise": "the class is tested against each other one by Clopper-Pearson bounds on the two together",
            "randomised": "p_A is bounded by randomised Clopper-Pearson, over noise and uniform number",
            "any-class": "p_A is bounded by Clopper-Pearson at alpha/2, whichever class these samples picked",
        }[self.bound]
        return f"{self.level_kept}: {self.n} samples per image, {how}."

    @property
    def farthest(self) -> float:
        """What lies beyond by chance, under the randomised bound, is not asked of every image."""
        level = self.alpha if self.bound == "pairwise" else self.level  # as of two classes
        return self.noise.largest_radius(self.n, level)

    def next_look(self, path: Sequence[int]) -> int | None:
        return None if len(path) else self.n

    def claim(self, path: Sequence[int]) -> Claim:
        tail = bounds.any_class_q_upper if self.bound == "any-class" else bounds.q_upper
        return self.by_q(float(tail(path[-1], self.n, self.alpha)))

    def claims(self, evidence: Evidence) -> tuple[Floats, Floats]:
        drawn = evidence.counts.sum(axis=1) > 0  # an image given up after its selection has no samples: q = 1
        q, radius = np.ones(len(drawn)), np.zeros(len(drawn))
        counts, picked = evidence.counts[drawn], evidence.picked[drawn]
        if self.bound == "pairwise":
            q[drawn], q_each, p_each = bounds.pairwise_bounds(counts, picked, self.alpha)
            radius[drawn] = self.noise.radius(q_each, p_each).min(axis=1)
        elif self.bound == "two-sided":
            q[drawn], p_b = bounds.two_sided_bounds(counts, picked, self.alpha)
            radius[drawn] = self.noise.radius(q[drawn], p_b)
        else:
            n_a, u = counts[np.arange(len(counts)), picked], None if evidence.u is None else evidence.u[drawn]
            q[drawn] = self._q_upper(n_a, counts.sum(axis=1), u)
            radius = self.noise.radius(q)
        return q, radius

    def _q_upper(self, n_a: ArrayLike, n: ArrayLike, u: Floats | None) -> Floats:
        """The bound on 1 - p_A alone, from `n_a` of `n` samples."""
        if self.bound != "randomised":
            return (bounds.any_class_q_upper if self.any_class else bounds.q_upper)(n_a, n, self.alpha)
        if u is None:
            raise InputError("the randomised bound needs u, a uniform number of each image: certify again to get them")
        return bounds.randomised_q_upper(n_a, n, self.alpha, u)

    def certifies(self, q: Floats, radius: Floats) -> NDArray[np.bool_]:
        return np.asarray(radius > 0.0) if self.bound in OF_ALL_CLASSES else super().certifies(q, radius)
