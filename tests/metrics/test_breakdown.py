"""Which images changed hands, and the parts of an ACR: by hand, in sum, and on the released logs."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from metrics.conftest import Make
from models.refusing import refusal
from randsmooth import metrics
from randsmooth.certificates import read

METHOD = [(0, 0, 0.9), (0, -1, 0.0), (1, 0, 0.7), (1, 1, 0.2), (1, 1, 1.0), (2, 2, 0.5)]
REFERENCE = [(0, 0, 0.5), (0, 0, 0.5), (1, 1, 0.1), (1, 1, 0.5), (1, -1, 0.0), (2, 2, 0.5)]


def test_who_was_given_up_by_hand(log: Make) -> None:
    method, reference = (replace(log(rows), idx=np.arange(10, 16)) for rows in (METHOD, REFERENCE))
    at = metrics.given_up(method, reference)
    assert (at.lost.tolist(), at.won.tolist()) == ([11, 12], [14])
    assert (at.classes.tolist(), at.images.tolist()) == ([0, 1, 2], [2, 3, 1])
    assert (at.lost_by_class.tolist(), at.won_by_class.tolist()) == ([1, 1, 0], [0, 1, 0])
    assert at.worst_class == 0  # net of what it won, and by its size
    farther, back = metrics.given_up(method, reference, 0.5), metrics.given_up(reference, method, 0.5)
    assert farther.lost.tolist() == back.won.tolist() == [11, 13] and farther.won.tolist() == back.lost.tolist() == [14]


def test_parts_by_hand(counted: Make, log: Make) -> None:
    reference = counted([0, 500, 501, 800, 801, 1000])
    a = log([(0, 0, 1.0), (0, 0, 2.0), (0, 0, 4.0), (0, 0, 8.0), (0, 0, 16.0), (0, 1, 99.0)])
    b = log([(0, 0, 1.0), (0, 0, 1.0), (0, -1, 0.0), (0, 0, 2.0), (0, 0, 4.0), (0, 0, 1.0)])
    parts = metrics.waterfall(a, b, reference, edges=(0.0, 0.5, 0.8, 1.0))
    assert parts.images.tolist() == [2, 2, 2]  # a border belongs to the bin below it, 0 to the first
    np.testing.assert_allclose(6 * parts.a, [3.0, 12.0, 16.0])
    np.testing.assert_allclose(6 * parts.b, [2.0, 2.0, 5.0])
    assert parts.easy_share == pytest.approx(21.0 / 22.0, abs=1e-15)
    assert metrics.waterfall(a, b, reference, easy=0.8).easy_share == pytest.approx(11.0 / 22.0, abs=1e-15)
    assert np.isnan(metrics.waterfall(reference, reference).easy_share)


def test_parts_sum_to_the_whole(counted: Make) -> None:
    rng = np.random.default_rng(0)
    a, b, reference = (counted(rng.integers(0, 1001, 3000)) for _ in range(3))
    for edges in ((0.0, 1.0), (0.0, 0.1, 0.5, 0.99, 1.0)):
        parts = metrics.waterfall(a, b, reference, edges=edges)
        assert [parts.a.sum(), parts.b.sum()] == pytest.approx([metrics.acr(a).value, metrics.acr(b).value], abs=1e-12)
        assert parts.difference.sum() == pytest.approx(metrics.acr_difference(a, b).value, abs=1e-12)
        assert parts.images.sum() == 3000
    parts = metrics.waterfall(a, b, easy=0.9)
    above = parts.edges[:-1] >= 0.9
    assert parts.easy_share == pytest.approx(parts.difference[above].sum() / parts.difference.sum(), abs=1e-12)


def test_alone_a_table_is_its_own_reference(counted: Make, log: Make) -> None:
    table = counted([400, 700, 900, 999])
    parts = metrics.waterfall(table)
    assert parts.images.tolist() == [1, 0, 1, 0, 1, 0, 0, 1]
    assert parts.difference.sum() == pytest.approx(metrics.acr(table).value, abs=1e-15)
    assert parts.easy_share == 1.0 and not parts.b.any()  # only what has p_A > 1/2 is certified
    other = metrics.waterfall(table, None, counted([100, 100, 100, 990]))
    np.testing.assert_allclose(other.a[[0, 6]], [table.radius[1:3].sum() / 4, table.radius[3] / 4])
    logged = log([(0, 0, 0.5), (0, 1, 0.5), (0, -1, 0.0)], sigma=0.5, n=1000, alpha=0.001)
    assert metrics.waterfall(logged).images.tolist() == [2, 0, 0, 0, 1, 0, 0, 0]  # wrong ones in the first bin
    for edges in ((), (0.0,), (0.1, 1.0), (0.0, 0.9), (0.0, 0.5, 0.5, 1.0), (0.0, 0.7, 0.6, 1.0)):
        assert "from 0 to 1" in refusal(partial(metrics.waterfall, table, edges=edges))
    assert "p_A=0.25" in refusal(lambda: metrics.waterfall(logged, edges=(0.0, 0.25, 1.0)))
    assert "p_A=0.3" in refusal(lambda: metrics.waterfall(logged, easy=0.3))
    for call in (metrics.waterfall, metrics.given_up):
        assert "not about the same images" in refusal(partial(call, table, logged))
    assert "no image" in refusal(lambda: metrics.given_up(log([]), log([])))


def test_most_of_what_ours_gains_comes_from_images_that_gaussian_had_right(logs: Path) -> None:
    named = (read(logs / f"{name}.tsv") for name in ("ours", "gaussian"))
    ours, gaussian = (table.assuming(sigma=0.5, n=100_000, alpha=0.001) for table in named)
    parts = metrics.waterfall(ours, gaussian)
    assert parts.difference.sum() == pytest.approx(metrics.acr_difference(ours, gaussian).value, abs=1e-12)
    assert parts.easy_share == pytest.approx(0.811, abs=0.001)
    assert parts.images[0] == 3125  # those on which gaussian is wrong or abstains
