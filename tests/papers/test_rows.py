"""The papers' objects and their rows: quick to list, which model a row is about, on how many images."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fresh import python
from randsmooth.certificates import PathFacts
from randsmooth.papers.find_certificates import certificates_for
from randsmooth.papers.rows import PaperRow, rows_of
from randsmooth.papers.runs import SCALES, steps_for

BASELINES = ("gaussian", "stability", "smoothadv", "macer", "consistency", "smoothmix")


def test_cat_rs_baselines_are_as_logged_on_mnist_and_the_texts_on_cifar_10() -> None:
    logged = {method: f"cat-rs/{method}/table1" for method in BASELINES}
    for table, expected in (
        ("table1", logged | {"cat-rs": "cat-rs/cat-rs"}),
        ("table4", {"gaussian": "cat-rs/gaussian/table1"}),
    ):
        rows = rows_of("cat-rs", table)
        assert {
            row.method: row.preset for row in rows if not row.setting
        } == expected, table
        assert all(
            row.preset == f"cat-rs/{row.method}/{row.setting}"
            for row in rows
            if row.setting
        ), table
    assert {row.preset for row in rows_of("cat-rs", "table2")} == {
        f"cat-rs/{m}" for m in (*BASELINES, "cat-rs")
    }


def test_the_gaussian_row_of_acr_table_3_at_sigma_half_is_cat_rs() -> None:
    presets = {
        row.sigma: row.preset
        for row in rows_of("acr", "table3")
        if row.method == "gaussian"
    }
    assert presets == {
        0.25: "acr/gaussian",
        0.5: "cat-rs/gaussian",
        1.0: "acr/gaussian",
    }
    figures = {
        (paper, table): next(
            r for r in rows_of(paper, table) if (r.method, r.sigma) == ("gaussian", 0.5)
        ).figures
        for paper, table in (("acr", "table3"), ("cat-rs", "table2"))
    }
    assert figures["acr", "table3"] == figures["cat-rs", "table2"]


# table -> every so many-th image at the papers' scale; None: all
SKIPS = {
    "cat-rs/table2": None,
    "cat-rs/table4": None,
    "acr/table7": None,
    "macer/table2": 100,
} | dict.fromkeys(
    (
        "cat-rs/table3",
        "cat-rs/table5",
        "cat-rs/table6",
        "cat-rs/table7",
        "macer/table7",
    ),
    20,
)


def test_the_papers_own_number_of_images_is_certified(tmp_path: Path) -> None:
    for name, skip in SKIPS.items():
        commands = [
            steps_for(row, SCALES["paper"], tmp_path)[-1].options()
            for row in rows_of(*name.split("/"))
        ]
        assert {options.get("skip") for options in commands} == {skip}, name
        assert all("take" not in options for options in commands), name


def test_a_log_stands_for_a_main_row_by_either_account() -> None:
    def found(preset: str, log: bool) -> Any:
        place = PathFacts() if log else None
        return SimpleNamespace(
            dataset="mnist", sigma=0.5, method="gaussian", preset=preset, place=place
        )

    row = PaperRow("cat-rs", "mnist", 0.5, "gaussian", "", "cat-rs/gaussian/table1")
    log, prose, ablation = (
        found("", True),
        found("cat-rs/gaussian/prose", False),
        found("cat-rs/gaussian/x", False),
    )
    exact = found("cat-rs/gaussian/table1", False)
    of_row = partial(certificates_for, row=row, dataset="mnist")
    assert of_row([log]) == [log]
    assert of_row([ablation, prose]) == [prose]
    assert of_row([prose, log, exact]) == [exact, prose, log]
    assert of_row([ablation]) == []


LISTS = """
import sys
from randsmooth import papers
rows = sum(len(one.rows()) for one in papers.OBJECTS)
heavy = {"numpy", "pandas", "scipy", "pyarrow", "torch", "plotly", "matplotlib", "jinja2"}
print(rows > 500, *sorted(heavy & set(sys.modules)))
"""


def test_listing_all_objects_and_their_rows_loads_nothing_heavy() -> None:
    assert python(LISTS).split() == ["True"]
