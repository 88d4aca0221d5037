"""McNemar's exact test and Holm's correction against statsmodels, and two intervals by coverage."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

Make = Callable[..., Certificates]
PAIRS = [(0, 0), (1, 0), (0, 5), (5, 0), (6, 0), (3, 3), (10, 4), (30, 12), (249, 1684), (800, 801)]


@pytest.mark.parametrize(("only_a", "only_b"), PAIRS)
def test_mcnemar_is_that_of_statsmodels_and_scipy(only_a: int, only_b: int) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    p = metrics.mcnemar(only_a, only_b)
    if only_a + only_b:
        assert p == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue, rel=1e-9)
        assert p == pytest.approx(tables.mcnemar([[9, only_a], [only_b, 9]], exact=True).pvalue, rel=1e-9)
    else:
        assert p == 1.0
    assert p == metrics.mcnemar(only_b, only_a)


@pytest.mark.parametrize(("only_a", "only_b"), PAIRS[1:])
def test_the_conditional_interval_is_clopper_pearson_of_the_share(only_a: int, only_b: int) -> None:
    pairs, images = only_a + only_b, 2000
    interval = stats.binomtest(only_a, pairs).proportion_ci(0.95, method="exact")
    estimate = metrics.conditional_difference(only_a, only_b, images)
    assert estimate.value == (only_a - only_b) / images
    assert estimate.low == pytest.approx((2.0 * interval.low - 1.0) * pairs / images, abs=1e-9)
    assert estimate.high == pytest.approx((2.0 * interval.high - 1.0) * pairs / images, abs=1e-9)


def test_test_and_conditional_interval_agree() -> None:
    for only_a in range(30):
        for only_b in range(30):
            estimate = metrics.conditional_difference(only_a, only_b, 100)
            assert (metrics.mcnemar(only_a, only_b) < 0.05) == (not estimate.low <= 0.0 <= estimate.high)


@pytest.mark.parametrize("theta", [0.03, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("pairs", [5, 40, 300])
def test_the_conditional_interval_covers_given_the_pairs(pairs: int, theta: float) -> None:
    k = np.arange(pairs + 1)
    truth = (2.0 * theta - 1.0) * pairs / 1000
    estimates = [metrics.conditional_difference(int(a), int(pairs - a), 1000) for a in k]
    held = np.array([e.low <= truth <= e.high for e in estimates])
    assert stats.binom.pmf(k, pairs, theta) @ held >= 0.95


@pytest.mark.parametrize(("images", "p_a", "p_b"), [(60, 0.1, 0.1), (60, 0.3, 0.05), (200, 0.2, 0.02)])
def test_the_interval_for_fresh_images_covers(images: int, p_a: float, p_b: float) -> None:
    drawn = np.random.default_rng(0).multinomial(images, [p_a, p_b, 1.0 - p_a - p_b], size=2000).tolist()

    def coverage(interval: Callable[[int, int, int], metrics.Estimate]) -> float:
        estimates = [interval(a, b, images) for a, b, _ in drawn]
        return sum(e.low <= p_a - p_b <= e.high for e in estimates) / len(estimates)

    assert coverage(metrics.fresh_difference) >= 0.95 - 0.015
    if p_a != p_b:  # the control: given the pairs is not for fresh images
        assert coverage(metrics.conditional_difference) < 0.9


@pytest.mark.parametrize("p", [[0.01], [0.04, 0.01, 0.03], [0.5, 0.5, 0.9], [0.001, 0.2, 0.001, 1.0, 0.0], []])
def test_holm_is_that_of_statsmodels(p: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    expected = multitest.multipletests(p, method="holm")[1] if p else []
    np.testing.assert_allclose(metrics.holm(p), expected, rtol=1e-12)


def test_radii_are_tested_together(log: Make) -> None:
    a = log([(0, 0, 1.0)] * 12 + [(0, 0, 0.3)] * 8)
    b = log([(0, 0, 0.5)] * 12 + [(0, 1, 0.9)] * 8)
    at = metrics.paired_accuracy(a, b, [0.0, 0.4, 0.75])
    assert [(d.only_a, d.only_b) for d in at] == [(8, 0), (0, 0), (12, 0)]
    assert [d.p_value for d in at] == pytest.approx([2 * 0.5**8, 1.0, 2 * 0.5**12])
    assert [d.holm for d in at] == pytest.approx([4 * 0.5**8, 1.0, 6 * 0.5**12])
    for d, r in zip(at, [0.0, 0.4, 0.75], strict=True):
        gap = metrics.certified_accuracy(a, r).value - metrics.certified_accuracy(b, r).value
        assert d.difference.value == d.conditional.value == pytest.approx(gap, abs=1e-15)
        assert d.difference.images == 20 and d.r == r


def test_holm_keeps_the_error_over_all_radii(log: Make) -> None:
    rng = np.random.default_rng(2)
    radii = [0.0, 0.25, 0.5, 0.75, 1.0]
    false = alone = 0
    for _ in range(300):
        a, b = (log([(0, 0, r) for r in rng.uniform(0.0, 1.2, 60)]) for _ in range(2))
        at = metrics.paired_accuracy(a, b, radii)
        false += min(d.holm for d in at) < 0.05
        alone += min(d.p_value for d in at) < 0.05
    assert false / 300 <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 300)
    assert alone > 2 * false  # the control: without the correction


def test_what_makes_no_sense_is_refused(log: Make) -> None:
    a, b = log([(0, 0, 1.0)]), log([(0, 0, 1.0), (0, 0, 1.0)])
    with pytest.raises(InputError, match="not about the same images"):
        metrics.paired_accuracy(a, b, [0.0])
    with pytest.raises(InputError, match="no image"):
        metrics.paired_accuracy(log([]), log([]), [0.0])
    with pytest.raises(InputError, match="radius -1"):
        metrics.paired_accuracy(a, a, [-1.0])
    with pytest.raises(InputError, match="never below 0"):
        metrics.mcnemar(-1, 2)
    with pytest.raises(InputError, match="more than the 3 images"):
        metrics.conditional_difference(2, 2, 3)
    with pytest.raises(InputError, match="p-values"):
        metrics.holm([0.5, np.nan])
