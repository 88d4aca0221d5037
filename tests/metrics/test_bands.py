"""The band of a p_A curve by coverage, and verdicts on tables whose curves are known to cross, or not to."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates, read
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


def test_one_table_ahead_nowhere_behind(counted: Make) -> None:
    a, b = counted([800] * 40 + [300] * 60, name="A"), counted([600] * 40 + [300] * 60, name="B")
    assert metrics.verdict(a, b).outcome == str(metrics.verdict(a, b)) == metrics.BETTER
    assert metrics.verdict(b, a).outcome == metrics.WORSE
    assert metrics.verdict(a, a).outcome == metrics.NO_DIFFERENCE
    assert (metrics.verdict(a, b).p_a, metrics.verdict(a, b).overtaker) == (None, None)


def test_a_known_crossing_is_found_and_named(counted: Make) -> None:
    # From 0.301 to 0.6 all 100 images of A are ahead of half of B's; from 0.601 to 0.9 that half is ahead of none.
    a, b = counted([600] * 100, name="A"), counted([300, 900] * 50, name="B")
    for first, second in ((a, b), (b, a)):
        found = metrics.verdict(first, second)
        assert found.outcome == metrics.CROSSES and found.overtaker == "B"
        assert found.p_a is not None and found.radius is not None
        assert found.p_a.value == found.p_a.low == found.p_a.high == 0.601
        assert found.radius.value == pytest.approx(
            float(bounds.radius_of_tail(bounds.lower_tail(601, 1000, 0.001), 0.5))
        )
        assert str(found) == f"crosses at r = {bounds.round_down(found.radius.value, 3)}"


def test_the_interval_of_the_crossing_covers(counted: Make) -> None:
    rng = np.random.default_rng(1)
    held, runs = 0, 60
    for seed in range(runs):
        # both symmetric about 1/2, where the narrower curve loses its lead
        a = counted(np.rint(1000 * rng.beta(4, 4, 1000)).astype(int))
        b = counted(np.rint(1000 * rng.beta(1, 1, 1000)).astype(int))
        found = metrics.verdict(a, b, resamples=200, seed=seed)
        assert found.p_a is not None
        held += found.p_a.low <= 0.501 and found.p_a.high >= 0.5
        assert found.p_a.high - found.p_a.low < 0.15
    assert held / runs >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / runs)


def test_tables_that_do_not_differ_are_not_told_apart(counted: Make) -> None:
    rng = np.random.default_rng(2)
    outcomes = []
    for seed in range(60):
        hits = rng.binomial(200, rng.beta(2, 1, size=(2, 150)))
        outcomes.append(metrics.verdict(*(counted(row, n=200) for row in hits), resamples=300, seed=seed).outcome)
    assert outcomes.count(metrics.NO_DIFFERENCE) / 60 >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / 60)


def test_a_radius_needs_equal_settings(counted: Make) -> None:
    a, b = counted([600] * 100, name="A"), counted([300, 900] * 50, name="B")
    other = replace(b, header=b.header.model_copy(update={"alpha": 0.01}))
    found = metrics.verdict(a, other)
    assert found.p_a is not None and found.radius is None
    assert str(found) == "crosses at p_A = 0.601"


def test_other_images_are_refused(counted: Make) -> None:
    with pytest.raises(InputError, match="not about the same images"):
        metrics.verdict(counted([900]), counted([900, 800]))


def test_ours_overtakes_gaussian_between_77_and_78_percent(logs: Path) -> None:
    gaussian, ours = (
        read(logs / f"{name}.tsv").assuming(sigma=0.5, n=100_000, alpha=0.001) for name in ("gaussian", "ours")
    )
    found = metrics.verdict(gaussian, ours, resamples=200)
    assert (found.outcome, found.overtaker) == (metrics.CROSSES, "ours")
    assert found.p_a is not None and found.radius is not None
    assert 0.77 < found.p_a.value <= 0.78
    assert 0.74 < found.p_a.low < found.p_a.value < found.p_a.high < 0.81
    assert 0.36 < found.radius.value < 0.39
    accuracy = [metrics.certified_accuracy(table, found.radius.value).value for table in (gaussian, ours)]
    assert accuracy[0] == pytest.approx(accuracy[1], abs=0.002)  # certified accuracies cross at that radius too
