"""Certified radii against SciPy's normal distribution."""

import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds

SIGMAS = [0.12, 0.25, 0.5, 1.0]


@pytest.mark.parametrize("sigma", SIGMAS)
def test_radius_is_sigma_times_the_normal_quantile(sigma: float) -> None:
    p = np.array([0.5, 0.500001, 0.6, 0.9, 0.99, 0.9999])
    np.testing.assert_allclose(bounds.radius(p, sigma), sigma * stats.norm.ppf(p), rtol=0, atol=1e-12)
    q = np.array([0.5, 0.4, 0.1, 1e-5, 1e-30, 1e-300])
    np.testing.assert_allclose(bounds.radius_of_tail(q, sigma), sigma * stats.norm.isf(q), rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.499, 0.5])
def test_no_radius_without_a_majority(p: float) -> None:
    assert bounds.radius(p, 1.0) == 0.0
    assert bounds.radius_of_tail(1.0 - p, 1.0) == 0.0


@pytest.mark.parametrize("sigma", SIGMAS)
def test_a_radius_gives_its_tail_back(sigma: float) -> None:
    q = np.array([0.49, 0.1, 1e-5, 1e-12])
    np.testing.assert_allclose(bounds.tail_of_radius(bounds.radius_of_tail(q, sigma), sigma), q, rtol=1e-12)


@pytest.mark.parametrize("sigma", SIGMAS)
def test_largest_radius_of_the_published_budget(sigma: float) -> None:
    largest = bounds.largest_radius(100_000, 0.001, sigma)
    assert largest == pytest.approx(3.8115 * sigma, abs=5e-5)
    assert largest == bounds.radius_of_tail(bounds.q_upper(100_000, 100_000, 0.001), sigma)
