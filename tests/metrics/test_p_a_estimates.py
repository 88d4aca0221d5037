"""p_A: exact from counts, recovered from a log, never invented below 1/2."""

from collections.abc import Callable

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError

Make = Callable[..., Certificates]

HITS = [0, 100, 499, 500, 501, 620, 700, 999, 1000]


def test_from_counts_it_is_the_labels_share(counted: Make) -> None:
    measured = metrics.p_a(counted(HITS))
    assert measured.values.tolist() == [k / 1000 for k in HITS]
    assert measured.known_from == 0.0


@pytest.mark.parametrize("x", [0.0, 0.1, 0.5, 0.57, 0.62, 0.700001, 1.0])
def test_the_curve_is_a_count(counted: Make, x: float) -> None:
    expected = sum(k / 1000 >= x for k in HITS) / len(HITS)
    assert metrics.p_a_curve(counted(HITS), np.array([x]))[0] == expected
    assert metrics.p_a(counted(HITS)).share(x).value == expected


def test_a_log_gives_back_the_counts_of_its_right_images(counted: Make, log: Make) -> None:
    table = counted(HITS)
    rows = list(zip(table.label, table.predict, table.radius, strict=True))
    measured = metrics.p_a(log(rows, sigma=0.5, n=1000, alpha=0.001))
    right = table.correct
    np.testing.assert_array_equal(measured.values[right], np.array(HITS)[right] / 1000)
    assert np.all(np.isnan(measured.values[~right]))
    assert measured.known_from == 0.5


def test_what_a_log_does_not_know_is_refused(log: Make) -> None:
    table = log([(0, 0, 0.5), (0, 1, 0.5)], sigma=0.5, n=1000, alpha=0.001)
    assert np.isnan(metrics.p_a_curve(table, np.array([0.0, 0.49])))[0]
    with pytest.raises(InputError, match=r"0\.49 is unknown"):
        metrics.p_a(table).at_least(0.49)


@pytest.mark.parametrize("lacking", ["sigma", "n", "alpha"])
def test_a_log_without_its_facts_is_refused(log: Make, lacking: str) -> None:
    facts = {"sigma": 0.5, "n": 1000, "alpha": 0.001}
    del facts[lacking]
    with pytest.raises(InputError, match="sigma, n and alpha"):
        metrics.p_a(log([(0, 0, 0.5)], **facts))
