"""Rules that break the contract are refused, in words that say what is wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from models.refusing import each_told, told
from plugin_package.smoothing_extras.rule import Halves
from randsmooth import bounds, testing
from randsmooth.noise import Gaussian
from randsmooth.rules import RULES, Claim, Fixed, Rule


def but(**members: Any) -> Rule:
    made: Rule = type("Made", (Halves,), members)(Gaussian(0.5), 500, 0.05)
    return made


def claiming(change: Any) -> Rule:
    """The rule with other radii, by the radius and the path."""

    def claim(self: Any, path: Sequence[int]) -> Claim:
        claim = Halves.claim(self, path)
        return Claim(claim.q, change(claim.radius, path))

    return but(claim=claim)


def peeked(path: Sequence[int]) -> float:
    """A bound at level 0.3 at every look, as if it were the only one."""
    return float(bounds.q_upper(path[-1], 50 * len(path), 0.3))


PEEKING = but(
    next_look=lambda self, path: (
        None
        if len(path) == 10 or (path and peeked(path) < 0.4)
        else 50 * (len(path) + 1)
    ),
    claim=lambda self, path: self.by_q(peeked(path)),
)
BROKEN: list[tuple[Any, str]] = [
    (PEEKING, "is wrong about 0.| of 1000 images of radius 0|, allowed are 0.078"),
    (
        claiming(lambda radius, path: 1.1 * radius),
        "claims radii beyond those that its q proves",
    ),
    (
        claiming(lambda radius, path: radius / (1 + path[-1] // 5 % 2)),
        "proves | successes and ",
    ),
    (
        but(next_look=lambda self, path: (500, 250, None)[min(2, len(path))]),
        "fails|it looks again after 250 samples",
    ),
    (
        but(next_look=lambda self, path: None if path else 501),
        "looks after |501|, expected rising numbers up to n=500",
    ),
    (but(block=64), "expected multiples of its block, 64"),
    (
        but(claim=lambda self, path: Claim(1.0, 0.0)),
        "certifies nothing where all 500 samples agree",
    ),
    (
        but(claim=lambda self, path: self.by_q(0.01)),
        "certifies an image whose samples all disagree",
    ),
    (
        but(
            claims=lambda self, found: (
                np.minimum(Halves.claims(self, found)[0] + 0.01, 1.0),
                Halves.claims(self, found)[1],
            )
        ),
        "claims something else for a table",
    ),
    (
        but(guarantee=lambda self: Halves.guarantee(self) + " Honestly."),
        "expected one sentence",
    ),
    (
        but(guarantee=lambda self: "Certificates are usually right."),
        "'Each certificate is wrong with probability at",
    ),
    ({"a": 1}, "is a dict, no subclass of rules.Rule"),
]


def test_rules() -> None:
    testing.check_rule(Halves(Gaussian(0.5), 500, 0.05))
    each_told(testing.check_rule, BROKEN)


def described_as(**members: Any) -> type[Halves]:
    return type("Made", (Halves,), members)


CLASSES = [
    (described_as(usage="quarter[=SHARE]"), "begins with another name"),
    (described_as(summary="half"), "needs a summary of one sentence"),
    (described_as(number="part"), "number='part'"),
    (int, "no subclass of rules.Rule"),
]


def test_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES._added, "halves", Halves)
    testing.check_rule("halves=0.5")
    testing.check_rule(Halves)
    for kind, words in CLASSES:
        monkeypatch.setitem(RULES._added, "halves", kind)
        assert words in told(testing.check_rule, "halves")
        assert words in told(testing.check_rule, kind)
    monkeypatch.setitem(RULES._added, "halves", Fixed)
    assert "class of the name 'fixed'" in told(testing.check_rule, "halves")
    needy = described_as(usage="halves=SHARE", number_is_required=True)
    assert "needs a number" in told(testing.check_rule, needy)
