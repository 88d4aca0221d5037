"""A radius to a tolerance: a pilot says how many samples are worth it, fresh ones bound p_A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from randsmooth import bounds
from randsmooth.certificates.rules.base import NO_CLAIM, Claim, Rule
from randsmooth.errors import InputError

PILOT = 1024  # a whole number of blocks
PILOT_ALPHA = 0.01  # of either side of the pilot's interval: it costs samples, never soundness
RATIO = 1.05  # of the sample counts to choose among


@dataclass(frozen=True)
class Tolerance(Rule):
    """As many samples as keep the radius within `tolerance` * sigma of what n of them would give.

    The pilot's samples choose and are not counted again: counted twice, they would break the level.
    """

    name: ClassVar[str] = "tolerance"
    sequential: ClassVar[bool] = False
    tolerance: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 < self.tolerance < 1.0:
            raise InputError(f"tolerance={self.tolerance} must lie strictly between 0 and 1 sigma; 0.05 is usual")
        least = PILOT + bounds.smallest_n(self.alpha)
        if self.n < least:
            raise InputError(f"n={self.n} leaves no samples after a pilot of {PILOT}: allow n >= {least}")

    def guarantee(self) -> str:
        return (
            f"Each certificate is wrong with probability at most {self.alpha:g}: a pilot of {PILOT} samples chose how "
            "many fresh ones bound p_A by Clopper-Pearson."
        )

    def next_look(self, path: Sequence[int]) -> int | None:
        if len(path) == 1 and 0 <= path[0] <= PILOT:
            fresh = self._fresh[path[0]]
            return PILOT + fresh if fresh else None
        return None if path else PILOT

    def claim(self, path: Sequence[int]) -> Claim:
        if len(path) < 2:
            return NO_CLAIM
        return self.by_tail(float(bounds.lower_tail(path[1] - path[0], self._fresh[path[0]], self.alpha)))

    @cached_property
    def _fresh(self) -> list[int]:
        """How many samples the pilot asks for after s = 0..PILOT successes; 0 where nothing will be certified."""
        most, s = self.n - PILOT, np.arange(PILOT + 1)
        choices = np.unique(np.geomspace(bounds.smallest_n(self.alpha), most, num=_steps(most)).astype(np.int64))
        projected = bounds.radius_of_tail(
            bounds.lower_tail(s[:, None] / PILOT * choices, choices, self.alpha), sigma=1.0
        )
        fresh = choices[np.argmax(projected >= projected[:, -1:] - self.tolerance, axis=1)]
        fresh[bounds.lower(s, PILOT, PILOT_ALPHA) <= 0.5] = most
        fresh[bounds.upper(s, PILOT, PILOT_ALPHA) <= 0.5] = 0
        return [int(n) for n in fresh]


def _steps(most: int) -> int:
    return max(2, int(np.log(most) / np.log(RATIO)))
