"""The rule of an anytime-valid bound: it holds at every number of samples at once, so that one may stop at any."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from randsmooth import bounds
from randsmooth.rules.base import Claim, Evidence, Floats, Watching
from randsmooth.rules.registry import MOST_WATCHED

HOPELESS = 0.01  # level at which an image is given up as p_A < 1/2: it costs certificates, never soundness


@dataclass(frozen=True)
class Anytime(Watching):
    """Samples until n, until `target` is certified, or until p_A is clearly below 1/2; to stop earlier is as sound.

    Attributes:
        target: the radius that is enough, in units of pixels in [0, 1]; None: go on to n.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = Anytime(Gaussian(0.5), n=1000, alpha=0.001, target=0.25)
        >>> rule.next_look([32]), round(rule.claim([32]).radius, 3)
        (None, 0.345)
    """

    name: ClassVar[str] = "anytime"
    stops_anywhere: ClassVar[bool] = True
    target: float | None = None

    def __post_init__(self) -> None:
        self.noise.check_radius("anytime", self.target or 0.0)
        best = self._best(self.n)
        if not self._is_enough(best):
            wanted = "anything" if self.target is None else f"radius {self.target:g}"
            raise self.out_of_reach(wanted, self._least(), best.radius)

    def _best(self, n: int) -> Claim:
        return self.by_q(float(bounds.anytime_q_upper(n, n, self.alpha)))

    def _is_enough(self, claim: Claim) -> bool:
        return claim.q < 0.5 and claim.radius >= (self.target or 0.0)

    def _least(self) -> int:
        """The least n at which n successes are enough, to a tenth; more than MOST_WATCHED if there is none up to it."""
        n = self.n
        while n <= MOST_WATCHED and not self._is_enough(self._best(n)):
            n += n // 10 + 1
        return n

    @property
    def farthest(self) -> float:
        return super().farthest if self.target is None else self.target

    def guarantee(self) -> str:
        return f"{self.level_kept}, at whichever sample one stops: the e-process of the uniform prior above each p_A."

    def ends(self, path: Sequence[int]) -> bool:
        """Whether the target is certified, or the failures prove, at level HOPELESS, that they are the more likely."""
        failures = int(self.looks[len(path) - 1]) - path[-1]
        return self._reached(path) or self._log_e(
            failures, len(path), 0.5
        ) >= -math.log(HOPELESS)

    def _reached(self, path: Sequence[int]) -> bool:
        if self.target is None:
            return False
        likely = self._log_e(
            path[-1], len(path), float(self.noise.tail(self.target))
        ) >= -math.log(self.alpha)
        return likely and self._is_enough(self.claim(path))  # which is slow

    def _log_e(self, s: int, k: int, q0: float) -> float:
        return float(bounds.log_e(s, int(self.looks[k - 1]), q0))

    def claims(self, evidence: Evidence) -> tuple[Floats, Floats]:
        none = self.looks[:0]  # where there is no image
        looks = np.concatenate(
            [*(self.looks[: len(path)] for path in evidence.paths), none]
        )
        tails = bounds.anytime_q_upper(
            np.concatenate([*evidence.paths, none]), looks, self.alpha
        )
        ends = np.cumsum([len(path) for path in evidence.paths], dtype=np.int64)
        q = np.array(
            [part.min(initial=1.0) for part in np.split(tails, ends)[:-1]], np.float64
        )
        return q, self.noise.radius(q)

    def claim(self, path: Sequence[int]) -> Claim:
        tails = bounds.anytime_q_upper(
            np.asarray(path, np.int64), self.looks[: len(path)], self.alpha
        )
        return self.by_q(float(np.min(tails, initial=1.0)))
