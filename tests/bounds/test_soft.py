"""Hoeffding's and Bernstein's bounds: re-derivation, order among the bounds, coverage, and rules that must fail."""

import math

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

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
    expected = x.mean() - math.sqrt(2.0 * x.var(ddof=1) * log / 500) - 7.0 * log / (3.0 * 499)
    mean, variance, n = moments(x[None])
    assert bernstein_lower(mean, variance, n, 0.001) == pytest.approx(expected, abs=1e-12)


def test_sample_variance_is_numpys_and_never_negative() -> None:
    x = np.random.default_rng(2).uniform(size=(50, 30))
    np.testing.assert_allclose(moments(x)[1], x.var(axis=1, ddof=1), rtol=1e-10)
    assert np.all(moments(np.full((5, 7), 0.1))[1] >= 0.0)


def test_bounds_fail_no_more_often_than_alpha() -> None:
    for n in [10, 200]:
        for shape in [(0.5, 0.5), (5.0, 1.0), (20.0, 0.2), (0.05, 0.05), (1.0, 9.0)]:
            mean, variance, _ = moments(np.random.default_rng(3).beta(*shape, (PATHS, n)))
            z = shape[0] / sum(shape)
            assert np.mean(hoeffding_lower(mean, n, ALPHA) > z) <= ALLOWED, (n, shape)
            assert np.mean(bernstein_lower(mean, variance, n, ALPHA) > z) <= ALLOWED, (n, shape)


def test_bounds_of_counts_fail_no_more_often_than_alpha() -> None:
    for p in [0.5, 0.9, 0.99, 0.999]:
        mean, variance = hard_moments(np.random.default_rng(4).binomial(100, p, PATHS), 100)
        wrong = np.mean(hoeffding_lower(mean, 100, ALPHA) > p)
        assert ALPHA / 10.0 * (p == 0.5) <= wrong <= ALLOWED, p  # at 1/2 it is near its worst case
        assert np.mean(bernstein_lower(mean, variance, 100, ALPHA) > p) <= ALLOWED, p


def test_control_the_normal_interval_fails_too_often_near_one() -> None:
    # Without the term in 1 / (n - 1) a run of ones has variance 0 and "certifies" p = 1.
    k = np.random.default_rng(7).binomial(100, 0.99, PATHS)
    mean, variance = hard_moments(k, 100)
    assert np.mean(mean - 1.645 * np.sqrt(variance / 100) > 0.99) > 5.0 * ALLOWED
    assert np.mean(mean - np.sqrt(2.0 * variance * math.log(2.0 / ALPHA) / 100) > 0.99) > 5.0 * ALLOWED
