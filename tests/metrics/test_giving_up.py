"""Which images changed hands, by hand and in sum."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

Log = Callable[..., Certificates]

METHOD = [(0, 0, 0.9), (0, -1, 0.0), (1, 0, 0.7), (1, 1, 0.2), (1, 1, 1.0), (2, 2, 0.5)]
REFERENCE = [(0, 0, 0.5), (0, 0, 0.5), (1, 1, 0.1), (1, 1, 0.5), (1, -1, 0.0), (2, 2, 0.5)]


def test_by_hand(log: Log) -> None:
    idx = np.array([10, 11, 12, 13, 14, 15])
    method, reference = (replace(log(rows), idx=idx) for rows in (METHOD, REFERENCE))
    at = metrics.given_up(method, reference)
    assert (at.lost.tolist(), at.won.tolist()) == ([11, 12], [14])
    assert (at.classes.tolist(), at.images.tolist()) == ([0, 1, 2], [2, 3, 1])
    assert (at.lost_by_class.tolist(), at.won_by_class.tolist()) == ([1, 1, 0], [0, 1, 0])
    assert at.worst_class == 0
    farther = metrics.given_up(method, reference, 0.5)
    assert (farther.lost.tolist(), farther.won.tolist()) == ([11, 13], [14])
    back = metrics.given_up(reference, method, 0.5)
    assert (back.lost.tolist(), back.won.tolist()) == ([14], [11, 13])


def test_the_worst_class_is_judged_net_of_what_it_won_and_by_its_size(log: Log) -> None:
    lost, won, kept = ((0, 1), (1, 0), (1, 1))  # method, reference: right or not
    changes = {0: [lost, kept, kept, kept], 1: [lost, lost, won, won], 2: [lost, lost, *[kept] * 14]}
    labels = [k for k, images in changes.items() for _ in images]
    rights = [image for images in changes.values() for image in images]
    method, reference = (
        log([(k, k if right[side] else -1, 0.5) for k, right in zip(labels, rights, strict=True)]) for side in (0, 1)
    )
    assert metrics.given_up(method, reference).worst_class == 0


@pytest.mark.parametrize("r", [0.0, 0.25, 0.75])
def test_won_minus_lost_is_the_difference_in_accuracy(log: Log, r: float) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 300)
    a, b = (log([(k, rng.integers(-1, 4), rng.uniform(0, 1)) for k in labels]) for _ in range(2))
    at = metrics.given_up(a, b, r)
    gap = metrics.certified_accuracy(a, r).value - metrics.certified_accuracy(b, r).value
    assert (len(at.won) - len(at.lost)) / 300 == pytest.approx(gap, abs=1e-15)
    assert (at.lost_by_class.sum(), at.won_by_class.sum()) == (len(at.lost), len(at.won))
    assert at.images.sum() == 300


def test_what_makes_no_sense_is_refused(log: Log) -> None:
    with pytest.raises(InputError, match="not about the same images"):
        metrics.given_up(log(METHOD), log(REFERENCE[:-1]))
    with pytest.raises(InputError, match="no image"):
        metrics.given_up(log([]), log([]))
    with pytest.raises(InputError, match="radius -1"):
        metrics.given_up(log(METHOD), log(REFERENCE), -1.0)
