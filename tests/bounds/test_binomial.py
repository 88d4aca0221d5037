"""Bounds on one p: against SciPy's own and exact end points; randomised ones, and assurance of a whole set."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds
from randsmooth.bounds.binomial import CAP
from randsmooth.bounds.finite_populations import assured_accuracy, most_failures
from randsmooth.noise import Gaussian

ALPHAS = [0.5, 0.05, 0.001, 1e-6]
GRID = [
    (k, n, alpha)
    for n, alpha in itertools.product([1, 2, 10, 100, 9_999, 1_000_000], ALPHAS)
    for k in sorted({0, 1, n // 3, n // 2, n - n // 100, n - 1, n})
    if 0 <= k <= n
]


def test_bounds_are_the_beta_quantiles() -> None:
    for k, n, alpha in GRID:
        low = 0.0 if k == 0 else stats.beta.ppf(alpha, k, n - k + 1)
        high = 1.0 if k == n else stats.beta.isf(alpha, k + 1, n - k)
        assert bounds.lower(k, n, alpha) == pytest.approx(low, rel=0, abs=1e-12), (
            k,
            n,
            alpha,
        )
        assert bounds.upper(k, n, alpha) == pytest.approx(high, rel=0, abs=1e-12), (
            k,
            n,
            alpha,
        )
        assert bounds.q_upper(k, n, alpha) == pytest.approx(
            1.0 - low, rel=0, abs=1e-12
        ), (k, n, alpha)


def test_end_points_are_exact() -> None:
    for n in [1, 10, 100_000, 10**9]:
        for alpha in ALPHAS:
            assert bounds.lower(0, n, alpha) == 0.0, (n, alpha)
            assert bounds.upper(n, n, alpha) == 1.0, (n, alpha)
            assert bounds.lower(n, n, alpha) == pytest.approx(
                alpha ** (1.0 / n), rel=1e-15
            ), (n, alpha)
            # The tail keeps its digits where 1 - p has none left.
            assert bounds.q_upper(n, n, alpha) == pytest.approx(
                -math.expm1(math.log(alpha) / n), rel=1e-15
            ), (n, alpha)


def test_bounds_broadcast_and_rise_with_the_count() -> None:
    k, n = np.arange(0, 11)[:, None], np.array([10, 20])
    low = bounds.lower(k, n, 0.05)
    assert low.shape == (11, 2)
    assert np.all(np.diff(low, axis=0) > 0) and np.all(low[:, 0] >= low[:, 1])


def test_two_sided_p_value_is_scipys() -> None:
    for k, n in [(0, 1), (1, 1), (5, 10), (6, 10), (9, 10), (40, 100), (5100, 10_000)]:
        assert bounds.two_sided_p_value(k, n) == pytest.approx(
            stats.binomtest(k, n, 0.5).pvalue, abs=1e-12
        ), (k, n)


def test_two_sided_p_value_of_many_samples_is_that_of_many_digits() -> None:
    for n in (10**6, 10**9, 4 * 10**9, 10**12):
        for off in (0, 1, 1000, math.isqrt(n) // 2, math.isqrt(n), 3 * math.isqrt(n)):
            with mpmath.workdps(40):
                z = (off - mpmath.mpf(1) / 2) * 2 / mpmath.sqrt(n)
                expected = float(
                    min(1, mpmath.erfc(z / mpmath.sqrt(2)))
                )  # with an error of about 1 / n
            for k in (n // 2 - off, n // 2 + off):
                assert bounds.two_sided_p_value(k, n) == pytest.approx(
                    expected, rel=1000.0 / n + 1e-9
                ), (k, n)


def test_smallest_n_is_the_first_that_certifies() -> None:
    for alpha in [0.9, 0.5, 0.25, 0.1, 0.05, 0.01, 0.001, 2.0**-10, 1e-9, 1e-300]:
        n = bounds.smallest_n(alpha)
        assert bounds.lower(n, n, alpha) > 0.5, alpha
        assert n == 1 or bounds.lower(n - 1, n - 1, alpha) <= 0.5, alpha


def test_counts_are_recovered_from_their_bound() -> None:
    for n, alpha in [(1, 0.05), (100, 0.001), (10_000, 0.05), (100_000, 0.001)]:
        k = np.unique(np.linspace(0, n, 2001).astype(int))
        np.testing.assert_array_equal(
            bounds.successes_of_q(bounds.q_upper(k, n, alpha), n, alpha), k
        )


U = (np.arange(1000) + 0.5) / 1000


def test_the_level_is_alpha_exactly() -> None:
    """Summed over all counts, the share of (k, u) that claim less than the true q0 is alpha."""
    for n, alpha, q0 in [(100, 0.05, 0.4), (100, 0.05, 0.2), (300, 0.001, 0.3)]:
        edge = int(stats.binom.isf(alpha, n, 1 - q0)) + np.arange(
            -2, 4
        )  # below it none claims, above it all do
        wrong = np.mean(
            bounds.randomised_q_upper(edge[:, None], n, alpha, U) < q0, axis=1
        )
        assert (wrong[0], wrong[-1]) == (0.0, 1.0), (n, alpha, q0)
        level = wrong @ stats.binom.pmf(edge, n, 1 - q0) + stats.binom.sf(
            edge[-1], n, 1 - q0
        )
        assert level == pytest.approx(
            alpha, abs=stats.binom.pmf(edge[0], n, 1 - q0) / len(U)
        ), (n, alpha, q0)
        k = np.arange(n + 1)
        plain = (bounds.q_upper(k, n, alpha) < q0) @ stats.binom.pmf(k, n, 1 - q0)
        assert plain < 0.99 * alpha, (
            n,
            alpha,
            q0,
        )  # which the plain bound falls short of


def test_given_the_uniform_number_the_level_is_another() -> None:
    """The bound of a count k at a tiny u fails where k or more come out: at n of n, ten times as often as alpha."""
    n, alpha = 100_000, 0.001
    k = np.arange(n - 20, n + 1)
    q = bounds.randomised_q_upper(k, n, alpha, 1e-9)
    assert 10.1 < stats.binom.sf(k - 1, n, 1 - q).max() / alpha < 10.2


def test_it_lies_between_the_bounds_of_k_and_one_more() -> None:
    for k in [20, 57, 80]:
        q = bounds.randomised_q_upper(
            k, 100, 0.01, np.array([1e-9, 0.3, 0.7, 1 - 1e-9])
        )
        assert np.all(np.diff(q) > 0), k
        assert 1 - q[-1] == pytest.approx(stats.beta.ppf(0.01, k, 101 - k), abs=1e-8), k
        assert 1 - q[0] == pytest.approx(
            stats.beta.ppf(0.01, k + 1, 100 - k), abs=1e-7
        ), k


def test_the_gain_is_capped() -> None:
    plain = Gaussian(0.5).radius(bounds.q_upper(100, 100, 0.01))
    lucky = Gaussian(0.5).radius(bounds.randomised_q_upper(100, 100, 0.01, 1e-12))
    assert lucky == pytest.approx(plain + CAP * 0.5, abs=1e-9)


CASES = list(
    itertools.product(
        [1, 10, 500, 10_000], [1e-6, 0.001, 0.05, 0.5], [1e-9, 0.001, 0.05, 0.5]
    )
)
PATHS = 20_000


def test_failures_are_scipys_quantile_and_no_smaller_number_will_do() -> None:
    for m, alpha, rho in CASES:
        w = most_failures(m, alpha, rho)
        assert stats.binom.sf(w, m, alpha) <= rho, (m, alpha, rho)
        assert w == 0 or stats.binom.sf(w - 1, m, alpha) > rho, (m, alpha, rho)
        assert w == stats.binom.isf(rho, m, alpha), (m, alpha, rho)


def test_the_share_is_overstated_no_more_often_than_rho() -> None:
    for equal in [True, False]:
        for m, alpha, rho in [(500, 0.05, 0.05), (500, 0.001, 0.05), (50, 0.3, 0.01)]:
            rng = np.random.default_rng(1)
            risks = np.full(m, alpha) if equal else rng.uniform(0.0, alpha, m)
            truly = m // 2
            wrong = np.zeros(PATHS, int)
            for risk in risks:  # every certificate that fails is counted as right
                wrong += rng.random(PATHS) < risk
            over = (
                assured_accuracy(np.minimum(m, truly + wrong), m, alpha, rho)
                > truly / m
            )
            assert over.mean() <= rho + 3.0 * math.sqrt(rho * (1.0 - rho) / PATHS), (
                equal,
                m,
                alpha,
                rho,
            )
            if equal and alpha > 0.01:
                assert over.mean() > rho / 4.0, (equal, m, alpha, rho)  # not vacuous
            if equal:
                assert np.mean(wrong > 0) > 2.0 * rho, (
                    equal,
                    m,
                    alpha,
                    rho,
                )  # control: the share as printed


def test_control_bernsteins_bound_without_its_factor_2_fails_too_often() -> None:
    m, alpha, rho = 10_000, 0.05, 0.001
    lost = (
        m * alpha
        + math.sqrt(m * alpha * (1.0 - alpha) * -math.log(rho))
        - math.log(rho) / 3.0
    )
    assert stats.binom.sf(math.floor(lost), m, alpha) > 2.0 * rho
    assert stats.binom.sf(most_failures(m, alpha, rho), m, alpha) <= rho
