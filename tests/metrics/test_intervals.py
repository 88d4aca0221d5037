"""Intervals of paired differences: against a slow maximisation, at their edges, and by exact coverage."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from randsmooth import metrics
from randsmooth.metrics.intervals import agresti_min, paired_mean, paired_shares, tango

Interval = Callable[[ArrayLike, ArrayLike, int, float], tuple[NDArray[np.float64], NDArray[np.float64]]]


def statistic(only_a: int, only_b: int, images: int, d: float) -> float:
    """Tango's, with the constrained maximum of the likelihood found by search."""

    def cost(p: float) -> float:
        shares = np.array([p + d, p, 1.0 - 2.0 * p - d])
        return -float(np.array([only_a, only_b, images - only_a - only_b]) @ np.log(np.maximum(shares, 1e-300)))

    p = float(optimize.minimize_scalar(cost, bounds=(max(0.0, -d), (1.0 - d) / 2.0), options={"xatol": 1e-12}).x)
    return (only_a - only_b - images * d) / float(np.sqrt(images * (2.0 * p + d - d * d)))


@pytest.mark.parametrize(("only_a", "only_b"), [(12, 5), (0, 7), (1, 1), (30, 60), (9, 0)])
@pytest.mark.parametrize("z", [1.96, 3.3])
def test_the_score_interval_ends_where_the_statistic_is_z(only_a: int, only_b: int, z: float) -> None:
    low, high = tango(only_a, only_b, 100, z)
    assert statistic(only_a, only_b, 100, float(low)) == pytest.approx(z, abs=2e-3)
    assert statistic(only_a, only_b, 100, float(high)) == pytest.approx(-z, abs=2e-3)


def test_without_a_differing_image_it_still_has_a_width() -> None:
    low, high = tango(0, 0, 100, 2.0)
    assert high == pytest.approx(4.0 / 104.0, abs=1e-9) and low == -high


def test_it_excludes_zero_where_mcnemars_statistic_is_above_z() -> None:
    a, b = np.meshgrid(np.arange(40), np.arange(40))
    low, high = tango(a, b, 200, 2.51)
    np.testing.assert_array_equal((low > 0.0) | (high < 0.0), np.abs(a - b) > 2.51 * np.sqrt(a + b))


def test_the_two_sides_mirror_each_other_and_the_first_is_that_of_one_radius() -> None:
    a, b = np.array([3, 0, 40]), np.array([9, 4, 40])
    low, high = paired_shares(a, b, 150, 2.2)
    back = paired_shares(b, a, 150, 2.2)
    np.testing.assert_allclose([low, high], [-back[1], -back[0]], atol=1e-12)
    z = float(stats.norm.ppf(0.975))
    one = metrics.fresh_difference(9, 3, 150)
    assert (one.low, one.high) == tuple(float(end) for end in agresti_min(9, 3, 150, z))


@pytest.mark.parametrize(("p_a", "p_b"), [(0.0, 0.01), (0.0, 0.03), (0.1, 0.1), (0.002, 0.002), (0.3, 0.1)])
def test_the_joint_interval_covers_where_one_of_the_two_does_not(p_a: float, p_b: float) -> None:
    z = float(stats.norm.ppf(1.0 - 0.001))  # as a critical value of many radii is
    drawn = np.random.default_rng(0).multinomial(500, [p_a, p_b, 1.0 - p_a - p_b], size=100_000)

    def missed(interval: Interval) -> float:
        low, high = interval(drawn[:, 0], drawn[:, 1], 500, z)
        return float(np.mean((low > p_a - p_b) | (high < p_a - p_b)))

    assert missed(paired_shares) < 1.5 * 0.002
    if p_a == 0.0:  # the control: each alone is too narrow on one side
        assert max(missed(tango), missed(agresti_min)) > 2.5 * 0.002


def test_the_interval_of_a_mean_is_that_of_the_score_test() -> None:
    values = np.random.default_rng(0).normal(0.1, 1.0, 200)
    z = 2.7
    low, high = paired_mean(values, z)
    extra = 0.5 * z * z * np.abs(values).max() ** 2
    for end in (low, high):
        error = np.sqrt(((values - end) ** 2).sum() + extra)
        assert abs((values - end).sum()) / error == pytest.approx(z, rel=1e-9)
    assert paired_mean(np.zeros(50), z) == (0.0, 0.0)
    assert paired_mean(np.array([1.0, 2.0]), z) == (-2.0, 2.0)  # two images bound nothing
