"""One radius, tested for so long as most images take to be decided; the others are left open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from randsmooth.rules.grid import OneRadius

# An image is left open after BROAD * sqrt(m) samples, or SURE * m if that is more, where m samples that all agree prove
# the radius: replayed on published logs, about there a sample is spent as well on the next image as on one left open.
BROAD, SURE = 64, 3


@dataclass(frozen=True)
class Screen(OneRadius):
    """As `OneRadius`, but an image that is neither certified nor given up early is left open.

    It has the boundary of `OneRadius` with the same n, so that whoever goes on with an image that was left open makes
    the same test: `metrics.measured_accuracy` puts both together.

    Example:
        >>> rule = Screen(sigma=0.5, n=100_000, alpha=0.001, radius=0.5)
        >>> rule.horizon, rule.next_look([32]), rule.next_look([10])  # on, or given up
        (405, 64, None)
    """

    name: ClassVar[str] = "screen"

    @cached_property
    def horizon(self) -> int:
        """The most samples that an image takes."""
        least = self._least(self.radius)
        return min(self.n, max(SURE * least, math.ceil(BROAD * math.sqrt(least))))

    def guarantee(self) -> str:
        return super().guarantee().removesuffix(".") + f", left open after {self.horizon} samples at the latest."

    def next_look(self, path: Sequence[int]) -> int | None:
        look = super().next_look(path)
        return None if look is not None and look > self.horizon else look

    def leaves_open(self, path: Sequence[int]) -> bool:
        """Whether the looks of `path` decide nothing: `OneRadius` would go on."""
        return super().next_look(path) is not None
