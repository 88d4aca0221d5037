"""Tables brought to shared images: which rows survive, in which order, and what is refused."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

Make = Callable[..., Certificates]


def indexed(table: Certificates, idx: list[int]) -> Certificates:
    return replace(table, idx=np.array(idx))


def test_only_shared_images_stay_in_the_order_of_the_first(counted: Make) -> None:
    a = indexed(counted([900, 800, 700, 600]), [7, 3, 9, 1])
    b = indexed(counted([510, 520, 530, 540]), [1, 9, 5, 7])
    first, second = metrics.pair(a, b)
    assert first.idx.tolist() == second.idx.tolist() == [7, 9, 1]
    assert first.counts is not None and first.counts[:, 0].tolist() == [900, 700, 600]
    assert second.counts is not None and second.counts[:, 0].tolist() == [540, 520, 510]
    assert first.paths is not None and [path.tolist() for path in first.paths] == [[900], [700], [600]]


def test_every_column_of_a_row_moves_with_it(counted: Make) -> None:
    table = replace(counted([900, 100, 700]), seconds=np.arange(3.0))
    _, back = metrics.pair(indexed(table, [2, 1, 0]), table)
    for column in ("predict", "radius", "seconds", "counts0", "counts"):
        np.testing.assert_array_equal(getattr(back, column), getattr(table, column)[::-1])


def test_a_pair_can_be_compared_and_a_log_has_no_counts(log: Make) -> None:
    a = log([(0, 0, 1.0), (1, 1, 2.0), (2, 2, 3.0)])
    b = indexed(log([(2, 2, 1.0), (0, 0, 0.5)]), [2, 0])
    with pytest.raises(InputError, match="not about the same images"):
        metrics.acr_difference(a, b)
    first, second = metrics.pair(a, b)
    assert first.is_log and second.paths is None
    assert metrics.acr_difference(first, second).value == (0.5 + 2.0) / 2


def test_equal_images_are_left_as_they_are(log: Make) -> None:
    rows = [(0, 0, 1.0), (1, 1, 2.0)]
    first, second = metrics.pair(log(rows), log(rows))
    np.testing.assert_array_equal(first.radius, [1.0, 2.0])
    metrics.require_same_images(first, second)


def test_an_index_that_occurs_twice_is_named(log: Make) -> None:
    twice = indexed(log([(0, 0, 1.0)] * 3, name="T"), [4, 8, 8])
    good = indexed(log([(0, 0, 1.0)] * 3), [4, 8, 9])
    for tables in ((twice, good), (good, twice)):
        with pytest.raises(InputError, match="image 8 occurs 2 times in T"):
            metrics.pair(*tables)


def test_no_shared_image_is_refused(log: Make) -> None:
    a, b = log([(0, 0, 1.0)], name="A"), indexed(log([(0, 0, 1.0)], name="B"), [5])
    with pytest.raises(InputError, match=r"A \(1 images\) and B \(1 images\) share no image"):
        metrics.pair(a, b)


def test_other_labels_are_refused(log: Make) -> None:
    a, b = log([(0, 0, 1.0), (1, 1, 1.0)], name="A"), log([(0, 0, 1.0), (2, 2, 1.0)], name="B")
    with pytest.raises(InputError, match="image 1 has label 1 in A and 2 in B"):
        metrics.pair(a, b)
