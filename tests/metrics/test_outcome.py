"""Verdicts on bands that are written down by hand: each outcome, its radii and its words."""

import re

import numpy as np

from randsmooth import metrics
from randsmooth.metrics import Difference, judge


def band(low: list[float], high: list[float], *, whole: bool = True) -> Difference:
    """At r = 0, 0.1, 0.2, ..., in percentage points; the difference lies in the middle."""
    ends = np.array([low, high]) / 100.0
    count = np.zeros(len(low), np.int64)
    return Difference(np.round(np.arange(len(low)) / 10, 9), ends.mean(axis=0), ends[0], ends[1], count, count, whole)


CASES: list[tuple[list[float], list[float], str]] = [
    ([-9, -8, -4, -2, 1, 2], [-5, -4, 2, 4, 5, 6], "crosses at r = 0.3 (0.1 to 0.4), ahead beyond"),
    ([1, -9, 1], [2, -1, 2], "crosses at r = 0.1 (0 to 0.1), behind beyond, and at r = 0.2 (0.1 to 0.2), ahead beyond"),
    ([-3, 1, 2, 1], [2, 4, 5, 4], "ahead from r = 0.1 to 0.3, nowhere shown behind"),
    ([-5, -3, -4], [-1, 2, -1], "behind from r = 0 to 0.2 with gaps, nowhere shown ahead"),
    ([-1, 2, -2], [1, 4, 3], "ahead at r = 0.1, nowhere shown behind"),
    (
        [-0.9, 1, 2, -0.5],
        [3, 4, 5, 0.5],
        "ahead everywhere to within 1 point from r = 0 to 0.3 (beyond chance from r = 0.1 to 0.2)",
    ),
    ([-3, -4, -2], [0.9, -1, 0.2], "behind everywhere to within 1 point from r = 0 to 0.2 (beyond chance at r = 0.1)"),
    ([-0.5, -0.5], [0.5, 0.5], "no difference shown"),
]


def test_each_outcome_is_said() -> None:
    for low, high, words in CASES:
        verdict = judge(band(low, high))
        assert str(verdict) == words and words.startswith(verdict.outcome)
        mirrored = judge(band([-x for x in high], [-x for x in low]))
        swap = {"ahead": "behind", "behind": "ahead"}
        assert str(mirrored) == "".join(swap.get(part, part) for part in re.split("(ahead|behind)", words)), words


def test_everywhere_needs_delta_and_every_radius() -> None:
    low, high = [-0.9, 1.0], [3.0, 4.0]
    assert judge(band(low, high)).outcome == metrics.AHEAD_EVERYWHERE
    assert judge(band(low, high), delta=0.008).outcome == metrics.AHEAD
    assert judge(band(low, high, whole=False)).outcome == metrics.AHEAD
    assert "within 0.95 points" in str(judge(band(low, high), delta=0.0095))
    assert judge(band([1.0, -1.1], [3.0, 4.0])).outcome == metrics.AHEAD


def test_the_place_explains_the_differences_best() -> None:
    # -2, -1, +1, -1.5, +2, +2 between the stretches: the one point ahead at r = 0.3 is not yet the new lead
    value = np.array([-9, -2, -1, 1, -1.5, 2, 2, 9]) / 100.0
    shown = np.array([-1, 0, 0, 0, 0, 0, 0, 1])
    ends = value - np.where(shown > 0, 0.0, 0.03), value + np.where(shown < 0, 0.0, 0.03)
    none = np.zeros(8, np.int64)
    (crossing,) = judge(Difference(np.arange(8) / 10, value, *ends, none, none, True)).crossings
    assert (crossing.radius, crossing.low, crossing.high, crossing.ahead) == (0.5, 0.0, 0.7, True)
