"""Radii at other numbers of samples, against SciPy and by trying."""

import math

import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds
from randsmooth.explanation import enough_samples, radius_by_samples
from randsmooth.explanation.growth import limit


@pytest.mark.parametrize(("k", "n"), [(990, 1000), (600, 1000), (1000, 1000), (501, 1000)])
def test_radii_are_those_of_the_binomial_bound_of_the_same_share(k: int, n: int) -> None:
    budgets = [100, 1000, 12_345]
    got = radius_by_samples(k, n, budgets, alpha=0.001, sigma=0.25)
    for radius, b in zip(got, budgets, strict=True):
        s = k * b // n
        lower = stats.beta.ppf(0.001, s, b - s + 1)
        assert radius == pytest.approx(max(0.0, 0.25 * stats.norm.ppf(lower)), abs=1e-9)


def test_the_limit_is_approached_from_below_and_never_reached() -> None:
    end = limit(990, 1000, 0.5)
    radii = radius_by_samples(990, 1000, [10**i for i in range(2, 9)], alpha=0.001, sigma=0.5)
    assert np.all(np.diff(radii) > 0) and radii[-1] < end < radii[-1] + 0.001
    assert end == pytest.approx(0.5 * stats.norm.ppf(0.99))
    assert math.isinf(limit(7, 7, 0.5)) and limit(4, 10, 0.5) == 0.0


@pytest.mark.parametrize(("k", "n"), [(520, 1000), (5010, 10_000), (9, 10), (999, 1000)])
def test_enough_samples_certify_and_a_tenth_fewer_mostly_do_not(k: int, n: int) -> None:
    enough = enough_samples(k, n, 0.001)
    assert enough is not None

    def certifies(b: int) -> bool:
        return float(bounds.lower_tail(k * b // n, b, 0.001)) < 0.5

    assert certifies(enough)
    assert not certifies(int(0.85 * enough))
    assert enough_samples(n // 2, n, 0.001) is None
