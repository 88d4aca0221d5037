"""The band of a p_A curve, by coverage."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

Make = Callable[..., Certificates]


def test_the_half_width_is_massarts() -> None:
    assert metrics.dkw(10_000) == pytest.approx(0.013581, abs=1e-6)
    with pytest.raises(InputError, match="no image"):
        metrics.dkw(0)


@pytest.mark.parametrize("images", [20, 200])
def test_the_band_covers_the_whole_curve(counted: Make, images: int) -> None:
    n = 500
    grid = np.arange(n + 1) / n
    truth = (n + 1 - np.arange(n + 1)) / (n + 1)  # p_A uniform on 0, 1/n, ..., 1
    rng = np.random.default_rng(0)
    whole = pointwise = 0
    for _ in range(400):
        table = counted(rng.integers(0, n + 1, images), n=n)
        band = metrics.p_a_band(table, grid)
        whole += bool(np.all((band.low <= truth) & (truth <= band.high)))
        low, high = metrics.wilson(np.rint(band.share * images), images)
        pointwise += bool(np.all((low <= truth) & (truth <= high)))
    assert whole / 400 >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / 400)
    assert pointwise / 400 < 0.85  # the control: intervals of single points


def test_the_band_is_the_curve_and_knows_what_it_knows(counted: Make, log: Make) -> None:
    table = counted([100, 600, 900, 1000])
    band = metrics.p_a_band(table, [0.0, 0.6, 0.95])
    assert band.share.tolist() == [1.0, 0.75, 0.25] and band.images == 4
    assert band.low.min() >= 0.0 and band.high.max() <= 1.0
    unknown = metrics.p_a_band(log([(0, 0, 0.5)], sigma=0.5, n=1000, alpha=0.001), [0.4, 0.6])
    assert np.isnan([unknown.share[0], unknown.low[0], unknown.high[0]]).all()
    assert unknown.share[1] == 1.0
