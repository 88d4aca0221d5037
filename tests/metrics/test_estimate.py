"""Intervals: Wilson's against the closed formula and by coverage, a mean's against that of many images."""

import math

import numpy as np
import pytest
from scipy import stats

from randsmooth import metrics
from randsmooth.errors import InputError

Z = stats.norm.ppf(0.975)


def closed_wilson(k: int, n: int) -> tuple[float, float]:
    """The roots of (p - k/n)^2 = z^2 p (1 - p) / n."""
    a, b, c = 1.0 + Z**2 / n, -2.0 * k / n - Z**2 / n, (k / n) ** 2
    root = math.sqrt(max(0.0, b * b - 4.0 * a * c))
    return max(0.0, (-b - root) / (2.0 * a)), min(1.0, (-b + root) / (2.0 * a))


def test_share_and_wilson_are_the_closed_formula() -> None:
    for k, n in [(0, 1), (1, 1), (0, 50), (50, 50), (1, 50), (17, 50), (6875, 10_000)]:
        estimate = metrics.share(np.arange(n) < k)
        low, high = metrics.wilson(k, n)
        assert (estimate.value, estimate.images) == (k / n, n), (k, n)
        assert (estimate.low, estimate.high) == pytest.approx(closed_wilson(k, n), abs=1e-12), (k, n)
        assert (float(low), float(high)) == pytest.approx(closed_wilson(k, n), abs=1e-12), (k, n)


def test_wilson_of_many_is_wilson_of_each() -> None:
    low, high = metrics.wilson(np.arange(11), 10)
    assert low.shape == high.shape == (11,)
    assert low[3] == metrics.wilson(3, 10)[0] and high[7] == metrics.wilson(7, 10)[1]


def test_wilson_covers_the_truth() -> None:
    hits = np.random.default_rng(0).binomial(200, 0.3, size=20_000)
    low, high = metrics.wilson(hits, 200)
    assert np.mean((low <= 0.3) & (high >= 0.3)) == pytest.approx(0.95, abs=0.02)


def test_of_many_images_it_is_nearly_the_normal_interval() -> None:
    values = np.random.default_rng(1).exponential(size=4000)
    estimate = metrics.mean(values, (0.0, 20.0))
    error = values.std() / math.sqrt(len(values))
    assert estimate.value == pytest.approx(values.mean(), abs=1e-15)
    assert estimate.low == pytest.approx(values.mean() - Z * error, abs=0.15 * error)
    assert estimate.high == pytest.approx(values.mean() + Z * error, abs=0.15 * error)


def test_it_narrows_with_images_and_with_the_bounds() -> None:
    values = np.random.default_rng(2).uniform(size=400)
    few, many, wide = (metrics.mean(*of) for of in ((values[:30], (0, 1)), (values, (0, 1)), (values[:30], (-5, 5))))
    assert many.high - many.low < few.high - few.low < wide.high - wide.low


def test_values_outside_their_bounds_are_refused() -> None:
    for bounds in ((0.0, 0.5), (0.5, 1.0)):
        with pytest.raises(InputError, match="must lie between the bounds"):
            metrics.mean([0.2, 0.7], bounds)
    with pytest.raises(InputError, match="no image"):
        metrics.mean([], (0.0, 1.0))
