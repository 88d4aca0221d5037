"""The betting bound: the capital's exact mean, coverage, what it gains, and bets that must fail."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from randsmooth.bounds.betting import (
    MOST_AT_RISK,
    _bets,
    _log_capital,
    betting_lower,
)

ALPHA, PATHS = 0.05, 2000
ALLOWED = ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / PATHS)

Floats = NDArray[np.float64]


def slow_log_capital(x: list[float], m: float, alpha: float) -> float:
    """The players one bet after the other."""
    capitals = [1 / len(MOST_AT_RISK)] * len(MOST_AT_RISK)
    seen, mean, spread = [0.5], 0.5, 0.25
    for t, value in enumerate(x, start=1):
        bet = math.sqrt(2 * math.log(1 / alpha) * t / (len(x) * spread))
        capitals = [
            c * (1 + min(bet, most / m) * (value - m))
            for c, most in zip(capitals, MOST_AT_RISK, strict=True)
        ]
        seen.append(value)
        mean = sum(seen) / len(seen)
        spread += (value - mean) ** 2
    return math.log(sum(capitals)) if sum(capitals) > 0 else -math.inf


def test_the_capital_is_that_of_one_bet_after_the_other() -> None:
    for seed in range(5):
        x = np.random.default_rng(seed).beta(2.0, 1.0, 40)
        for m in (0.2, 0.6, 0.9):
            assert _log_capital(x, _bets(x, ALPHA), m) == pytest.approx(
                slow_log_capital(x.tolist(), m, ALPHA)
            )


def test_at_the_true_mean_the_capital_has_exactly_the_mean_one() -> None:
    """Over every sequence of seven values: what the guarantee rests on. Elsewhere it grows or shrinks."""
    for points, chances in [
        ((0.0, 1.0), (0.3, 0.7)),
        ((0.0, 1.0), (0.02, 0.98)),
        ((0.1, 0.6, 1.0), (0.2, 0.3, 0.5)),
    ]:
        n, mean = 7, float(np.dot(points, chances))
        expected = dict.fromkeys((mean, 0.9 * mean, 0.5 * (1.0 + mean)), 0.0)
        for drawn in itertools.product(range(len(points)), repeat=n):
            x, chance = (
                np.array([points[i] for i in drawn]),
                math.prod(chances[i] for i in drawn),
            )
            for m in expected:
                expected[m] += chance * math.exp(_log_capital(x, _bets(x, ALPHA), m))
        at_mean, below, above = expected.values()
        assert at_mean == pytest.approx(1.0, abs=1e-12) and below > 1.0 > above, (
            points,
            chances,
        )


def draws(shape: tuple[float, float], n: int) -> Floats:
    return np.random.default_rng(3).beta(*shape, (PATHS, n))


def too_large(x: Floats, z: float) -> float:
    """How often the bound from a row of `x` lies above z: where its capital against z has reached 1/alpha."""
    return float(
        np.mean(
            [_log_capital(row, _bets(row, ALPHA), z) >= -math.log(ALPHA) for row in x]
        )
    )


def test_a_bound_lies_above_a_mean_where_the_capital_against_it_has_reached_one_over_alpha() -> (
    None
):
    x = draws((0.5, 0.5), 60)[:20]
    for z in (0.3, 0.35, 0.4):
        assert too_large(x, z) == np.mean(betting_lower(x, ALPHA) > z)


def test_it_fails_no_more_often_than_alpha() -> None:
    for shape in [(0.5, 0.5), (20.0, 0.2), (0.05, 0.05), (1.0, 9.0)]:
        assert too_large(draws(shape, 60), shape[0] / sum(shape)) <= ALLOWED, shape


def test_it_fails_no_more_often_than_alpha_on_ones_and_zeros() -> None:
    for p in [0.5, 0.9, 0.99]:
        wrong = too_large(
            (np.random.default_rng(4).random((PATHS, 100)) < p).astype(np.float64), p
        )
        assert wrong <= ALLOWED, p
        if p == 0.5:
            assert wrong > ALPHA / 20.0, p


def test_control_an_order_chosen_after_the_values_were_seen_fails_too_often() -> None:
    """The largest first: nothing varies, the bets rise, and a fortune is made before the small ones come."""
    x = (np.random.default_rng(4).random((PATHS, 100)) < 0.5).astype(np.float64)
    assert too_large(-np.sort(-x, axis=1), 0.5) > 10 * ALLOWED


def test_ends_and_shapes() -> None:
    assert betting_lower(np.zeros(50), ALPHA) == 0.0
    x = draws((2.0, 1.0), 30)[:6].reshape(2, 3, 30)
    lower = betting_lower(x, ALPHA)
    assert lower.shape == (2, 3) and np.all((lower > 0.0) & (lower < x.mean(axis=-1)))
    assert lower[1, 2] == betting_lower(x[1, 2], ALPHA)
