"""Clopper-Pearson bounds against SciPy's own and against their exact end points."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds

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
        assert bounds.lower(k, n, alpha) == pytest.approx(low, rel=0, abs=1e-12), (k, n, alpha)
        assert bounds.upper(k, n, alpha) == pytest.approx(high, rel=0, abs=1e-12), (k, n, alpha)
        assert bounds.q_upper(k, n, alpha) == pytest.approx(1.0 - low, rel=0, abs=1e-12), (k, n, alpha)


def test_end_points_are_exact() -> None:
    for n in [1, 10, 100_000, 10**9]:
        for alpha in ALPHAS:
            assert bounds.lower(0, n, alpha) == 0.0, (n, alpha)
            assert bounds.upper(n, n, alpha) == 1.0, (n, alpha)
            assert bounds.lower(n, n, alpha) == pytest.approx(alpha ** (1.0 / n), rel=1e-15), (n, alpha)
            # The tail keeps its digits where 1 - p has none left.
            assert bounds.q_upper(n, n, alpha) == pytest.approx(-math.expm1(math.log(alpha) / n), rel=1e-15), (n, alpha)


def test_bounds_broadcast_and_rise_with_the_count() -> None:
    k, n = np.arange(0, 11)[:, None], np.array([10, 20])
    low = bounds.lower(k, n, 0.05)
    assert low.shape == (11, 2)
    assert np.all(np.diff(low, axis=0) > 0) and np.all(low[:, 0] >= low[:, 1])


def test_two_sided_p_value_is_scipys() -> None:
    for k, n in [(0, 1), (1, 1), (5, 10), (6, 10), (9, 10), (40, 100), (5100, 10_000)]:
        assert bounds.two_sided_p_value(k, n) == pytest.approx(stats.binomtest(k, n, 0.5).pvalue, abs=1e-12), (k, n)


def test_smallest_n_is_the_first_that_certifies() -> None:
    for alpha in [0.9, 0.5, 0.25, 0.1, 0.05, 0.01, 0.001, 2.0**-10, 1e-9, 1e-300]:
        n = bounds.smallest_n(alpha)
        assert bounds.lower(n, n, alpha) > 0.5, alpha
        assert n == 1 or bounds.lower(n - 1, n - 1, alpha) <= 0.5, alpha


def test_counts_are_recovered_from_their_bound() -> None:
    for n, alpha in [(1, 0.05), (100, 0.001), (10_000, 0.05), (100_000, 0.001)]:
        k = np.unique(np.linspace(0, n, 2001).astype(int))
        np.testing.assert_array_equal(bounds.successes_of_q(bounds.q_upper(k, n, alpha), n, alpha), k)
