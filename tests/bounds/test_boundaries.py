"""Group-sequential boundaries: their looks, exact level and tightness, and what breaks their level."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from bounds.paths import naive_claim
from randsmooth.bounds import claims_by_deadline, looks
from randsmooth.bounds.boundaries import (
    GIVE_UP_BETA,
    SPENT_POWER,
    SPENT_SHARE,
    _spent,
    boundary,
    crossing_probability,
    smallest_cap,
)

ALPHAS = [0.05, 0.001]
RADII = np.arange(0.0, 4.0, 0.25)  # of sigma
CAPS = [1_000, 10_000, 100_000]


def tail(r: float) -> float:
    return float(special.ndtr(-r))


def test_looks_are_the_powers_rounded_up_in_exact_arithmetic() -> None:
    for cap in [1, 10, 31, 32, 33, 1000, 9_999, 100_000, 1_000_000]:
        expected, power = {cap}, Fraction(32)
        while power < cap:
            rounded = math.ceil(power / 32) * 32
            expected |= {rounded} if rounded < cap else set()
            power *= Fraction("1.1")
        n = looks(cap)
        assert n.dtype == np.int64 and n.tolist() == sorted(expected), cap


def test_every_shipped_boundary_keeps_its_level_and_wastes_little() -> None:
    for cap in CAPS:
        for alpha in ALPHAS:
            n = looks(cap)
            for r in RADII:
                q0 = tail(r)
                level = crossing_probability(boundary(q0, n, alpha).claim, n, q0)
                assert level <= alpha, (cap, alpha)
                if cap * q0 * (1.0 - q0) > 40**2:  # counts are fine enough
                    assert level >= 0.95 * alpha, (cap, alpha)
                assert (level > 1e-9 * alpha) == (smallest_cap(q0, alpha) <= cap), (
                    cap,
                    alpha,
                )


def test_other_looks_and_levels_are_kept_too() -> None:
    for alpha in [0.3, 1e-6, 1e-12]:
        for n in (
            np.unique(np.geomspace(32, 5_000, 25).astype(int)),
            np.arange(256, 5_000, 256),
            np.arange(40, 400),
        ):
            for q0 in (0.99, 0.5, 0.03):
                level = crossing_probability(boundary(q0, n, alpha).claim, n, q0)
                assert level <= alpha, (q0, alpha)
                if n[-1] * q0 * (1.0 - q0) > 100:
                    assert level > 0.55 * alpha, (q0, alpha)


@pytest.mark.slow
def test_a_million_samples_keep_their_level() -> None:
    n = looks(1_000_000)
    for q0 in (0.5, 0.02, 1e-5):
        for alpha in ALPHAS:
            assert (
                0.55 * alpha
                < crossing_probability(boundary(q0, n, alpha).claim, n, q0)
                <= alpha
            ), (q0, alpha)


def test_one_success_less_at_any_look_breaks_the_budget() -> None:
    for q0, cap in [(0.5, 1_000), (0.1, 2_000), (0.02, 2_000), (0.5, 20)]:
        for alpha in ALPHAS:
            n = np.append(np.arange(8, cap, 8 + cap // 40), cap)
            claim, spent = (
                boundary(q0, n, alpha).claim,
                _spent(n, alpha, SPENT_SHARE, SPENT_POWER),
            )
            for k in range(n.size):
                assert (
                    crossing_probability(claim[: k + 1], n[: k + 1], q0)
                    <= spent[k] + 1e-25
                ), (q0, cap, alpha)
                eager = claim[: k + 1].copy()
                eager[k] -= 1
                assert (
                    crossing_probability(eager, n[: k + 1], q0)
                    > (1.0 - 1e-8) * spent[k] + 1e-25
                ), (q0, cap, alpha)


def test_one_look_is_the_exact_binomial_test() -> None:
    for n, q0 in [
        (10, 0.5),
        (100, 0.5),
        (500, 0.01),
        (100_000, 0.2),
        (1_000_000, 1e-5),
    ]:
        for alpha in [0.5, 0.05, 0.001]:
            table = boundary(q0, [n], alpha)
            p0 = 1.0 - q0
            assert table.claim[0] == stats.binom.isf(alpha, n, p0) + 1, (n, q0, alpha)
            level = stats.binom.sf(table.claim[0] - 1, n, p0)
            found = crossing_probability(table.claim, [n], q0)
            assert found == pytest.approx(level, rel=1e-9, abs=1e-25), (n, q0, alpha)


def test_crossing_probability_is_the_sum_over_all_paths() -> None:
    for claim in [[2, 4, 6], [3, 3, 7], [3, 5, 8], [1, 5, 8], [0, 5, 5], [-2, 9, 9]]:
        n, q = [2, 4, 7], Fraction(1, 4)
        exact = Fraction(0)
        for path in product([0, 1], repeat=7):
            if any(sum(path[:m]) >= c for m, c in zip(n, claim, strict=True)):
                exact += (1 - q) ** sum(path) * q ** (7 - sum(path))
        assert crossing_probability(claim, n, 0.25) == pytest.approx(
            float(exact), rel=1e-13, abs=1e-29
        ), claim


def test_naive_peeking_breaks_the_level() -> None:
    for q0, cap in [(0.5, 1_000), (0.5, 100_000), (0.16, 100_000), (0.02, 10_000)]:
        for alpha in ALPHAS:
            n = looks(cap)
            naive = crossing_probability(naive_claim(n, q0, alpha), n, q0)
            assert naive > 2.0 * alpha, (q0, cap, alpha)
            if alpha == 0.05 and cap == 100_000:
                assert 0.30 < naive < 0.43, (q0, cap, alpha)


def test_giving_up_keeps_its_level() -> None:
    for alpha in ALPHAS:
        n = looks(10_000)
        for r in (0.0, 0.25, 1.0, 2.0):
            table = boundary(tail(r), n, alpha)
            given_up = crossing_probability(
                (n - table.give_up)[:-1], n[:-1], float(table.claim[-1] / n[-1])
            )
            assert given_up <= GIVE_UP_BETA and np.all(table.give_up < table.claim), (
                r,
                alpha,
            )


def test_smallest_cap_is_the_first_that_can_claim() -> None:
    for q0 in [0.5, 0.16, 0.02, 1e-4]:
        for alpha in [0.3, 0.05, 0.001, 1e-9]:
            cap = smallest_cap(q0, alpha)
            reach = boundary(q0, looks(cap), alpha)
            assert reach.claim[-1] == cap and np.all(
                reach.claim[:-1] == reach.looks[:-1] + 1
            ), (q0, alpha)
            np.testing.assert_array_equal(
                reach.give_up, reach.looks - 1
            )  # one failure is too many
            if cap > 1:
                short = boundary(q0, looks(cap - 1), alpha)
                np.testing.assert_array_equal(short.claim, short.looks + 1)
                np.testing.assert_array_equal(
                    short.give_up, short.looks
                )  # nothing can claim
                assert crossing_probability(short.claim, short.looks, q0) < 1e-25, (
                    q0,
                    alpha,
                )  # what it cuts away


LOOKS = looks(2_000)
ALPHA = 0.05


def test_the_exact_level_is_kept_and_nearly_used_up() -> None:
    for q0 in [0.5, 0.3, 0.02]:
        for deadline in [64, 500, 1_411, 2_000]:
            for alpha in [0.05, 0.001, 1e-9]:
                level = crossing_probability(
                    claims_by_deadline(q0, LOOKS, alpha, deadline), LOOKS, q0
                )
                assert level <= alpha, (q0, deadline, alpha)
                if 2_000 * q0 > 40**2 / 2:  # counts are fine enough
                    assert level > 0.8 * alpha, (q0, deadline, alpha)


def test_at_the_deadline_it_is_nearly_clopper_pearson() -> None:
    """An image that stops there needs few successes more than a test that looks then alone."""
    for deadline in [512, 1216]:
        q0, k = 0.2, int(np.flatnonzero(deadline == LOOKS)[0])
        alone = stats.binom.isf(ALPHA, deadline, 1.0 - q0) + 1
        claim = claims_by_deadline(q0, LOOKS, ALPHA, int(deadline))[k]
        later = claims_by_deadline(q0, LOOKS, ALPHA, 2_000)[k]
        spread = np.sqrt(deadline * q0 * (1.0 - q0))
        assert 0 <= claim - alone < 0.3 * spread < later - alone, deadline


def test_control_looks_off_the_schedule_break_the_level() -> None:
    """Counting every 8 samples, with the failures that the next planned look allows."""
    failures = LOOKS - claims_by_deadline(0.3, LOOKS, ALPHA, 2_000)
    often = np.arange(8, 2_001, 8)
    allowed = failures[np.searchsorted(LOOKS, often)]
    assert crossing_probability(often - allowed, often, 0.3) > 2 * ALPHA


def test_control_a_deadline_chosen_afterwards_breaks_the_level() -> None:
    """Taking whichever of three boundaries is crossed."""
    tables = [
        claims_by_deadline(0.3, LOOKS, ALPHA, deadline)
        for deadline in (200, 700, 2_000)
    ]
    assert crossing_probability(np.min(tables, axis=0), LOOKS, 0.3) > 1.5 * ALPHA
