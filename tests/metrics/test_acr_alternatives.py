"""The area against its integral, the quantiles against sorting, their intervals by coverage."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

Make = Callable[..., Certificates]

ROWS = [(0, 0, 0.5), (0, -1, 0.0), (1, 1, 1.25), (1, 0, 0.75), (2, 2, 0.0), (2, 2, 0.5), (0, 0, 0.25), (1, -1, 0.0)]


@pytest.mark.parametrize("up_to", [0.1, 0.25, 0.4, 1.0, 1.25, 3.0])
def test_the_area_is_the_integral_of_certified_accuracy(log: Make, up_to: float) -> None:
    table = log(ROWS)
    radii, shares = metrics.accuracy_curve(table)
    integral = np.diff(np.minimum(radii, up_to)) @ shares[1:]
    estimate = metrics.accuracy_area(table, up_to)
    assert estimate.value == pytest.approx(float(integral), abs=1e-15)
    assert estimate.low <= estimate.value <= estimate.high


def test_far_enough_it_is_acr_and_near_it_ignores_radius(log: Make) -> None:
    table = log(ROWS)
    assert metrics.accuracy_area(table, 1.25) == metrics.acr(table)
    farther = log([(label, predict, 2.0 * radius) for label, predict, radius in ROWS])
    assert metrics.accuracy_area(farther, 0.25).value == metrics.accuracy_area(table, 0.25).value


@pytest.mark.parametrize("up_to", [0.0, -1.0, math.nan, math.inf])
def test_an_area_needs_an_end(log: Make, up_to: float) -> None:
    with pytest.raises(InputError, match=r"up_to=0|radius"):
        metrics.accuracy_area(log(ROWS), up_to)


@pytest.mark.parametrize("images", [1, 9, 10, 100])
def test_quantiles_are_order_statistics(counted: Make, images: int) -> None:
    hits = np.random.default_rng(images).integers(0, 1001, images)
    q = (0.01, 0.07, 0.1, 0.5, 0.9, 0.99)
    found = metrics.p_a_quantiles(counted(hits), q)
    for share in q:
        rank = math.ceil(Fraction(str(share)) * images)  # NumPy's inverted_cdf takes the 8th of 100 for 0.07
        assert found[share].value == np.sort(hits)[rank - 1] / 1000
        assert found[share].low <= found[share].value <= found[share].high
        assert found[share].images == images


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("images", [20, 150])
def test_the_interval_covers_and_one_narrower_would_not(counted: Make, images: int, q: float) -> None:
    truth = q  # of p_A uniform on (0, 1), to the 1e-6 of n
    n = 1_000_000
    rng = np.random.default_rng(0)
    estimates = [metrics.p_a_quantiles(counted(rng.integers(0, n, images), n=n), [q])[q] for _ in range(400)]
    held = np.mean([e.low <= truth <= e.high for e in estimates])
    assert held >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / 400)
    inside = np.mean([e.low + (e.high - e.low) / 4 <= truth <= e.high - (e.high - e.low) / 4 for e in estimates])
    assert inside < 0.85


def test_a_log_tells_upper_quantiles_only(log: Make, counted: Make) -> None:
    whole = counted([900] * 50 + [100] * 40)
    rows = [(0, 0, float(whole.radius[0]))] * 50 + [(0, 1, 0.5)] * 40
    table = log(rows, sigma=0.5, n=1000, alpha=0.001)
    found = metrics.p_a_quantiles(table, [0.2, 0.5, 0.9])
    assert np.isnan([found[0.2].value, found[0.2].low, found[0.2].high]).all()
    assert (found[0.5].value, found[0.5].high) == (0.9, 0.9) and np.isnan(found[0.5].low)
    assert (found[0.9].value, found[0.9].low, found[0.9].high) == (0.9, 0.9, 0.9)


@pytest.mark.parametrize("q", [0.0, 1.0, -0.1, math.nan])
def test_a_share_must_make_sense(counted: Make, q: float) -> None:
    with pytest.raises(InputError, match=f"q={q}"):
        metrics.p_a_quantiles(counted([900]), [q])
