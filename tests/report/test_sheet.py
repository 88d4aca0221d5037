"""Ranks, the baseline, names and remarks: what a reader learns about the rows."""

from dataclasses import replace
from functools import partial

import numpy as np

from models.refusing import problem_of
from randsmooth import metrics
from randsmooth.errors import NotComparable, Setting
from randsmooth.notes import Note
from randsmooth.progress import spelt_by
from randsmooth.report import comparison_page, printed, remarks, render
from randsmooth.report.baseline import find_baseline
from randsmooth.report.ranking import rank
from randsmooth.report.sheet import column
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
# Facts of two tables, and the remark on their images.
IMAGES: list[tuple[dict[str, object], dict[str, object], Note]] = [
    ({}, {"images": 40}, Note("other_images", shared=40)),
    (
        {"split": "train"},
        {"split": "test"},
        Note("other_sources", kind="splits", sources="test, train"),
    ),
    (
        {},
        {"dataset": "mnist"},
        Note("other_sources", kind="data sets", sources="digits, mnist"),
    ),
    (
        {"split": "train"},
        {"images": 40},
        Note("other_images", shared=40),
    ),
]


def test_figures_are_ranked_as_printed() -> None:
    for figures, expected in MARKS.items():
        assert [mark or "-" for mark in rank(figures.split(","))] == expected.split(), (
            figures
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
    silent = log([0.5], "a"), log([0.4], "c")
    telling = log([0.6], "b", n=100, alpha=0.01, sigma=0.5)
    missing = ["sigma", "n", "alpha"]
    assert remarks([silent[0], telling, silent[1]]) == [
        Note("not_recorded", missing=missing, tables="a, c")
    ]

    kinds = {
        remark.kind for remark in remarks([make(), make(sigma=0.25, n=1000, images=30)])
    }
    assert kinds == {"other_images", "sigmas_differ", "budgets_differ"}


def test_images_that_chance_did_not_leave_out_are_remarked_on(log: Make) -> None:
    whole = log([0.5] * 300 + [-0.1] * 100, "whole")
    right_ones, every_other = np.arange(300), np.arange(0, 400, 2)
    for kept, unfair in ((right_ones, True), (every_other, False)):
        found = remarks([whole, whole.rows(kept).renamed("part")])
        of_kind = [note for note in found if note.kind == "missing_not_by_chance"]
        assert bool(of_kind) == unfair, found
        for note in of_kind:
            assert note.facts["other_share"] == 0.0
            assert note.facts["shared_share"] == 1.0


def test_remarks_name_settings_as_their_reader_types_them(make: Make) -> None:
    def spell(setting: Setting) -> str:
        return f"--{setting.name} {setting.value}"

    tables = [make("a"), make("b", n=1000)]
    with spelt_by(spell):
        at_the_terminal = " ".join(render(tables).split())
    assert "--n 500 judges" in at_the_terminal
    assert "n=500 judges" in " ".join(render(tables).split())
    for page in (render(tables, format="md"), comparison_page(tables)):
        assert "n 500 judges" in page
    named = [table.renamed(f"gaussian-{number}") for number, table in enumerate(tables)]
    assert "name it (baseline)" in render([*named, make("c")])


def test_images_are_shared_by_data_set_split_place_and_label(make: Make) -> None:
    """Of which data set they are decides also where all labels agree; a hash of the images outweighs its name."""
    for one, other, remark in IMAGES:
        tables = [make("a", **one), make("b", **other)]
        assert remarks(tables)[0] == remark
        if remark.kind == "other_sources":
            Refusal(NotComparable).check(problem_of(partial(metrics.pair, *tables)))
    # A check tells that labels differ; the images are the same.
    a = make("a")
    relabelled = replace(a, label=np.where(a.idx < 20, a.label, a.label + 1))
    assert remarks([a, relabelled]) == []
    assert (
        remarks(
            [make("a", data="sha256:1"), make("b", dataset="folder", data="sha256:1")]
        )
        == []
    )


def test_ends_are_rounded_like_the_figure_between_them() -> None:
    # As a float, 100 * 0.6465 is a little less than 64.65.
    estimate = metrics.Estimate(0.6465, low=0.6465, high=0.6465, images=10_000)
    assert column("0", [estimate]).ends == [("64.7", "64.7")]
    assert printed.percent_ends(estimate) == (printed.percent(estimate),) * 2
