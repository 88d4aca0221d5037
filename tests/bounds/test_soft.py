"""Bounds on a mean, Hoeffding's and Bernstein's, and the e-process: against re-derivation, in order, with coverage."""

import math

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, special

from bounds.paths import naive_claim, successes
from randsmooth.bounds.anytime import anytime_q_upper, log_e
from randsmooth.bounds.binomial import q_upper
from randsmooth.bounds.means import bernstein_lower, hoeffding_lower, sample_variance

ALPHA, PATHS = 0.05, 20_000
ALLOWED = ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / PATHS)

Floats = NDArray[np.float64]


def moments(values: Floats) -> tuple[Floats, Floats, int]:
    """Mean and S^2 of each row, as a certification that keeps two sums has them."""
    n = values.shape[1]
    total, squares = values.sum(axis=1), (values * values).sum(axis=1)
    return total / n, sample_variance(total, squares, n), n


def hard_moments(k: ArrayLike, n: int) -> tuple[Floats, Floats]:
    """Mean and S^2 of n values of which k are 1 and the others 0: what the softmax tends to as beta grows."""
    return np.asarray(k) / n, sample_variance(k, k, n)


def test_hoeffdings_bound_is_where_his_inequality_equals_alpha() -> None:
    for n in [1, 100, 100_000]:
        t = 1.0 - hoeffding_lower(1.0, n, 0.3)
        assert math.exp(-2.0 * n * t**2) == pytest.approx(0.3, rel=1e-9), n


def test_bernsteins_bound_is_the_papers_formula() -> None:
    x = np.random.default_rng(1).beta(8.0, 2.0, 500)
    log = math.log(2.0 / 0.001)
    expected = (
        x.mean() - math.sqrt(2.0 * x.var(ddof=1) * log / 500) - 7.0 * log / (3.0 * 499)
    )
    mean, variance, n = moments(x[None])
    assert bernstein_lower(mean, variance, n, 0.001) == pytest.approx(
        expected, abs=1e-12
    )


def test_sample_variance_is_numpys_and_never_negative() -> None:
    x = np.random.default_rng(2).uniform(size=(50, 30))
    np.testing.assert_allclose(moments(x)[1], x.var(axis=1, ddof=1), rtol=1e-10)
    assert np.all(moments(np.full((5, 7), 0.1))[1] >= 0.0)


def test_bounds_fail_no_more_often_than_alpha() -> None:
    for n in [10, 200]:
        for shape in [(0.5, 0.5), (5.0, 1.0), (20.0, 0.2), (0.05, 0.05), (1.0, 9.0)]:
            mean, variance, _ = moments(
                np.random.default_rng(3).beta(*shape, (PATHS, n))
            )
            z = shape[0] / sum(shape)
            assert np.mean(hoeffding_lower(mean, n, ALPHA) > z) <= ALLOWED, (n, shape)
            assert np.mean(bernstein_lower(mean, variance, n, ALPHA) > z) <= ALLOWED, (
                n,
                shape,
            )


def test_bounds_of_counts_fail_no_more_often_than_alpha() -> None:
    for p in [0.5, 0.9, 0.99, 0.999]:
        mean, variance = hard_moments(
            np.random.default_rng(4).binomial(100, p, PATHS), 100
        )
        wrong = np.mean(hoeffding_lower(mean, 100, ALPHA) > p)
        assert ALPHA / 10.0 * (p == 0.5) <= wrong <= ALLOWED, (
            p
        )  # at 1/2 it is near its worst case
        assert np.mean(bernstein_lower(mean, variance, 100, ALPHA) > p) <= ALLOWED, p


def test_control_the_normal_interval_fails_too_often_near_one() -> None:
    # Without the term in 1 / (n - 1) a run of ones has variance 0 and "certifies" p = 1.
    k = np.random.default_rng(7).binomial(100, 0.99, PATHS)
    mean, variance = hard_moments(k, 100)
    assert np.mean(mean - 1.645 * np.sqrt(variance / 100) > 0.99) > 5.0 * ALLOWED
    assert (
        np.mean(mean - np.sqrt(2.0 * variance * math.log(2.0 / ALPHA) / 100) > 0.99)
        > 5.0 * ALLOWED
    )


