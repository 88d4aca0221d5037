"""Every metric against a slow derivation in plain Python."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

Log = Callable[..., Certificates]

ROWS = [
    (0, 0, 0.5), (0, -1, 0.0), (1, 1, 1.25), (1, 0, 0.75), (2, 2, 0.0), (2, 2, 0.5), (0, 0, 0.25), (1, -1, 0.0),
]  # fmt: skip


@pytest.mark.parametrize("r", [0.0, 0.2, 0.25, 0.250001, 0.5, 1.25, 2.0])
def test_certified_accuracy_counts_right_images_that_reach_the_radius(log: Log, r: float) -> None:
    hits = sum(1 for label, predict, radius in ROWS if label == predict and radius >= r)
    estimate = metrics.certified_accuracy(log(ROWS), r)
    assert estimate.value == hits / len(ROWS)
    assert estimate.images == len(ROWS)
    assert estimate.low <= estimate.value <= estimate.high


def test_the_other_metrics(log: Log) -> None:
    table = log(ROWS)
    right = [radius for label, predict, radius in ROWS if label == predict]
    assert metrics.acr(table).value == pytest.approx(sum(right) / len(ROWS), abs=1e-15)
    assert metrics.abstention(table).value == 2 / 8
    assert metrics.certified_accuracy(table, 0.0).value == 5 / 8


def test_the_staircase_is_certified_accuracy_everywhere(log: Log) -> None:
    table = log(ROWS)
    radii, shares = metrics.accuracy_curve(table)
    assert radii.tolist() == [0.0, 0.25, 0.5, 1.25]
    for r, share in zip(radii, shares, strict=True):
        assert share == metrics.certified_accuracy(table, float(r)).value


def test_acr_is_the_area_under_the_staircase(log: Log) -> None:
    table = log(ROWS)
    radii, shares = metrics.accuracy_curve(table)
    assert metrics.acr(table).value == pytest.approx(float(np.diff(radii) @ shares[1:]), abs=1e-15)


def test_usual_radii_reach_as_far_as_a_right_image(log: Log) -> None:
    assert metrics.usual_radii([log(ROWS)]) == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]
    assert metrics.usual_radii([log([(0, 1, 9.0)])]) == [0.0]


@pytest.mark.parametrize(
    "metric", [metrics.acr, metrics.abstention, partial(metrics.certified_accuracy, r=0.0), metrics.p_a]
)
def test_no_metric_of_no_image(log: Log, metric: Callable[[Certificates], object]) -> None:
    with pytest.raises(InputError, match="no image"):
        metric(log([], sigma=0.5, n=100, alpha=0.01))


@pytest.mark.parametrize("r", [-0.1, math.nan, math.inf])
def test_a_radius_must_make_sense(log: Log, r: float) -> None:
    with pytest.raises(InputError, match=f"radius {r}"):
        metrics.certified_accuracy(log(ROWS), r)


def test_a_label_aware_table_does_not_tell_abstention(log: Log) -> None:
    """Images whose picked class missed the label took no samples: whether they would be abstained on is not known."""
    table = log(ROWS, "aware", label_aware=True)
    assert not metrics.knows_abstention(table) and metrics.knows_abstention(log(ROWS))
    with pytest.raises(InputError, match=r"aware is label-aware: .*certify without --label-aware"):
        metrics.abstention(table)
    told, untold = metrics.summarise(log(ROWS), [0.5]), metrics.summarise(table, [0.5])
    assert untold.abstention is None and told.abstention == metrics.abstention(log(ROWS))
    assert (untold.acr, untold.accuracy) == (told.acr, told.accuracy)  # what it tells all the same


def test_a_summary_has_the_usual_radii_unless_others_are_asked_for(log: Log) -> None:
    table = log(ROWS)
    assert list(metrics.summarise(table).accuracy) == metrics.usual_radii([table])
    assert list(metrics.summarise(table, [0.3]).accuracy) == [0.3]


def test_an_estimate_is_printed_in_short(log: Log) -> None:
    assert str(metrics.Estimate(0.2278, 0.127, 0.3341, 20)) == "0.228 (0.127 to 0.334, 20 images)"
    assert str(metrics.mean([1.0], (0.0, 1.0))) == "1.000 (0.024 to 1.000, 1 image)"


def test_tables_and_comparisons_show_one_line(log: Log) -> None:
    table = log(ROWS).renamed("a").assuming(sigma=0.5, n=1000, alpha=0.001)
    assert repr(table) == "Certificates('a': 8 images, sigma 0.5, n 1,000, a log)"
    assert repr(metrics.compare([(table, table)])) == "[Comparison('a' against 'a': 8 images, no difference shown)]"
