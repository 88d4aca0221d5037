"""Clopper-Pearson bounds against SciPy's own and against their exact end points."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds
from randsmooth.errors import InputError
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
        assert bounds.lower(k, n, alpha) == pytest.approx(low, rel=0, abs=1e-12), (k, n, alpha)
        assert bounds.upper(k, n, alpha) == pytest.approx(high, rel=0, abs=1e-12), (k, n, alpha)
        assert bounds.q_upper(k, n, alpha) == pytest.approx(1.0 - low, rel=0, abs=1e-12), (k, n, alpha)


def test_bounds_are_scipys_exact_interval_at_twice_alpha() -> None:
    for k, n, alpha in [case for case in GRID if case[2] < 0.5]:
        interval = stats.binomtest(k, n).proportion_ci(1.0 - 2.0 * alpha, method="exact")
        assert bounds.lower(k, n, alpha) == pytest.approx(interval.low, rel=0, abs=1e-12), (k, n, alpha)
        assert bounds.upper(k, n, alpha) == pytest.approx(interval.high, rel=0, abs=1e-12), (k, n, alpha)


def test_end_points_are_exact() -> None:
    for n in [1, 10, 100_000, 10**9]:
        for alpha in ALPHAS:
            assert bounds.lower(0, n, alpha) == 0.0, (n, alpha)
            assert bounds.upper(n, n, alpha) == 1.0, (n, alpha)
            assert bounds.lower(n, n, alpha) == pytest.approx(alpha ** (1.0 / n), rel=1e-15), (n, alpha)
            # The tail keeps its digits where 1 - p has none left.
            assert bounds.q_upper(n, n, alpha) == pytest.approx(-math.expm1(math.log(alpha) / n), rel=1e-15), (n, alpha)


def test_lower_and_upper_mirror_each_other() -> None:
    k = np.arange(0, 1001)
    np.testing.assert_array_equal(bounds.lower(k, 1000, 0.01), 1.0 - bounds.upper(1000 - k, 1000, 0.01))


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


def test_smallest_n_at_the_usual_alpha() -> None:
    assert bounds.smallest_n(0.001) == 10


def test_counts_are_recovered_from_their_bound() -> None:
    for n, alpha in [(1, 0.05), (100, 0.001), (10_000, 0.05), (100_000, 0.001)]:
        k = np.unique(np.linspace(0, n, 2001).astype(int))
        np.testing.assert_array_equal(bounds.successes_of_q(bounds.q_upper(k, n, alpha), n, alpha), k)


def test_recovered_counts_keep_their_shape_and_order() -> None:
    k = np.array([[70, 100, 70], [51, 99, 100]])
    np.testing.assert_array_equal(bounds.successes_of_q(bounds.q_upper(k, 100, 0.01), 100, 0.01), k)
    assert bounds.successes_of_q(bounds.q_upper(70, 100, 0.01), 100, 0.01) == 70


def test_bad_input_is_named() -> None:
    for call, named in [
        (lambda: bounds.lower(1, 2, 0.0), "alpha=0.0"),
        (lambda: bounds.lower(1, 2, 1.0), "alpha=1.0"),
        (lambda: bounds.lower(1, 2, math.nan), "alpha=nan"),
        (lambda: bounds.lower(3, 2, 0.1), "k=3 of n=2"),
        (lambda: bounds.upper(-1, 2, 0.1), "k=-1 of n=2"),
        (lambda: bounds.lower(0, 0, 0.1), "n=0"),
        (lambda: bounds.two_sided_p_value(5, 4), "k=5"),
        (lambda: bounds.smallest_n(2.0), "alpha=2.0"),
        (lambda: Gaussian(0.0).radius(1.0 - 0.9), "sigma=0.0"),
        (lambda: Gaussian(-1.0).radius(1.0 - 0.9), "sigma=-1.0"),
        (lambda: Gaussian(math.nan).radius(0.1), "sigma=nan"),
        (lambda: Gaussian(math.inf).tail(0.1), "sigma=inf"),
    ]:
        with pytest.raises(InputError, match=named):
            call()  # type: ignore[no-untyped-call]
