"""The published numbers: complete, typed right, and what is known to be wrong in the papers themselves."""

from pathlib import Path

import pandas as pd
import pytest

from models.refusing import check_refusals
from randsmooth.papers import inconsistencies, published, published_values
from randsmooth.papers.published_values import ACCURACY, ROW, Printed, area

# Cells of each object, counted in the paper: rows times numbers in a row; one of macer/table13 is illegible.
CELLS = """
acr/table1 20, acr/table2 252, acr/table3 288, acr/table5 45, acr/table6 54, acr/table7 45, acr/table8 45,
acr/table9 36, acr/table10 54, acr/c1-remaining-data 3, macer/table1 99, macer/table2 72, macer/table3 24,
macer/table6 66, macer/table7 44, macer/table8 66, macer/table10 110, macer/table11 132, macer/table12 176,
macer/table13 153, cat-rs/table1 252, cat-rs/table2 252, cat-rs/table3 54, cat-rs/table4 133, cat-rs/table5
231, cat-rs/table6 45, cat-rs/table7 36, cat-rs/section4.2 1
"""


def spots() -> list[tuple[str, str, float, str, str, str, float]]:
    cells = []
    for line in (Path(__file__).parent / "spots.txt").read_text().splitlines()[1:]:
        name, dataset, sigma, method, setting, pairs = (part.strip() for part in line.split("|"))
        for pair in pairs.split(", "):
            metric, value = pair.replace("@", "accuracy@").split(" ")
            cells.append((name, dataset, float(sigma), method, setting, metric, float(value)))
    return cells


def test_every_object_has_all_its_cells_once() -> None:
    table = published()
    counted = (table["paper"] + "/" + table["object"]).value_counts().to_dict()
    assert counted == {name: int(cells) for name, cells in (pair.split() for pair in CELLS.split(","))}
    assert not table.duplicated([*ROW, "metric"]).any() and table["value"].notna().all()


def test_cells_typed_again() -> None:
    table = published().assign(name=lambda table: table["paper"] + "/" + table["object"])
    about = table[["name", "dataset", "sigma", "method", "setting", "metric"]].itertuples(index=False, name=None)
    values = pd.Series(table["value"].to_numpy(), index=pd.MultiIndex.from_tuples(about))
    for *key, value in spots():
        assert values[tuple(key)] == value, key


def wide(name: str) -> pd.DataFrame:
    """One object, a line for each of its rows and a column for each of its metrics."""
    return published(*name.split("/")).pivot(
        index=["dataset", "sigma", "method", "setting"], columns="metric", values="value"
    )


# What one object prints, another of the same paper prints again: the same rows with the same numbers.
TWICE = [
    ("acr/table2", "", "acr/table3", ""),
    ("acr/table2", "", "acr/table5", "E_t=70"),
    ("acr/table2", "", "acr/table6", "p_t=0.4"),
    ("acr/table2", "", "acr/table7", "eps=0.25"),
    ("acr/table2", "", "acr/table8", "T=6"),
    ("acr/table9", "linf-eps=0.25", "acr/table10", "linf-T=6"),
    ("macer/table1", "", "macer/table3", ""),
    ("macer/table1", "", "macer/table8", ""),
    ("macer/table10", "k=16", "macer/table12", "gamma=8"),
    ("macer/table10", "k=16", "macer/table13", "beta=16"),
    ("cat-rs/table3", "resnet20", "cat-rs/table6", "lbd=1"),
    ("cat-rs/table3", "resnet20", "cat-rs/table7", "m=4"),
]
# Where one paper prints two numbers for the same thing: the metrics that differ by more than rounding.
DIFFERING = [
    ("acr/table2", "", "acr/table3", "", ("cifar10", 0.5, "gaussian"), "acr @0 @0.25 @0.5 @0.75 @1 @1.25 @1.5 @1.75"),
    ("cat-rs/table1", "", "cat-rs/table4", "", ("mnist", 1.0, "gaussian"), "acr @0 @1 @1.5 @2 @2.5"),
    ("cat-rs/table2", "", "cat-rs/section4.2", "", ("cifar10", 0.5, "smoothadv"), "@0"),
    ("macer/table1", "", "macer/table11", "lbd=4", ("cifar10", 0.5, "macer"), "@1"),
]


def test_what_is_printed_twice() -> None:
    for here, setting, there, again in TWICE:
        first, second = (
            wide(name).query("setting == @s").droplevel("setting") for name, s in ((here, setting), (there, again))
        )
        first, second = (t[t.index.get_level_values("method") != "gaussian"] for t in (first, second))
        rows, columns = first.index.intersection(second.index), first.columns.intersection(second.columns)
        assert len(rows) and len(columns), there
        pd.testing.assert_frame_equal(first.loc[rows, columns], second.loc[rows, columns], obj=there)
    for here, setting, there, again, row, metrics in DIFFERING:
        one, other = wide(here).loc[(*row, setting)], wide(there).loc[(*row, again)]
        differing = {metric for metric in other.index if metric in one.index and one[metric] != other[metric]}
        assert differing == {*metrics.replace("@", ACCURACY).split()}, (here, there)


def test_no_row_of_the_papers_contradicts_itself() -> None:
    found = inconsistencies()
    assert found.empty and [*found.columns] == [*ROW, "what"]


def test_a_name_that_no_paper_has() -> None:
    check_refusals(
        [
            (lambda: published("smoothmix"), "'smoothmix' | acr, cat-rs, macer"),
            (lambda: published("acr", "table4"), "acr 'table4' | table10"),
            (lambda: published("acr", "Table2"), "'Table2' | 'table2'"),
            (lambda: published("macer", "c1-remaining-data"), "macer 'c1-remaining-data'"),
            (lambda: published(None, "figure9"), "'figure9' | c1-remaining-data"),
        ]
    )


def test_the_bounds_on_acr_by_hand() -> None:
    low, high = area([0.0, 0.25, 0.5], [0.8, 0.6, 0.5], 0.95, [0.0] * 3)
    assert low == pytest.approx(0.25 * 0.6 + 0.25 * 0.5)
    assert high == pytest.approx(0.25 * 0.8 + 0.25 * 0.6 + 0.45 * 0.5)


def test_each_kind_of_contradiction_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for acr, percent, values in (
        (0.40, [80.0, 60.0, 61.0], ("60.0", "0.25", "61.0", "0.5")),
        (0.40, [80.0, 60.0, 50.0, 40.0, 0.1], ("0.1", "0.953")),
        (0.90, [80.0, 60.0, 50.0], ("ACR 0.9",)),
        (0.17, [80.0, 60.0, 50.0], ("ACR 0.17",)),
    ):
        monkeypatch.setattr(published_values, "cells", lambda given=(acr, percent): cells(0.25, "broken", *given))
        found = inconsistencies()
        assert found["setting"].tolist() == ["broken"], values
        assert all(value in found["what"][0] for value in values), found["what"][0]


def cells(sigma: float, setting: str, acr: float, percent: list[float]) -> list[Printed]:
    """A row as a paper prints it: its ACR, and its certified accuracy at 0, 0.25, 0.5 and so on."""
    values = {"acr": f"{acr:.3f}"} | {f"{ACCURACY}{0.25 * i:g}": f"{p:.1f}" for i, p in enumerate(percent)}
    row = ("none", "table1", "first", "cifar10", str(sigma), "gaussian", setting)
    return [Printed(*row, *item) for item in values.items()]
