"""Which model a row of a table is about, and how many images it was certified on."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from randsmooth.certificates import PathFacts
from randsmooth.papers.find_certificates import certificates_for
from randsmooth.papers.rows import PaperRow, is_main, rows_of
from randsmooth.papers.scales import SCALES, steps_for
from randsmooth.training import PRESETS

BASELINES = ("gaussian", "stability", "smoothadv", "macer", "consistency", "smoothmix")


@pytest.mark.parametrize("table", ["table1", "table4"])
def test_cat_rs_baselines_on_mnist_are_as_logged(table: str) -> None:
    mains = {row.method: row.preset for row in rows_of("cat-rs", table) if not row.setting}
    logged = {method: f"cat-rs/{method}/table1" for method in BASELINES} | {"cat-rs": "cat-rs/cat-rs"}
    assert mains == (logged if table == "table1" else {"gaussian": "cat-rs/gaussian/table1"})
    assert all(row.preset == f"cat-rs/{row.method}/{row.setting}" for row in rows_of("cat-rs", table) if row.setting)


def test_on_cifar_10_they_are_the_texts() -> None:
    assert {row.preset for row in rows_of("cat-rs", "table2")} == {f"cat-rs/{m}" for m in (*BASELINES, "cat-rs")}


def test_reproducing_table_1_trains_as_logged(tmp_path: Path) -> None:
    row = next(row for row in rows_of("cat-rs", "table1") if (row.method, row.sigma) == ("macer", 1.0))
    train, certify = steps_for(row, SCALES["paper"], tmp_path)
    assert train.command().startswith("randsmooth train mnist --preset cat-rs/macer/table1 --sigma 1.0 ")
    assert "--skip" not in certify.command()  # MNIST's tables have all 10,000 images


def test_the_gaussian_row_of_acr_table_3_at_sigma_half_is_cat_rs() -> None:
    presets = {row.sigma: row.preset for row in rows_of("acr", "table3") if row.method == "gaussian"}
    assert presets == {0.25: "acr/gaussian", 0.5: "cat-rs/gaussian", 1.0: "acr/gaussian"}
    figures = {
        (paper, table): next(r for r in rows_of(paper, table) if (r.method, r.sigma) == ("gaussian", 0.5)).figures
        for paper, table in (("acr", "table3"), ("cat-rs", "table2"))
    }
    assert figures["acr", "table3"] == figures["cat-rs", "table2"]


# paper, table -> every so many-th image at the papers' scale; None: all
SKIPS = {
    ("cat-rs", "table2"): None,
    ("cat-rs", "table3"): 20,
    ("cat-rs", "table4"): None,
    ("cat-rs", "table5"): 20,
    ("cat-rs", "table6"): 20,
    ("cat-rs", "table7"): 20,
    ("acr", "table7"): None,
    ("macer", "table7"): 20,
    ("macer", "table2"): 100,
}


@pytest.mark.parametrize(("paper", "table"), SKIPS)
def test_the_papers_own_number_of_images_is_certified(paper: str, table: str, tmp_path: Path) -> None:
    commands = [steps_for(row, SCALES["paper"], tmp_path)[-1].options for row in rows_of(paper, table)]
    assert {options.get("skip") for options in commands} == {SKIPS[paper, table]}
    assert all("take" not in options for options in commands)


def test_main_rows_are_those_of_main_presets() -> None:
    assert all(is_main(preset.name) == preset.main for preset in PRESETS)


def test_a_log_stands_for_a_main_row_by_either_account() -> None:
    def found(preset: str, log: bool) -> Any:
        place = PathFacts() if log else None
        return SimpleNamespace(dataset="mnist", sigma=0.5, method="gaussian", preset=preset, place=place)

    row = PaperRow("cat-rs", "mnist", 0.5, "gaussian", "", "cat-rs/gaussian/table1")
    log, prose, ablation = found("", True), found("cat-rs/gaussian/prose", False), found("cat-rs/gaussian/x", False)
    exact = found("cat-rs/gaussian/table1", False)
    of_row = partial(certificates_for, datasets=["mnist"], sigma=0.5, method=row.method, preset=row.preset)
    assert of_row([log]) == [log]
    assert of_row([ablation, prose]) == [prose]
    assert of_row([prose, log, exact]) == [exact, prose, log]
    assert of_row([ablation]) == []
