"""Rules that break the contract are refused, in words that say what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from randsmooth import bounds, testing
from randsmooth.noise import Gaussian
from randsmooth.rules import RULES, Claim, Evidence, Rule, RuleEntry


@dataclass(frozen=True)
class Half(Rule):
    """Half of the samples, and all of them where none of that half failed; alpha is shared by the two looks."""

    name: ClassVar[str] = "half"
    share: float = 0.5

    def guarantee(self) -> str:
        return f"Each certificate is wrong with probability at most {self.alpha:g}: two looks, half of alpha each."

    def next_look(self, path: Sequence[int]) -> int | None:
        first = int(self.share * self.n)
        return first if not path else self.n if len(path) == 1 and path[0] == first else None

    def claim(self, path: Sequence[int]) -> Claim:
        return self.by_q(float(bounds.q_upper(path[-1], self.samples(path), self.alpha / 2.0)))


def test_a_rule_that_keeps_the_contract() -> None:
    testing.check_rule(Half(Gaussian(0.5), 500, 0.05))


class Peeking(Half):
    """Looks after every tenth of the samples and stops at the first good sight, each look at level alpha."""

    def next_look(self, path: Sequence[int]) -> int | None:
        tenth = self.n // 10
        proved = bool(path) and self._q(path) < 0.4
        return None if len(path) == 10 or proved else (len(path) + 1) * tenth

    def claim(self, path: Sequence[int]) -> Claim:
        return self.by_q(self._q(path))

    def _q(self, path: Sequence[int]) -> float:
        return float(bounds.q_upper(path[-1], len(path) * (self.n // 10), 0.3))


class Greedy(Half):
    """Claims a tenth more than q proves."""

    def claim(self, path: Sequence[int]) -> Claim:
        claim = super().claim(path)
        return Claim(claim.q, 1.1 * claim.radius)


class Contrary(Half):
    """Claims half of the radius for every other handful of successes."""

    def claim(self, path: Sequence[int]) -> Claim:
        claim = super().claim(path)
        return Claim(claim.q, claim.radius / (1 + path[-1] // 5 % 2))


class Backwards(Half):
    """Looks at fewer samples than it has seen."""

    def next_look(self, path: Sequence[int]) -> int | None:
        return (self.n, self.n // 2, None)[min(2, len(path))]


class Beyond(Half):
    """Takes more samples than it may."""

    def next_look(self, path: Sequence[int]) -> int | None:
        return None if path else self.n + 1


class OtherBlocks(Half):
    """Says that it looks after multiples of 64."""

    block: ClassVar[int | None] = 64


class Timid(Half):
    """Certifies nothing."""

    def claim(self, path: Sequence[int]) -> Claim:
        return Claim(1.0, 0.0)


class Blind(Half):
    """Certifies everything."""

    def claim(self, path: Sequence[int]) -> Claim:
        return self.by_q(0.01)


class TwoMinds(Half):
    """Judges tables by another bound."""

    def claims(self, evidence: Evidence) -> tuple[Any, Any]:
        q, radius = super().claims(evidence)
        return np.minimum(q + 0.01, 1.0), radius


class Wordy(Half):
    """Guarantees in two sentences."""

    def guarantee(self) -> str:
        return super().guarantee() + " Honestly."


class Vague(Half):
    """Does not say the level."""

    def guarantee(self) -> str:
        return "Certificates are usually right."


BROKEN: list[tuple[Any, str]] = [
    (Peeking(Gaussian(0.5), 500, 0.05), r"is wrong about 0\.\d+ of 1000 images of radius 0.*, allowed are 0.078"),
    (Greedy(Gaussian(0.5), 500, 0.05), "claims radii beyond those that its q proves"),
    (Contrary(Gaussian(0.5), 500, 0.05), r"proves [\d.]+ by \d+ successes and [\d.]+ by \d+"),
    (Backwards(Gaussian(0.5), 500, 0.05), "cannot be walked: ValueError: it looks again after 250 samples"),
    (Beyond(Gaussian(0.5), 500, 0.05), "looks after .*501.*, expected rising numbers up to n=500"),
    (OtherBlocks(Gaussian(0.5), 500, 0.05), "expected multiples of its block, 64"),
    (Timid(Gaussian(0.5), 500, 0.05), "certifies nothing where all 500 samples agree"),
    (Blind(Gaussian(0.5), 500, 0.05), "certifies an image whose samples all disagree"),
    (TwoMinds(Gaussian(0.5), 500, 0.05), "claims something else for a table"),
    (Wordy(Gaussian(0.5), 500, 0.05), "expected one sentence"),
    (Vague(Gaussian(0.5), 500, 0.05), "expected 'Each certificate is wrong with probability at most 0.05'"),
    ({"a": 1}, "is a dict, no subclass of rules.Rule"),
]


def test_rules() -> None:
    for rule, message in BROKEN:
        with pytest.raises(AssertionError, match=f"rule '.*' .*{message}"):
            testing.check_rule(rule)


HOME = f"{__name__}:Half"
ENTRIES = [
    (RuleEntry(kind=HOME, usage="half[=SHARE]", help="half.", value="share"), ""),
    (RuleEntry(kind=HOME, usage="quarter[=SHARE]", help="half.", value="share"), "begins with another name"),
    (RuleEntry(kind=HOME, usage="half[=SHARE]", help="half", value="share"), "needs a help of one sentence"),
    (RuleEntry(kind="nowhere:Half", usage="half", help="half."), "cannot be made: ModuleNotFoundError|nowhere"),
    (
        RuleEntry(kind="randsmooth.rules.fixed:Fixed", usage="half", help="half."),
        "class of the name 'fixed'",
    ),
]


@pytest.mark.parametrize(("entry", "message"), ENTRIES)
def test_entries(entry: RuleEntry, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES._added, "half", entry)
    if not message:
        testing.check_rule("half=0.5")
        return
    with pytest.raises(AssertionError, match=message):
        testing.check_rule("half")
