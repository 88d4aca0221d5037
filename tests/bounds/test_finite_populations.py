"""Intervals for shares and means of finitely many things: exact coverage, and choices that must fail."""

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from randsmooth.bounds import enough_drawn, finite_mean_interval, finite_share_interval

ALPHA = 0.05
SIZES = [(60, 15), (60, 1), (61, 30), (200, 40), (12, 11)]


def intervals(drawn: int, total: int) -> NDArray[np.int64]:
    """(drawn + 1, 2) ends for every number of hits."""
    return np.array(
        [finite_share_interval(hits, drawn, total, ALPHA) for hits in range(drawn + 1)]
    )


def failing(drawn: int, total: int, ends: ArrayLike) -> NDArray[np.float64]:
    """(total + 1,) the exact probability, for each true number, that it lies outside."""
    having, hits, ends = (
        np.arange(total + 1)[:, None],
        np.arange(drawn + 1),
        np.asarray(ends),
    )
    mass = stats.hypergeom.pmf(hits, total, having, drawn)
    outside = (having < ends[hits, 0]) | (having > ends[hits, 1])
    return np.asarray((mass * outside).sum(axis=1))


def test_ends_are_where_scipys_tails_reach_half_of_alpha() -> None:
    for total, drawn in SIZES:
        for hits, (low, high) in enumerate(intervals(drawn, total)):
            possible = np.arange(hits, total - drawn + hits + 1)
            kept = possible[
                (stats.hypergeom.sf(hits - 1, total, possible, drawn) >= ALPHA / 2)
                & (stats.hypergeom.cdf(hits, total, possible, drawn) >= ALPHA / 2)
            ]
            assert (low, high) == (kept.min(), kept.max()), (total, drawn)


def test_it_fails_with_probability_alpha_at_most_whatever_the_number() -> None:
    for total, drawn in SIZES:
        worst = failing(drawn, total, intervals(drawn, total)).max()
        assert worst <= ALPHA, (total, drawn)
        if (total, drawn) == (200, 40):
            assert worst > ALPHA / 2, (
                total,
                drawn,
            )  # the level is used, not given away


def test_control_the_normal_interval_fails_too_often() -> None:
    drawn, total = 40, 200
    share = np.arange(drawn + 1) / drawn
    half = 1.96 * np.sqrt(share * (1 - share) / drawn * (1 - drawn / total))
    assert (
        failing(
            drawn,
            total,
            np.column_stack([total * (share - half), total * (share + half)]),
        ).max()
        > 4 * ALPHA
    )


def test_control_looking_after_every_draw_and_stopping_where_it_is_best_fails_too_often() -> (
    None
):
    """Why the number of things drawn must be settled before."""
    rng, total, having = np.random.default_rng(0), 60, 30
    tables = {m: intervals(m, total) for m in range(1, 41)}
    wrong = 0
    for _ in range(500):
        seen = np.cumsum(rng.permutation(total)[:40] < having)
        wrong += any(
            not tables[m][seen[m - 1]][0] <= having <= tables[m][seen[m - 1]][1]
            for m in tables
        )
    assert wrong / 500 > 2 * ALPHA


def test_enough_are_drawn_for_every_number_of_hits_and_no_more() -> None:
    for total, width in [
        (200, 30),
        (200, 60.5),
        (57, 9),
        (33, 1),
        (150, 149),
        (100, 10),
    ]:
        chosen = enough_drawn(total, width, ALPHA)
        longest = [
            np.ptp(intervals(drawn, total), axis=1).max()
            for drawn in (chosen, max(0, chosen - 1))
        ]
        assert longest[0] <= width < longest[1], (total, width)


TRIALS, DRAWN, LEVEL = 120, 60, 0.1
RNG = np.random.default_rng(7)
POPULATIONS = {
    "spread": RNG.random(300),
    "few and large": (RNG.random(300) < 0.05) * 1.0,
    "heavy-tailed": np.minimum(1.0, RNG.lognormal(-4.0, 1.5, 300)),
}


def test_the_mean_is_missed_at_no_time_more_often_than_alpha() -> None:
    for name in POPULATIONS:
        population, rng, missed = POPULATIONS[name], np.random.default_rng(1), 0
        mean = population.mean()
        for _ in range(TRIALS):
            drawn = rng.permutation(population)[:DRAWN]
            limits = [
                finite_mean_interval(drawn[:m], len(population), LEVEL)
                for m in (10, 30, DRAWN)
            ]
            missed += any(not low <= mean <= high for low, high in limits)
        assert missed <= TRIALS * LEVEL + 3.0 * np.sqrt(TRIALS * LEVEL * (1 - LEVEL)), (
            name
        )


def test_an_interval_half_as_wide_would_miss_too_often() -> None:
    population, rng, missed = POPULATIONS["spread"], np.random.default_rng(2), 0
    for _ in range(TRIALS):
        low, high = finite_mean_interval(
            rng.permutation(population)[:DRAWN], len(population), LEVEL
        )
        middle, reach = (low + high) / 2, (high - low) / 8
        missed += not middle - reach <= population.mean() <= middle + reach
    assert missed > TRIALS * LEVEL


def test_it_ends_in_the_mean_itself() -> None:
    population = POPULATIONS["heavy-tailed"]
    limits = [
        finite_mean_interval(population[:m], 300, LEVEL) for m in (0, 30, 150, 290, 300)
    ]
    widths = [high - low for low, high in limits]
    assert (
        widths[0] == 1.0
        and widths == sorted(widths, reverse=True)
        and widths[-1] == 0.0
    )
    assert finite_mean_interval(population, 300, LEVEL)[0] == pytest.approx(
        population.mean()
    )
