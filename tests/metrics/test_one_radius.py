"""Differences at one radius: as McNemar's test has them, and claims that err in 5% of all reports at most."""

import numpy as np
import pytest
from scipy import special, stats

from metrics.test_comparison import exchangeable, of_radii
from randsmooth import metrics
from randsmooth.metrics import Comparison, JudgedAtRadius, Point

RADIUS = 0.25
# The intervals at one radius need the counts of a comparison, and not its band.
FEWEST_DRAWS = 2


def compared(only_a: int, only_b: int, images: int) -> Comparison:
    """A comparison in which so many images are certified by one table alone."""
    a = np.full(images, 0.5)
    b = np.full(images, 0.5)
    b[:only_a] = -0.5
    a[only_a : only_a + only_b] = -0.5
    pair = of_radii(a, "a"), of_radii(b, "b")
    (comparison,) = metrics.compare([pair], [RADIUS], draws=FEWEST_DRAWS)
    return comparison


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
    for only_a in (0, 5, 6, 8, 9, 11):
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
    elsewhere = metrics.compare(
        [(of_radii(np.full(60, 0.5)), of_radii(np.full(60, 0.4)))], draws=FEWEST_DRAWS
    )
    judged = metrics.judged_at([comparison, *elsewhere], 0.2503)
    assert judged.points == [None, None] and judged.pairs == 0
    judged = metrics.judged_at([comparison, comparison], RADIUS)
    assert judged.critical == pytest.approx(-special.ndtri(0.0125))


def test_one_claim_errs_in_five_percent_at_most() -> None:
    """Enumerated: of d images that differ, each is as likely won as lost."""
    for differing in (6, 20):
        chances = stats.binom.pmf(np.arange(differing + 1), differing, 0.5)
        found = [
            point_of(
                metrics.judged_at([compared(won, differing - won, 100)], RADIUS)
            ).shown
            != 0
            for won in range(differing + 1)
        ]
        assert chances[found].sum() <= 0.05, differing


def claim_rates(methods: int, runs: int) -> tuple[float, float]:
    """How often anything is claimed of equal methods: together, and each by itself (the control)."""
    rng = np.random.default_rng(1)
    together = 0
    control = 0
    for _ in range(runs):
        baseline, *others = exchangeable(rng, methods + 1)
        comparisons = metrics.compare(
            [(other, baseline) for other in others], [0.5], draws=FEWEST_DRAWS
        )
        judged = metrics.judged_at(comparisons, 0.5)
        together += any(point and point.shown for point in judged.points)
        alone = [metrics.judged_at([one], 0.5) for one in comparisons]
        control += any(point_of(one).shown for one in alone)
    return together / runs, control / runs


@pytest.mark.slow
def test_equal_methods_are_seldom_told_apart_at_a_radius() -> None:
    one, _ = claim_rates(methods=1, runs=800)
    assert one <= 0.05
    nine, control = claim_rates(methods=9, runs=300)
    assert nine <= 0.05 < control
