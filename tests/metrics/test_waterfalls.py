"""The parts of an ACR: by hand, in sum, and on the released logs."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates, read
from randsmooth.errors import InputError

Make = Callable[..., Certificates]


def test_parts_by_hand(counted: Make, log: Make) -> None:
    reference = counted([0, 500, 501, 800, 801, 1000])
    a = log([(0, 0, 1.0), (0, 0, 2.0), (0, 0, 4.0), (0, 0, 8.0), (0, 0, 16.0), (0, 1, 99.0)])
    b = log([(0, 0, 1.0), (0, 0, 1.0), (0, -1, 0.0), (0, 0, 2.0), (0, 0, 4.0), (0, 0, 1.0)])
    parts = metrics.waterfall(a, b, reference, edges=(0.0, 0.5, 0.8, 1.0))
    assert parts.images.tolist() == [2, 2, 2]  # a border belongs to the bin below it, 0 to the first
    np.testing.assert_allclose(6 * parts.a, [3.0, 12.0, 16.0])
    np.testing.assert_allclose(6 * parts.b, [2.0, 2.0, 5.0])
    np.testing.assert_allclose(6 * parts.difference, [1.0, 10.0, 11.0])
    assert parts.easy_share == pytest.approx(21.0 / 22.0, abs=1e-15)
    assert metrics.waterfall(a, b, reference, easy=0.8).easy_share == pytest.approx(11.0 / 22.0, abs=1e-15)


@pytest.mark.parametrize("edges", [(0.0, 1.0), (0.0, 0.1, 0.5, 0.99, 1.0), None])
def test_parts_sum_to_the_whole(counted: Make, edges: tuple[float, ...] | None) -> None:
    rng = np.random.default_rng(0)
    a, b, reference = (counted(rng.integers(0, 1001, 3000)) for _ in range(3))
    parts = metrics.waterfall(a, b, reference, edges=edges) if edges else metrics.waterfall(a, b, reference)
    assert parts.a.sum() == pytest.approx(metrics.acr(a).value, abs=1e-12)
    assert parts.b.sum() == pytest.approx(metrics.acr(b).value, abs=1e-12)
    assert parts.difference.sum() == pytest.approx(metrics.acr_difference(a, b).value, abs=1e-12)
    assert parts.images.sum() == 3000
    assert metrics.contributions(a).sum() == pytest.approx(metrics.acr(a).value, abs=1e-12)


def test_the_share_of_easy_images_is_that_of_the_bins_above(counted: Make) -> None:
    rng = np.random.default_rng(1)
    a, b = (counted(rng.integers(0, 1001, 500)) for _ in range(2))
    parts = metrics.waterfall(a, b, easy=0.9)
    above = parts.edges[:-1] >= 0.9
    assert parts.easy_share == pytest.approx(parts.difference[above].sum() / parts.difference.sum(), abs=1e-12)


def test_alone_a_table_is_its_own_reference(counted: Make) -> None:
    table = counted([400, 700, 900, 999])
    parts = metrics.acr_waterfall(table)
    assert parts.images.tolist() == [1, 0, 1, 0, 1, 0, 0, 1]
    assert parts.difference.sum() == pytest.approx(metrics.acr(table).value, abs=1e-15)
    assert parts.easy_share == 1.0  # only what has p_A > 1/2 is certified
    assert not parts.b.any()
    other = metrics.acr_waterfall(table, counted([100, 100, 100, 990]))
    np.testing.assert_allclose(other.a[[0, 6]], [table.radius[1:3].sum() / 4, table.radius[3] / 4])


def test_equal_tables_have_no_share(counted: Make) -> None:
    table = counted([400, 700])
    assert np.isnan(metrics.waterfall(table, table).easy_share)


def test_wrong_images_of_a_log_are_in_the_first_bin(log: Make) -> None:
    facts = {"sigma": 0.5, "n": 1000, "alpha": 0.001}
    table = log([(0, 0, 0.5), (0, 1, 0.5), (0, -1, 0.0)], **facts)
    assert metrics.acr_waterfall(table).images.tolist() == [2, 0, 0, 0, 1, 0, 0, 0]
    with pytest.raises(InputError, match=r"p_A=0\.25 as a border must lie in \[0\.5, 1\]"):
        metrics.acr_waterfall(table, edges=(0.0, 0.25, 1.0))
    with pytest.raises(InputError, match=r"p_A=0\.3"):
        metrics.acr_waterfall(table, easy=0.3)


@pytest.mark.parametrize("edges", [(), (0.0,), (0.1, 1.0), (0.0, 0.9), (0.0, 0.5, 0.5, 1.0), (0.0, 0.7, 0.6, 1.0)])
def test_edges_must_hold_every_image_once(counted: Make, edges: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="must rise from 0 to 1"):
        metrics.acr_waterfall(counted([900]), edges=edges)


def test_other_images_and_none_are_refused(counted: Make, log: Make) -> None:
    with pytest.raises(InputError, match="not about the same images"):
        metrics.waterfall(counted([900]), counted([900]), counted([900, 800]))
    with pytest.raises(InputError, match="no image"):
        metrics.acr_waterfall(log([], sigma=0.5, n=1000, alpha=0.001))


def test_most_of_what_ours_gains_comes_from_images_that_gaussian_had_right(logs: Path) -> None:
    ours, gaussian = (
        read(logs / f"{name}.tsv").assuming(sigma=0.5, n=100_000, alpha=0.001) for name in ("ours", "gaussian")
    )
    parts = metrics.waterfall(ours, gaussian)
    assert parts.difference.sum() == pytest.approx(metrics.acr_difference(ours, gaussian).value, abs=1e-12)
    assert parts.easy_share == pytest.approx(0.811, abs=0.001)
    assert parts.images[0] == 3125  # those on which gaussian is wrong or abstains
