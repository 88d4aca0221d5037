"""Randomised Clopper-Pearson: its level is alpha exactly, and it never leaves the plain bounds on either side."""

import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds
from randsmooth.bounds.binomial import CAP
from randsmooth.noise import Gaussian

U = (np.arange(1000) + 0.5) / 1000


def test_the_level_is_alpha_exactly() -> None:
    """Summed over all counts, the share of (k, u) that claim less than the true q0 is alpha."""
    for n, alpha, q0 in [(100, 0.05, 0.4), (100, 0.05, 0.2), (300, 0.001, 0.3)]:
        edge = int(stats.binom.isf(alpha, n, 1 - q0)) + np.arange(-2, 4)  # below it none claims, above it all do
        wrong = np.mean(bounds.randomised_q_upper(edge[:, None], n, alpha, U) < q0, axis=1)
        assert (wrong[0], wrong[-1]) == (0.0, 1.0), (n, alpha, q0)
        level = wrong @ stats.binom.pmf(edge, n, 1 - q0) + stats.binom.sf(edge[-1], n, 1 - q0)
        assert level == pytest.approx(alpha, abs=stats.binom.pmf(edge[0], n, 1 - q0) / len(U)), (n, alpha, q0)
        k = np.arange(n + 1)
        plain = (bounds.q_upper(k, n, alpha) < q0) @ stats.binom.pmf(k, n, 1 - q0)
        assert plain < 0.99 * alpha, (n, alpha, q0)  # which the plain bound falls short of


def test_given_the_uniform_number_the_level_is_another() -> None:
    """The bound of a count k at a tiny u fails where k or more come out: at n of n, ten times as often as alpha."""
    n, alpha = 100_000, 0.001
    k = np.arange(n - 20, n + 1)
    q = bounds.randomised_q_upper(k, n, alpha, 1e-9)
    assert 10.1 < stats.binom.sf(k - 1, n, 1 - q).max() / alpha < 10.2


def test_it_lies_between_the_bounds_of_k_and_one_more() -> None:
    for k in [20, 57, 80]:
        q = bounds.randomised_q_upper(k, 100, 0.01, np.array([1e-9, 0.3, 0.7, 1 - 1e-9]))
        assert np.all(np.diff(q) > 0), k
        assert 1 - q[-1] == pytest.approx(stats.beta.ppf(0.01, k, 101 - k), abs=1e-8), k
        assert 1 - q[0] == pytest.approx(stats.beta.ppf(0.01, k + 1, 100 - k), abs=1e-7), k


def test_the_gain_is_capped() -> None:
    plain = Gaussian(0.5).radius(bounds.q_upper(100, 100, 0.01))
    lucky = Gaussian(0.5).radius(bounds.randomised_q_upper(100, 100, 0.01, 1e-12))
    assert lucky == pytest.approx(plain + CAP * 0.5, abs=1e-9)