def log_e_by_integration(s: int, n: int, q0: float) -> float:
    """ln of the mean likelihood ratio over p in (p0, 1), as its definition says, scaled by its greatest value."""

    def log_ratio(x: float) -> float:  # x = 1 - p
        return float(
            special.xlogy(n - s, x / q0) + s * (math.log1p(-x) - math.log1p(-q0))
        )

    best = min((n - s) / n, q0)
    top, width = log_ratio(best), math.sqrt(max(best, 1.0 / n) * (1.0 - best) / n)
    points = sorted(
        {
            x
            for z in (-30, -8, -2, -0.3, -0.03, 0, 2, 8, 30)
            if 0.0 < (x := best + z * width) < q0
        }
    )
    area, _ = integrate.quad(
        lambda x: math.exp(log_ratio(x) - top),
        0.0,
        q0,
        points=points,
        limit=500,
        epsrel=1e-11,
    )
    return top + math.log(area / q0)


CASES = [
    (n - f, n, q0)
    for n in (1, 7, 100, 5_000, 1_000_000)
    for q0 in (0.9, 0.5, 0.16, 1e-3, 1e-6)
    for f in sorted(
        {
            min(n, max(0, int(n * q0 + z * math.sqrt(n * q0))))
            for z in (-1e9, -6, -1, 0, 1, 6, 45)
        }
    )
]


def test_log_e_is_the_mean_likelihood_ratio() -> None:
    for s, n, q0 in CASES:
        expected = log_e_by_integration(s, n, q0)
        assert log_e(s, n, q0) == pytest.approx(expected, rel=1e-8, abs=1e-8), (
            s,
            n,
            q0,
        )


def test_end_points_are_exact() -> None:
    for n in [1, 10, 100_000, 10_000_000]:
        for q0 in [0.5, 0.1, 1e-3, 1e-6]:
            # Only successes: the integral of (p / p0)^n. Only failures: of ((1 - p) / q0)^n, which is 1 / (n + 1).
            power = (n + 1) * math.log1p(-q0)
            only = (
                math.log(-math.expm1(power))
                - power
                + math.log1p(-q0)
                - math.log((n + 1) * q0)
            )
            assert log_e(n, n, q0) == pytest.approx(only, rel=1e-9, abs=1e-7), (n, q0)
            assert log_e(0, n, q0) == pytest.approx(-math.log(n + 1), rel=1e-12), (
                n,
                q0,
            )
            assert anytime_q_upper(0, n, 0.001) == 1.0, (n, q0)


def test_the_tail_is_where_the_evidence_reaches_its_threshold() -> None:
    for n in [1, 30, 1_000, 100_000, 10_000_000]:
        for alpha in [0.9, 0.3, 0.05, 0.001, 1e-9]:
            s = np.unique(np.linspace(0, n, 12).astype(int))
            q = anytime_q_upper(s, n, alpha)
            assert np.all(np.diff(q) <= 0), (n, alpha)
            inside = q < 1.0 - 1e-9
            assert np.all(log_e(s[inside], n, q[inside]) >= -math.log(alpha)), (
                n,
                alpha,
            )  # sound
            assert np.all(
                log_e(s[inside], n, q[inside] * (1.0 - 1e-4)) < -math.log(alpha)
            ), (n, alpha)  # and tight
            assert q[0] == 1.0 and q[-1] < 1.0, (n, alpha)
            assert np.all(q[s > 0] >= q_upper(s[s > 0], n, alpha)), (
                n,
                alpha,
            )  # the price of any n


@pytest.mark.parametrize("q0", [pytest.param(0.5, marks=pytest.mark.slow), 0.16])
def test_coverage_at_any_number_of_samples(q0: float) -> None:
    alpha = 0.05
    n = np.concatenate([np.arange(1, 100), np.geomspace(100, 10_000, 50).astype(int)])
    s = successes(n, q0, seed=6)
    rate = np.mean((log_e(s, n, q0) >= -math.log(alpha)).any(axis=1))
    assert 0.5 * alpha < rate < alpha
    naive = np.mean((s >= naive_claim(n, q0, alpha)).any(axis=1))
    assert naive > 5.0 * alpha  # the control
