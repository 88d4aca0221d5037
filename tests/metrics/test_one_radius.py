"""Differences at one radius: as McNemar's test has them, and claims that err in 5% of all reports at most."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from metrics.test_comparison import of_radii
from randsmooth import metrics
from randsmooth.metrics import (
    Comparison,
    Difference,
    JudgedAtRadius,
    Point,
    Scope,
)

RADIUS = 0.25
NO_SCOPE = Scope(pairs=1, figures=1, critical=0.0, draws=0)


def compared(only_a: int, only_b: int, images: int) -> Comparison:
    """A comparison at one radius, of which only the counts matter."""
    nothing = np.zeros(1)
    curve = Difference(
        radii=np.array([RADIUS]),
        value=np.array([(only_a - only_b) / images]),
        low=nothing,
        high=nothing,
        only_a=np.array([only_a]),
        only_b=np.array([only_b]),
        whole=False,
    )
    return Comparison("a", "b", images, "l2", None, curve, None, None, NO_SCOPE)


def point_of(judged: JudgedAtRadius, place: int = 0) -> Point:
    point = judged.points[place]
    assert point is not None
    return point


def test_one_difference_has_mcnemars_interval_whatever_the_other_radii() -> None:
    # More lost than won, shown at this radius alone, and not by a band over all.
    a, b = (np.random.default_rng(seed).normal(0.6, 0.4, 10_000) for seed in (0, 1))
    a[970:] = b[970:]
    a[:434], b[:434] = 0.5, -0.5
    a[434:970], b[434:970] = -0.5, 0.5
    whole = metrics.compare([(of_radii(a), of_radii(b))], [RADIUS])
    judged = metrics.judged_at(whole, RADIUS)
    point = point_of(judged)
    assert (point.only_a, point.only_b, judged.pairs) == (434, 536, 1)
    assert judged.critical == pytest.approx(1.959964, abs=1e-6)
    assert point.shown == -1
    alone = metrics.fresh_difference(434, 536, 10_000)
    assert point.difference.low == pytest.approx(alone.low)
    assert point.difference.high == pytest.approx(alone.high)
    band = whole[0].at(RADIUS)
    assert band is not None
    assert band.difference.low < point.difference.low
    assert band.difference.high > point.difference.high


def test_it_claims_what_mcnemars_test_finds_at_the_level_of_a_table() -> None:
    images = 60
    seen = set()
    for only_a in range(14):
        for only_b in range(3):
            comparison = compared(only_a, only_b, images)
            for tables in (1, 2, 6):
                judged = metrics.judged_at([comparison] * tables, RADIUS)
                p_value = metrics.mcnemar(only_a, only_b)
                found = point_of(judged).shown != 0
                assert found == (p_value <= 0.05 / tables), (only_a, only_b, tables)
                seen.add((tables, found))
    assert len(seen) == 6


def test_a_table_without_this_radius_is_not_counted() -> None:
    comparison = compared(9, 0, 60)
    elsewhere = replace(comparison, curve=None)
    judged = metrics.judged_at([comparison, elsewhere], RADIUS)
    assert (judged.pairs, judged.points[1]) == (1, None)
    judged = metrics.judged_at([comparison, comparison], RADIUS)
    assert judged.pairs == 2
    assert judged.critical == pytest.approx(-special.ndtri(0.0125))
    assert metrics.judged_at([elsewhere], RADIUS).pairs == 0


def test_one_claim_errs_in_five_percent_at_most() -> None:
    """Enumerated: of d images that differ, each is as likely won as lost."""
    for differing in (5, 6, 20, 60):
        chances = stats.binom.pmf(np.arange(differing + 1), differing, 0.5)
        found = []
        for won in range(differing + 1):
            comparison = compared(won, differing - won, 500)
            judged = metrics.judged_at([comparison], RADIUS)
            found.append(point_of(judged).shown != 0)
        assert chances[found].sum() <= 0.05, differing


def equal_methods(methods: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """The images that only a method, or only the baseline, certifies, of 500.

    All are equally good. What an image has in common for them makes their differences
    dependent.
    """
    hard = rng.normal(0.3, 1.0, 500)
    certified = hard + 0.6 * rng.normal(size=(methods + 1, 500)) > 0.0
    only_method = certified[1:] & ~certified[0]
    only_baseline = certified[0] & ~certified[1:]
    won = only_method.sum(axis=1).tolist()
    lost = only_baseline.sum(axis=1).tolist()
    return list(zip(won, lost, strict=True))


def test_equal_methods_are_seldom_told_apart_at_a_radius() -> None:
    """Nine methods, judged together; and each by itself, which is the control."""
    rng = np.random.default_rng(1)
    runs = 250
    together = 0
    control = 0
    for _ in range(runs):
        counts = equal_methods(9, rng)
        p_value = min(metrics.mcnemar(won, lost) for won, lost in counts)
        control += p_value <= 0.05
        # Others are decided already: McNemar's test finds nothing at all.
        if p_value <= 0.05:
            judged = metrics.judged_at([compared(*one, 500) for one in counts], RADIUS)
            together += any(point and point.shown for point in judged.points)
    assert together / runs <= 0.05 < control / runs


def test_its_interval_covers_a_difference_that_is_there() -> None:
    """Methods that certify 3% more, and of which a tenth of the images differ."""
    rng = np.random.default_rng(2)
    held = 0
    runs = 100
    for _ in range(runs):
        counts = rng.multinomial(500, [0.065, 0.035, 0.9], size=3)
        comparisons = [compared(int(a), int(b), 500) for a, b, _ in counts]
        judged = metrics.judged_at(comparisons, RADIUS)
        differences = [point_of(judged, place).difference for place in range(3)]
        held += all(one.low <= 0.03 <= one.high for one in differences)
    assert held >= 0.95 * runs - 3.0 * np.sqrt(0.05 * 0.95 * runs)
