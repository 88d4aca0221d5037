"""The rule of an anytime-valid bound, which holds at every number of samples at once.

One may stop at any.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from randsmooth import bounds
from randsmooth.rules.base import Claim, Evidence, Floats, Watching
from randsmooth.rules.limits import MOST_WATCHED

# The level at which an image is given up as p_A < 1/2: it costs certificates, never
# soundness.
GIVE_UP_ALPHA = 0.01


@dataclass(frozen=True)
class Anytime(Watching):
    """Samples until n, until `target` is certified, or until p_A is clearly below 1/2.

    To stop earlier is as sound.

    Attributes:
        target: the radius that is enough, in units of pixels in [0, 1]; None: go on to n.

    Example:
        >>> from randsmooth.noise import Gaussian
        >>> rule = Anytime(Gaussian(0.5), n=1000, alpha=0.001, target=0.25)
        >>> rule.next_look([32]), round(rule.claim([32]).radius, 3)
        (None, 0.345)
    """

    name: ClassVar[str] = "anytime"
    usage: ClassVar[str] = "anytime[=R]"
    summary: ClassVar[str] = (
        "samples until n, or until radius R is proved; the radius of its e-process holds "
        "at every sample at once."
    )
    number: ClassVar[str | None] = "target"
    stops_anywhere: ClassVar[bool] = True
    target: float | None = None

    def __post_init__(self) -> None:
        self.noise.check_radius("anytime", self.target or 0.0)
        best = self._best(self.n)
        if not self._is_enough(best):
            wanted = "anything" if self.target is None else f"radius {self.target:g}"
            raise self.out_of_reach(wanted, self._least(), best.radius)

    def _best(self, n: int) -> Claim:
        """Return the claim where n of n samples agree."""
        return self.by_q(float(bounds.anytime_q_upper(n, n, self.alpha)))

    def _is_enough(self, claim: Claim) -> bool:
        return claim.q < 0.5 and claim.radius >= (self.target or 0.0)

    def _least(self) -> int:
        """Return the least n at which n successes are enough, to a tenth.

        It is more than MOST_WATCHED if there is none up to that.
        """
        n = self.n
        while n <= MOST_WATCHED and not self._is_enough(self._best(n)):
            n += n // 10 + 1
        return n

    @property
    def farthest(self) -> float:
        return super().farthest if self.target is None else self.target

    def guarantee(self) -> str:
        return (
            f"{self.level_kept}, at whichever sample one stops: the e-process of the "
            "uniform prior above each p_A."
        )

    def ends(self, path: Sequence[int]) -> bool:
        """Return whether the target is certified, or the image is given up.

        It is given up where the failures prove, at GIVE_UP_ALPHA, that they are the more
        likely.
        """
        if self._reached(path):
            return True
        n = int(self.looks[len(path) - 1])
        failures = n - path[-1]
        return float(bounds.log_e(failures, n, 0.5)) >= -math.log(GIVE_UP_ALPHA)

    def _reached(self, path: Sequence[int]) -> bool:
        """Return whether the target is certified."""
        if self.target is None:
            return False
        n = int(self.looks[len(path) - 1])
        q0 = float(self.noise.tail(self.target))
        # Whether the claim is enough is slow to say, so this is asked first.
        likely = float(bounds.log_e(path[-1], n, q0)) >= -math.log(self.alpha)
        return likely and self._is_enough(self.claim(path))

    def claims(self, evidence: Evidence) -> tuple[Floats, Floats]:
        # All looks of all images at once; `no_looks` is for a table without images.
        no_looks = self.looks[:0]
        looks_of_images = [self.looks[: len(path)] for path in evidence.paths]
        q_of_looks = bounds.anytime_q_upper(
            np.concatenate([*evidence.paths, no_looks]),
            np.concatenate([*looks_of_images, no_looks]),
            self.alpha,
        )
        ends = np.cumsum([len(path) for path in evidence.paths], dtype=np.int64)
        q_of_images = np.split(q_of_looks, ends)[:-1]
        q = np.array([looks.min(initial=1.0) for looks in q_of_images], np.float64)
        return q, self.noise.radius(q)

    def claim(self, path: Sequence[int]) -> Claim:
        successes = np.asarray(path, np.int64)
        q = bounds.anytime_q_upper(successes, self.looks[: len(path)], self.alpha)
        return self.by_q(float(np.min(q, initial=1.0)))
