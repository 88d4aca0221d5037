"""Half of the samples, and the other half only where none of the first was wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from randsmooth import bounds
from randsmooth.rules import Claim, Rule


@dataclass(frozen=True)
class Halves(Rule):
    """Stops at a first look unless it shows nothing but successes; alpha is shared by the two looks.

    Attributes:
        share: of the n samples that come before the first look.
    """

    name: ClassVar[str] = "halves"
    usage: ClassVar[str] = "halves[=SHARE]"
    summary: ClassVar[str] = (
        "a share of the samples, half if none is given, and the rest where all of them "
        "agree."
    )
    number: ClassVar[str | None] = "share"
    share: float = 0.5

    def guarantee(self) -> str:
        return (
            f"Each certificate is wrong with probability at most {self.alpha:g}: up to {self.n} samples per image in "
            "two looks, p_A bounded by one-sided Clopper-Pearson, alpha/2 each."
        )

    def next_look(self, path: Sequence[int]) -> int | None:
        first = max(1, int(self.share * self.n))
        if not path:
            return first
        return self.n if len(path) == 1 and path[0] == first < self.n else None

    def claim(self, path: Sequence[int]) -> Claim:
        return self.by_q(
            float(bounds.q_upper(path[-1], self.samples(path), self.alpha / 2.0))
        )
