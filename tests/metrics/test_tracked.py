"""Figures by name: each is that of its metric, under a name that trackers take."""

import re
from dataclasses import replace

import numpy as np

from randsmooth import metrics
from randsmooth.certificates import from_counts, from_radii

LOG = from_radii(np.linspace(0.0, 1.2, 40), sigma=0.5, n=1000, alpha=0.001)
# What MLflow allows in the name of a metric.
TAKEN = re.compile(r"[\w\-./ ]+", re.ASCII)


def test_each_figure_is_that_of_its_metric() -> None:
    figures = metrics.scalars(LOG, [0.0, 0.5])
    expected = {
        "accuracy_at_0": metrics.certified_accuracy(LOG, 0.0),
        "accuracy_at_0.5": metrics.certified_accuracy(LOG, 0.5),
        "abstention": metrics.abstention(LOG),
        "acr": metrics.acr(LOG),
    }
    for level in metrics.P_A_LEVELS:
        expected[f"p_A_at_least_{level:g}"] = metrics.p_a(LOG).share(level)
    for name, estimate in expected.items():
        found = [figures.pop(f"certified/{name}{end}") for end in ("", "_low", "_high")]
        assert found == [estimate.value, estimate.low, estimate.high], name
    assert not figures


def test_what_a_table_does_not_tell_is_left_out() -> None:
    counts = np.array([[5, 995], [990, 10]])
    picking = np.array([[1, 99], [99, 1]])
    unlabelled = from_counts(counts, counts0=picking, sigma=0.25)
    names = metrics.scalars(unlabelled, [0.5], intervals=False)
    assert [*names] == ["certified/abstention"]
    labelled = from_counts(counts, counts0=picking, label=[0, 0], sigma=0.25)
    assert "certified/declined" not in metrics.scalars(labelled, [0.0])
    header = labelled.header.replace(classes=("0", "refused"), refusal=1)
    refusing = replace(labelled, header=header)
    assert metrics.scalars(refusing, [0.0])["certified/declined"] == 0.5


def test_trackers_take_the_names() -> None:
    for name in metrics.scalars(LOG, [0.0, 0.1234567, 1e-7], prefix="sigma 0.5/"):
        assert TAKEN.fullmatch(name), name
        assert name.startswith("sigma 0.5/")
