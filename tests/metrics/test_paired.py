"""Tables over the same images: which rows are paired, and exact tests and intervals of differences."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from metrics.conftest import Make
from models.refusing import refusal
from randsmooth import metrics
from randsmooth.certificates import Certificates

PAIRS = [(0, 0), (1, 0), (0, 5), (5, 0), (6, 0), (3, 3), (10, 4), (30, 12), (249, 1684), (800, 801)]


def indexed(table: Certificates, idx: list[int]) -> Certificates:
    return replace(table, idx=np.array(idx))


def test_shared_images_stay_in_the_order_of_the_first_with_all_their_columns(counted: Make, log: Make) -> None:
    a = indexed(counted([900, 800, 700, 600]), [7, 3, 9, 1])
    b = replace(indexed(counted([510, 520, 530, 540]), [1, 9, 5, 7]), seconds=np.arange(4.0))
    first, second = metrics.pair(a, b)
    assert first.idx.tolist() == second.idx.tolist() == [7, 9, 1]
    assert first.paths is not None and [path.tolist() for path in first.paths] == [[900], [700], [600]]
    for column in ("predict", "radius", "seconds", "counts0", "counts"):
        np.testing.assert_array_equal(getattr(second, column), getattr(b, column)[[3, 1, 0]])
    every, some = log([(0, 0, 1.0), (1, 1, 2.0), (2, 2, 3.0)]), indexed(log([(2, 2, 1.0), (0, 0, 0.5)]), [2, 0])
    assert metrics.acr_difference(*metrics.pair(every, some)).value == (0.5 + 2.0) / 2


def test_what_cannot_be_paired_is_refused(log: Make, counted: Make) -> None:
    twice, good = indexed(log([(0, 0, 1.0)] * 3, name="T"), [4, 8, 8]), indexed(log([(0, 0, 1.0)] * 3), [4, 8, 9])
    a, b = log([(0, 0, 1.0), (1, 1, 1.0)], name="A"), log([(0, 0, 1.0), (2, 2, 1.0)], name="B")
    for tables in ((twice, good), (good, twice)):
        assert "image 8 occurs 2 times in T" in refusal(partial(metrics.pair, *tables))
    assert "A (2 images) and B (2 images) share no image" in refusal(lambda: metrics.pair(a, indexed(b, [5, 6])))
    assert "image 1 has label 1 in A and 2 in B" in refusal(lambda: metrics.pair(a, b))
    for compare in (metrics.verdict, metrics.acr_difference):
        for other in (b, counted([900], name="B")):
            said = refusal(partial(compare, a, other))
            assert "A (2 images) and B (" in said and "not about the same images" in said
    assert "no image" in refusal(lambda: metrics.verdict(log([]), log([])))
    assert "radius -1" in refusal(lambda: metrics.compare([(a, a)], [-1.0]))
    assert "only_a=-1" in refusal(lambda: metrics.mcnemar(-1, 2))
    assert "the 3 images" in refusal(lambda: metrics.fresh_difference(2, 2, 3))


def test_the_difference_of_acrs_is_paired(counted: Make, log: Make) -> None:
    rng = np.random.default_rng(1)
    first, second = (counted(rng.integers(0, 1001, 200)) for _ in range(2))
    gap = metrics.acr_difference(first, second)
    assert gap.value == pytest.approx(metrics.acr(first).value - metrics.acr(second).value, abs=1e-12)
    hits = rng.integers(500, 1000, 200)
    gap, alone = metrics.acr_difference(counted(hits + 1), counted(hits)), metrics.acr(counted(hits))
    assert gap.low > 0.0  # a small gain on every image shows, though each ACR alone is far less certain
    assert gap.high - gap.low < (alone.high - alone.low) / 10
    wrong = metrics.acr_difference(log([(0, 0, 1.0), (1, 0, 9.0)]), log([(0, 0, 0.5), (1, -1, 0.0)]))
    assert wrong.value == 0.25


def test_mcnemars_test_is_that_of_statsmodels_and_scipy() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    for a, b in PAIRS:
        p = metrics.mcnemar(a, b)
        assert p == metrics.mcnemar(b, a) and (a + b or p == 1.0)
        assert p == pytest.approx(tables.mcnemar([[9, a], [b, 9]], exact=True).pvalue if a + b else 1.0, rel=1e-9)
        assert p == pytest.approx(stats.binomtest(a, a + b).pvalue if a + b else 1.0, rel=1e-9), (a, b)
