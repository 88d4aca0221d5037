"""Ranks, the baseline, names and remarks: what a reader learns about the rows."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.errors import InputError
from randsmooth.report import remarks
from randsmooth.report.comparability import same_images
from randsmooth.report.figures.charts import BASELINE, faint, looks
from randsmooth.report.sheet import Mark, build_sheet, find_baseline, rank, with_distinct_names

Make = Callable[..., Certificates]

BEST, SECOND, BELOW, PLAIN = Mark(best=True), Mark(second=True), Mark(below=True), Mark()


@pytest.mark.parametrize(
    ("printed", "reference", "expected"),
    [
        (["1.0"], None, [PLAIN]),
        (["1.0", "3.0", "2.0"], None, [PLAIN, BEST, SECOND]),
        (["3.0", "3.0", "2.0", "2.0", "1.0"], None, [BEST, BEST, SECOND, SECOND, PLAIN]),
        (["1.0", "1.0"], 0, [BEST, BEST]),
        (["2.0", "3.0", "1.0"], 0, [SECOND, BEST, BELOW]),
        (["9.0", "10.0", "8.9"], 0, [SECOND, BEST, BELOW]),
        (["2.0", "1.0"], 0, [BEST, Mark(second=True, below=True)]),
    ],
)
def test_marks(printed: list[str], reference: int | None, expected: list[Mark]) -> None:
    assert rank(printed, reference) == expected


def test_figures_are_ranked_as_printed(log: Make) -> None:
    tables = [log([1.00001], "a"), log([1.00002], "b")]
    assert [mark.best for mark in build_sheet(tables).acr.marks] == [True, True]


@pytest.mark.parametrize(
    ("given", "name", "expected"),
    [
        ([("a", None), ("b", None)], None, None),
        ([("a", "macer"), ("b", "gaussian")], None, 1),
        ([("gaussian", "macer"), ("b", "gaussian")], None, 1),
        ([("gaussian-2", None), ("Gaussian", None)], None, 1),
        ([("x", None), ("cifar-gaussian-0.5", None)], None, 1),
        ([("gaussian-1", None), ("gaussian-2", None)], None, None),
        ([("a", "gaussian"), ("b", "gaussian")], None, None),
        ([("gaussian", None), ("b", None)], "b", 1),
    ],
)
def test_the_baseline(make: Make, given: list[tuple[str, str | None]], name: str | None, expected: int | None) -> None:
    tables = [make(called, model=method and {"method": method}) for called, method in given]
    assert find_baseline(tables, name) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "a", "a"], ["a", "a (2)", "a (3)"]),
        (["a", "a (2)", "a"], ["a", "a (2)", "a (3)"]),
        (["", " ", "x\n"], ["table 1", "table 2", r"x\n"]),
    ],
)
def test_names_are_told_apart(log: Make, names: list[str], expected: list[str]) -> None:
    assert [table.name for table in with_distinct_names([log([1.0], name) for name in names])] == expected


def test_remarks(make: Make, log: Make) -> None:
    assert remarks([make(), make(seed=1)]) == []
    said = remarks([make(), make(sigma=0.25, n=1000, images=30)])
    assert [part for part in ("same images", "sigma (0.25, 0.5)", "n (500, 1,000)") if part in " ".join(said)] == [
        "same images", "sigma (0.25, 0.5)", "n (500, 1,000)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ({}, {"images": 40}, "40 of which are in every table."),
        ({"split": "train"}, {"split": "test"}, "and they are of different splits (test, train)."),
        ({}, {"dataset": "mnist"}, "and they are of different data sets (digits, mnist)."),
        ({"split": "train"}, {"images": 40}, "40 of which are in every table."),
    ],
)
def test_images_are_shared_by_data_set_split_and_place(
    one: dict[str, object], other: dict[str, object], said: str, make: Make
) -> None:
    """Also where all labels agree, as they do here."""
    tables = [make("a", **one), make("b", **other)]
    assert remarks(tables)[0].endswith(said)
    if "different" in said:
        with pytest.raises(InputError, match=r"a is of the .* and b of .*, so they share no image"):
            metrics.pair(*tables)


def test_images_of_one_place_and_another_label_are_not_shared(make: Make) -> None:
    a = make("a")
    b = replace(a, label=np.where(a.idx < 20, a.label, a.label + 1))
    assert "20 of which are in every table; 130 more have one idx but different labels." in remarks([a, b])[0]


def test_one_hash_of_the_images_outweighs_their_names(make: Make) -> None:
    assert same_images([make("a", data="sha256:1"), make("b", dataset="folder", data="sha256:1")])


def test_every_table_looks_different() -> None:
    drawn = looks(21, baseline=3)
    assert len(set(drawn)) == 21
    assert drawn[3].colour == BASELINE and faint(drawn[3].colour, 0.15) == "rgba(128,128,128,0.15)"
