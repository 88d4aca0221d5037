"""The rule for a noise that has only so many copies: all of them are counted, so that nothing is left to chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from randsmooth.errors import InputError
from randsmooth.rules.base import Claim, Evidence, Floats, Rule


@dataclass(frozen=True)
class Exact(Rule):
    """All copies of every image, each once: a certificate that holds with certainty (Levine & Feizi 2021).

    The smoothed class is the most frequent of all copies, and its lead says how far no image can have another.

    Raises:
        InputError: the noise has infinitely many copies, or n is not their number, or alpha not 0.

    Example:
        >>> from randsmooth.noise import Splitting
        >>> rule = Exact(Splitting(0.5), n=255, alpha=0.0)
        >>> q, radius = rule.claims(Evidence.of(np.array([[1, 0]]), np.array([[200, 55]])))
        >>> q.round(3).tolist(), (radius * 255).tolist()
        ([0.216], [72.0])
    """

    name: ClassVar[str] = "exact"
    sequential: ClassVar[bool] = False
    certain: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.noise.exact_radius(0, 0)
        if self.n != self.noise.copies or self.alpha != 0.0:
            said = f"rule exact counts all {self.noise.copies} copies, with certainty"
            raise InputError(f"{said}: n={self.n} and alpha={self.alpha:g} must be {self.noise.copies} and 0")

    @property
    def any_class(self) -> bool:
        return True

    def guarantee(self) -> str:
        counted = f"all {self.n} copies of an image are counted, under the thresholds that the seed places"
        return f"Each certificate holds with certainty, without alpha: {counted}."

    def next_look(self, path: Sequence[int]) -> int | None:
        return None if len(path) else self.n

    def claim(self, path: Sequence[int]) -> Claim:
        """As if one other class had all other copies: `claims` knows how many the next one has."""
        others = self.n - path[-1]
        return Claim(others / self.n, float(self.noise.exact_radius(path[-1], others)))

    def claims(self, evidence: Evidence) -> tuple[Floats, Floats]:
        picked, rows = evidence.picked, np.arange(len(evidence.picked))
        others = evidence.counts.copy()
        others[rows, picked] = 0
        n_a, n_next = evidence.counts[rows, picked], others.max(axis=1, initial=0)
        q = np.where(n_a > n_next, 1.0 - n_a / self.n, 1.0)  # of a tie nothing is claimed
        return q, self.noise.exact_radius(n_a, n_next)

    def certifies(self, q: Floats, radius: Floats) -> NDArray[np.bool_]:
        return np.asarray(q < 1.0)  # a class may be ahead of each other one with less than half of the copies
