"""The published numbers: complete, typed right, and what is known to be wrong in the papers themselves."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pandas as pd

from models.refusing import check_refusals
from randsmooth.errors import UnknownName
from randsmooth.noise import Gaussian
from randsmooth.papers import published
from randsmooth.papers.objects import EDITIONS, OBJECTS
from randsmooth.papers.published_values import ACCURACY, cells
from values import Refusal

ROW = ["paper", "object", "version", "dataset", "sigma", "method", "setting"]

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
        name, dataset, sigma, method, setting, pairs = (
            part.strip() for part in line.split("|")
        )
        for pair in pairs.split(", "):
            metric, value = pair.replace("@", "accuracy@").split(" ")
            cells.append(
                (name, dataset, float(sigma), method, setting, metric, float(value))
            )
    return cells


def test_every_object_has_all_its_cells_once() -> None:
    table = published()
    counted = (table["paper"] + "/" + table["object"]).value_counts().to_dict()
    assert counted == {
        name: int(cells) for name, cells in (pair.split() for pair in CELLS.split(","))
    }
    assert not table.duplicated([*ROW, "metric"]).any() and table["value"].notna().all()


def test_the_text_that_is_named_is_the_one_that_all_cells_were_read_in() -> None:
    versions = {(cell.paper, cell.version) for cell in cells()}
    assert versions == {
        ("acr", "arxiv-v1"),
        ("macer", "iclr"),
        ("cat-rs", "submission"),
    }
    for (paper, _), words in zip(
        sorted(versions), ("arXiv v1", "submission", "ICLR"), strict=True
    ):
        assert words in EDITIONS[paper]
    assert {thing.edition for thing in OBJECTS} == set(EDITIONS.values())


def test_cells_typed_again() -> None:
    table = published().assign(
        name=lambda table: table["paper"] + "/" + table["object"]
    )
    about = table[
        ["name", "dataset", "sigma", "method", "setting", "metric"]
    ].itertuples(index=False, name=None)
    values = pd.Series(
        table["value"].to_numpy(), index=pd.MultiIndex.from_tuples(about)
    )
    for *key, value in spots():
        assert values[tuple(key)] == value, key


def wide(name: str) -> pd.DataFrame:
    """One object, a line for each of its rows and a column for each of its metrics."""
    return published(*name.split("/")).pivot(
        index=["dataset", "sigma", "method", "setting"],
        columns="metric",
        values="value",
    )


# What one object prints, another of the same paper prints again: the same rows with the same numbers.
TWICE = """
acr/table2 acr/table3, acr/table2 acr/table5:E_t=70, acr/table2 acr/table6:p_t=0.4, acr/table2 acr/table7:eps=0.25,
acr/table2 acr/table8:T=6, acr/table9:linf-eps=0.25 acr/table10:linf-T=6, macer/table1 macer/table3,
macer/table1 macer/table8, macer/table10:k=16 macer/table12:gamma=8, macer/table10:k=16 macer/table13:beta=16,
cat-rs/table3:resnet20 cat-rs/table6:lbd=1, cat-rs/table3:resnet20 cat-rs/table7:m=4
"""
# Where one paper prints two numbers for the same thing: the metrics that differ by more than rounding.
DIFFERING = [
    (
        "acr/table2",
        "",
        "acr/table3",
        "",
        ("cifar10", 0.5, "gaussian"),
        "acr @0 @0.25 @0.5 @0.75 @1 @1.25 @1.5 @1.75",
    ),
    (
        "cat-rs/table1",
        "",
        "cat-rs/table4",
        "",
        ("mnist", 1.0, "gaussian"),
        "acr @0 @1 @1.5 @2 @2.5",
    ),
    ("cat-rs/table2", "", "cat-rs/section4.2", "", ("cifar10", 0.5, "smoothadv"), "@0"),
    ("macer/table1", "", "macer/table11", "lbd=4", ("cifar10", 0.5, "macer"), "@1"),
]


def test_what_is_printed_twice() -> None:
    for twice in TWICE.split(","):
        places = [place.partition(":") for place in twice.split()]
        first, second = (
            wide(name).query("setting == @s").droplevel("setting")
            for name, _, s in places
        )
        first, second = (
            t[t.index.get_level_values("method") != "gaussian"] for t in (first, second)
        )
        rows, columns = (
            first.index.intersection(second.index),
            first.columns.intersection(second.columns),
        )
        assert len(rows) and len(columns), twice
        pd.testing.assert_frame_equal(
            first.loc[rows, columns], second.loc[rows, columns], obj=twice
        )
    for here, setting, there, again, row, metrics in DIFFERING:
        one, other = wide(here).loc[(*row, setting)], wide(there).loc[(*row, again)]
        differing = {
            metric
            for metric in other.index
            if metric in one.index and one[metric] != other[metric]
        }
        assert differing == {*metrics.replace("@", ACCURACY).split()}, (here, there)


def contradictions(sigma: float, printed: Mapping[str, str]) -> Iterator[str]:
    """What contradicts itself in a row: ACR is the area under a curve that falls, to 0 where no count can certify.

    Every number may be off by half a unit of the last digit printed. Between two radii the curve lies between its
    values at both: it may fall right after the first, or only at the second.
    """
    farthest = Gaussian(sigma).largest_radius(100_000, 0.001)
    rows = {
        float(m.removeprefix(ACCURACY)): text
        for m, text in printed.items()
        if m.startswith(ACCURACY)
    }
    for (r, value), (beyond, after) in pairwise(rows.items()):
        if float(after) > float(value):
            yield f"accuracy rises from {value} at {r:g} to {after} at {beyond:g}"
    yield from (
        f"{value} at {r:g}, out of reach"
        for r, value in rows.items()
        if r > farthest and float(value) > 0
    )
    within = [
        (r, float(value) / 100, rounding(value) / 100)
        for r, value in rows.items()
        if r <= farthest
    ]
    widths = [
        after - r for r, after in pairwise([*(r for r, _, _ in within), farthest])
    ]
    low = sum(
        width * max(a - off, 0)
        for width, (_, a, off) in zip(widths, within[1:], strict=False)
    )
    high = sum(
        width * min(a + off, 1)
        for width, (_, a, off) in zip(widths, within, strict=True)
    )
    if (
        rows
        and "acr" in printed
        and not low
        <= float(acr := printed["acr"]) + rounding(acr)
        <= high + 2 * rounding(acr)
    ):
        yield f"ACR {acr} is outside [{low:.4f}, {high:.4f}]"


def rounding(text: str) -> float:
    return float(0.5 * 10.0 ** -len(text.partition(".")[2]))


def test_no_row_of_the_papers_contradicts_itself() -> None:
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for cell in cells():
        rows.setdefault(cell[: len(ROW)], {})[cell.metric] = cell.value
    for key, printed in rows.items():
        assert not key[4] or [*contradictions(float(key[4]), printed)] == [], key
    for acr, percent, said in (  # each kind is found
        (0.40, [80.0, 60.0, 61.0], "rises from 60.0 at 0.25 to 61.0 at 0.5"),
        (0.40, [80.0, 60.0, 50.0, 40.0, 0.1], "0.1 at 1, out of reach"),
        (0.90, [80.0, 60.0, 50.0], "ACR 0.900 is outside"),
        (0.17, [80.0, 60.0, 50.0], "ACR 0.170 is outside"),
    ):
        broken = {"acr": f"{acr:.3f}"} | {
            f"{ACCURACY}{0.25 * i:g}": f"{p:.1f}" for i, p in enumerate(percent)
        }
        assert said in next(contradictions(0.25, broken)), said


def test_a_name_that_no_paper_has() -> None:
    check_refusals(
        [
            (
                lambda: published("smoothmix"),
                Refusal(UnknownName, "'smoothmix'", "acr, cat-rs, macer"),
            ),
            (
                lambda: published("acr", "table4"),
                Refusal(UnknownName, "acr", "'table4'", "table10"),
            ),
            (
                lambda: published("acr", "Table2"),
                Refusal(UnknownName, "'Table2'", "'table2'"),
            ),
            (
                lambda: published("macer", "c1-remaining-data"),
                Refusal(UnknownName, "macer", "'c1-remaining-data'"),
            ),
            (
                lambda: published(None, "figure9"),
                Refusal(UnknownName, "'figure9'", "c1-remaining-data"),
            ),
        ]
    )
