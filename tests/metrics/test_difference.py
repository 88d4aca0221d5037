"""Paired differences on tables built to have known answers, and their error rates on tables that have none."""

from collections.abc import Callable

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

Make = Callable[..., Certificates]


def test_a_known_difference_is_found_where_it_is(counted: Make) -> None:
    # 40 of 100 images are at p_A = 0.8 in one table and at 0.6 in the other; the rest agree.
    first, second = counted([800] * 40 + [300] * 60), counted([600] * 40 + [300] * 60)
    curve = metrics.curve_difference(first, second)
    between = (curve.x > 0.6) & (curve.x <= 0.8)
    np.testing.assert_allclose(curve.difference, np.where(between, 0.4, 0.0), atol=1e-15)
    np.testing.assert_array_equal(curve.above, between)
    assert not curve.below.any()
    back = metrics.curve_difference(second, first)
    np.testing.assert_array_equal(back.below, between)


def test_the_grid_meets_counts_exactly(counted: Make) -> None:
    # 0.57 and 0.58 are not multiples of 0.01 in floating point; an image of exactly that p_A must reach them.
    hits = np.arange(10, 1000, 10)
    curve = metrics.curve_difference(counted(hits), counted(np.zeros_like(hits)))
    np.testing.assert_allclose(curve.difference, np.arange(99, 0, -1) / 99, atol=1e-12)


def test_equal_tables_differ_nowhere(counted: Make) -> None:
    curve = metrics.curve_difference(counted([900, 200]), counted([900, 200]))
    assert curve.band == 0.0
    assert not curve.above.any() and not curve.below.any()


def test_the_band_holds_for_models_that_do_not_differ(counted: Make) -> None:
    rng = np.random.default_rng(0)
    false = 0
    for seed in range(60):
        hits = rng.binomial(200, rng.beta(2, 1, size=(2, 150)))
        tables = [counted(row, n=200) for row in hits]
        curve = metrics.curve_difference(*tables, points=19, resamples=300, seed=seed)
        false += bool(curve.above.any() or curve.below.any())
    assert false / 60 <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 60)


def test_acr_difference_is_the_difference_of_the_acrs(counted: Make) -> None:
    rng = np.random.default_rng(1)
    first, second = (counted(rng.integers(0, 1001, 200)) for _ in range(2))
    gap = metrics.acr_difference(first, second)
    assert gap.value == pytest.approx(metrics.acr(first).value - metrics.acr(second).value, abs=1e-12)
    assert gap.low < gap.value < gap.high


def test_acr_difference_is_paired(counted: Make) -> None:
    hits = np.random.default_rng(2).integers(500, 1000, 200)
    gap = metrics.acr_difference(counted(hits + 1), counted(hits))
    alone = metrics.acr(counted(hits))
    assert gap.low > 0.0  # a small gain on every image shows, though each ACR alone is far less certain
    assert gap.high - gap.low < (alone.high - alone.low) / 10


def test_a_wrong_image_counts_nothing_in_the_difference(log: Make) -> None:
    gap = metrics.acr_difference(log([(0, 0, 1.0), (1, 0, 9.0)]), log([(0, 0, 0.5), (1, -1, 0.0)]))
    assert gap.value == 0.25


@pytest.mark.parametrize("compare", [metrics.curve_difference, metrics.acr_difference])
@pytest.mark.parametrize("other", [[(0, 0, 1.0)], [(0, 0, 1.0), (0, 0, 1.0)]])
def test_other_images_are_refused(
    log: Make, compare: Callable[[Certificates, Certificates], object], other: list[tuple[int, int, float]]
) -> None:
    table = log([(0, 0, 1.0), (1, 1, 1.0)], name="A", sigma=0.5, n=1000, alpha=0.001)
    with pytest.raises(InputError, match=r"A \(2 images\) and B \(\d images\) are not about the same images"):
        compare(table, log(other, name="B", sigma=0.5, n=1000, alpha=0.001))
