"""Ranks, the baseline, names and remarks: what a reader learns about the rows."""

from dataclasses import replace
from functools import partial

import numpy as np

from models.refusing import problem_of
from randsmooth import metrics
from randsmooth.errors import NotComparable
from randsmooth.report import remarks
from randsmooth.report.baseline import find_baseline
from randsmooth.report.ranking import rank
from report.conftest import Make
from values import Refusal

MARKS = {  # figures as printed, none of an unknown one, and their marks
    "1.0": "-",
    "1.0,3.0,2.0": "- best second",
    "3.0,3.0,2.0,2.0,1.0": "best best second second -",
    "1.0,1.0": "- -",
    "9.0,10.0,8.9": "second best -",
    "2.0,1.0": "best -",
    "2.0,,1.0": "best - -",
}
BASELINES: list[
    tuple[dict[str, str | None], str | None, int | None]
] = [  # name: method, the one asked for, its row
    ({"a": None, "b": None}, None, 0),  # the first of two
    ({"a": None, "b": None, "c": None}, None, None),
    ({"a": "macer", "b": "gaussian"}, None, 1),
    ({"gaussian": "macer", "b": "gaussian"}, None, 1),
    ({"gaussian-2": None, "Gaussian": None}, None, 1),
    ({"x": None, "cifar-gaussian-0.5": None}, None, 1),
    ({"gaussian-1": None, "gaussian-2": None, "c": None}, None, None),
    ({"a": "gaussian", "b": "gaussian"}, None, 0),
    ({"gaussian": None, "b": None}, "b", 1),
]
IMAGES: list[
    tuple[dict[str, object], dict[str, object], str]
] = [  # facts of two tables, and what is said of both
    ({}, {"images": 40}, "40 of which are in every table."),
    (
        {"split": "train"},
        {"split": "test"},
        "and they are of different splits (test, train).",
    ),
    ({}, {"dataset": "mnist"}, "and they are of different data sets (digits, mnist)."),
    ({"split": "train"}, {"images": 40}, "40 of which are in every table."),
]


def test_figures_are_ranked_as_printed() -> None:
    for printed, expected in MARKS.items():
        assert [mark or "-" for mark in rank(printed.split(","))] == expected.split(), (
            printed
        )


def test_the_baseline(make: Make) -> None:
    for given, name, expected in BASELINES:
        tables = [
            make(called, model=method and {"method": method})
            for called, method in given.items()
        ]
        assert find_baseline(tables, name) == expected, given


def test_remarks(make: Make, log: Make) -> None:
    assert remarks([make(), make(seed=1)]) == []
    (said,) = remarks(
        [
            log([0.5], "a"),
            log([0.6], "b", n=100, alpha=0.01, sigma=0.5),
            log([0.4], "c"),
        ]
    )
    assert "sigma or n or alpha of a, c" in said and "sigma, n, alpha" in said
    whole = log([0.5] * 300 + [-0.1] * 100, "whole")
    for kept, unfair in (
        (np.arange(300), True),
        (np.arange(0, 400, 2), False),
    ):  # the right ones; every other one
        said = " ".join(remarks([whole, whole.rows(kept).renamed("part")]))
        assert (
            "whole is right on 0.0% of its others and on 100.0% of these" in said
        ) == unfair, said
        assert ("no verdict is fair" in said) == unfair
    said = " ".join(remarks([make(), make(sigma=0.25, n=1000, images=30)]))
    assert (
        "same images" in said
        and "sigma (0.25, 0.5)" in said
        and "n (500, 1,000)" in said
    )


def test_images_are_shared_by_data_set_split_place_and_label(make: Make) -> None:
    """Of which data set they are decides also where all labels agree; a hash of the images outweighs its name."""
    for one, other, said in IMAGES:
        tables = [make("a", **one), make("b", **other)]
        assert remarks(tables)[0].endswith(said), said
        if "different" in said:
            Refusal(NotComparable).check(problem_of(partial(metrics.pair, *tables)))
    a = make("a")
    relabelled = replace(a, label=np.where(a.idx < 20, a.label, a.label + 1))
    assert (
        f" in every table by idx, {len(a) - 20} with other labels."
        in remarks([a, relabelled])[0]
    )
    assert (
        remarks(
            [make("a", data="sha256:1"), make("b", dataset="folder", data="sha256:1")]
        )
        == []
    )
