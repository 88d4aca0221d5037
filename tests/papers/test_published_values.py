"""The published numbers: complete, typed right, and what is known to be wrong in the papers themselves."""

import numpy as np
import pandas as pd
import pytest

from randsmooth.bounds import largest_radius
from randsmooth.errors import InputError
from randsmooth.papers import inconsistencies, published, row_checks
from randsmooth.papers.row_checks import ROW, area

# Cells of each object, counted in the paper: rows times numbers in a row.
CELLS = {
    "acr/table1": 5 * 4,  # methods; ACR, easy, hard, easy / hard
    "acr/table2": 3 * 7 * (1 + 11),  # sigmas, methods; ACR and the radii 0 to 2.5
    "acr/table3": 3 * 8 * (1 + 11),
    "acr/table5": 5 * (1 + 8),  # E_t; ACR and the radii 0 to 1.75, at sigma 0.5 alone
    "acr/table6": 6 * (1 + 8),
    "acr/table7": 5 * (1 + 8),
    "acr/table8": 5 * (1 + 8),
    "acr/table9": 4 * (1 + 8),
    "acr/table10": 6 * (1 + 8),
    "acr/c1-remaining-data": 3,
    "macer/table1": 3 * 3 * (10 + 1),
    "macer/table2": 3 * 3 * (7 + 1),
    "macer/table3": 2 * 3 * 4,  # data sets, methods; sec/epoch, epochs, hours, ACR
    "macer/table6": 3 * 2 * (10 + 1),
    "macer/table7": 2 * 2 * (10 + 1),
    "macer/table8": 2 * 3 * (8 + 3),  # ACR, epochs, hours
    "macer/table10": 2 * 5 * (10 + 1),
    "macer/table11": 2 * 6 * (10 + 1),
    "macer/table12": 2 * 8 * (10 + 1),
    "macer/table13": 2 * 7 * (10 + 1) - 1,  # the ACR of beta 1 at sigma 0.5 cannot be read in the text
    "cat-rs/table1": 3 * 7 * (1 + 11),
    "cat-rs/table2": 3 * 7 * (1 + 11),
    "cat-rs/table3": 6 * (1 + 8),
    "cat-rs/table4": (1 + 6 + 5 + 7) * (1 + 6),  # rows of each method; ACR and the radii 0 to 2.5 by halves
    "cat-rs/table5": 3 * 7 * (1 + 10),
    "cat-rs/table6": 5 * (1 + 8),
    "cat-rs/table7": 4 * (1 + 8),
    "cat-rs/section4.2": 1,
}

# object | data set | sigma | method | setting | metric: value pairs, typed from the paper once more
SPOTS = """
acr/table1    | cifar10 | 0.5  | gaussian    | | acr 0.56, gradient-norm/easy 10.10, gradient-norm/hard 22.67
acr/table1    | cifar10 | 0.5  | smoothadv   | | acr 0.68, gradient-norm/hard 5.62, gradient-norm/ratio 1.00
acr/table1    | cifar10 | 0.5  | cat-rs      | | gradient-norm/easy 30.45, gradient-norm/ratio 4.28
acr/table2    | cifar10 | 0.25 | gaussian    | | acr 0.486, @0 81.3, @0.75 32.4, @1 0.0
acr/table2    | cifar10 | 0.25 | smoothmix   | | acr 0.543, @0.25 67.6, @2.5 0.0
acr/table2    | cifar10 | 0.5  | gaussian    | | acr 0.562, @0 68.7, @1.75 4.8
acr/table2    | cifar10 | 0.5  | cat-rs      | | acr 0.757, @0 62.3, @1 38.5, @1.5 27.1
acr/table2    | cifar10 | 1.0  | macer       | | acr 0.760, @0 39.5, @2.5 13.8
acr/table2    | cifar10 | 1.0  | amplify     | | acr 0.844, @0 42.0, @2 20.6
acr/table3    | cifar10 | 0.25 | amplify     | discard | acr 0.515, @0 81.2, @0.75 36.8
acr/table3    | cifar10 | 0.25 | amplify     | reweight+attack | acr 0.554, @0 75.0, @0.5 58.1
acr/table3    | cifar10 | 0.5  | gaussian    | | acr 0.525, @0 65.7, @1 22.0, @1.75 3.9
acr/table3    | cifar10 | 0.5  | amplify     | reweight | acr 0.662, @0.25 59.7
acr/table3    | cifar10 | 0.5  | amplify     | attack | acr 0.701, @0 63.4, @1.75 16.5
acr/table3    | cifar10 | 1.0  | amplify     | discard+reweight | acr 0.736, @0 48.8, @2.5 8.7
acr/table3    | cifar10 | 1.0  | amplify     | discard+attack | acr 0.771, @0 47.0, @2.25 14.1
acr/table3    | cifar10 | 1.0  | amplify     | | acr 0.844, @2.5 16.1
acr/table5    | cifar10 | 0.5  | amplify     | E_t=50 | acr 0.738, @0 58.0, @1.75 21.8
acr/table5    | cifar10 | 0.5  | amplify     | E_t=110 | acr 0.746, @0.75 43.7
acr/table5    | cifar10 | 0.5  | amplify     | E_t=130 | @1.5 25.5
acr/table6    | cifar10 | 0.5  | amplify     | p_t=0.3 | acr 0.753, @1 39.0
acr/table6    | cifar10 | 0.5  | amplify     | p_t=0.6 | acr 0.758, @1 39.4, @1.75 22.2
acr/table6    | cifar10 | 0.5  | amplify     | p_t=0.8 | acr 0.740, @1.5 26.8
acr/table7    | cifar10 | 0.5  | amplify     | eps=0.125 | acr 0.744, @0 64.2
acr/table7    | cifar10 | 0.5  | amplify     | eps=0.5 | acr 0.703, @1.75 24.4
acr/table7    | cifar10 | 0.5  | amplify     | eps=2 | acr 0.533, @0 38.1
acr/table8    | cifar10 | 0.5  | amplify     | T=2 | acr 0.719, @0 66.2, @1.75 14.5
acr/table8    | cifar10 | 0.5  | amplify     | T=8 | @1.25 34.2
acr/table8    | cifar10 | 0.5  | amplify     | T=10 | acr 0.732, @1.75 24.6
acr/table9    | cifar10 | 0.5  | amplify     | linf-eps=0.125 | acr 0.722, @0 66.3, @1.75 13.7
acr/table9    | cifar10 | 0.5  | amplify     | linf-eps=0.25 | acr 0.746
acr/table9    | cifar10 | 0.5  | amplify     | linf-eps=1 | acr 0.640, @1.25 30.0
acr/table10   | cifar10 | 0.5  | amplify     | linf-T=3 | acr 0.718, @0.25 59.0
acr/table10   | cifar10 | 0.5  | amplify     | linf-T=5 | acr 0.736, @1.75 16.5
acr/table10   | cifar10 | 0.5  | amplify     | linf-T=8 | acr 0.742, @0 60.1
acr/c1-remaining-data | cifar10 | 0.25 | amplify | | remaining-data 91
acr/c1-remaining-data | cifar10 | 0.5  | amplify | | remaining-data 80
acr/c1-remaining-data | cifar10 | 1.0  | amplify | | remaining-data 58
macer/table1  | cifar10 | 0.25 | gaussian    | | acr 0.416, @0 75, @0.75 26, @1 0
macer/table1  | cifar10 | 0.5  | smoothadv   | | acr 0.709, @0 50, @1.75 23
macer/table1  | cifar10 | 1.0  | macer       | | acr 0.792, @0 45, @2.25 16
macer/table2  | imagenet | 0.25 | macer      | | acr 0.544, @0 68, @0.5 57
macer/table2  | imagenet | 0.5 | smoothadv   | | acr 0.815, @1.5 37, @2 0
macer/table2  | imagenet | 1.0 | gaussian    | | acr 0.863, @0 44, @3 12
macer/table3  | cifar10 | 0.25 | gaussian    | | seconds 31.4, epochs 150, hours 1.31, acr 0.416
macer/table3  | cifar10 | 0.25 | macer       | | seconds 504.0, epochs 440, hours 61.60, acr 0.556
macer/table3  | imagenet | 0.25 | smoothadv  | | seconds 7723.8, epochs 90, hours 193.10, acr 0.528
macer/table6  | mnist   | 0.25 | gaussian    | | acr 0.887, @0 99, @0.75 89
macer/table6  | mnist   | 0.5  | macer       | | acr 1.583, @1.75 50
macer/table6  | mnist   | 1.0  | macer       | | acr 1.520, @0 89, @2.25 28
macer/table7  | svhn    | 0.25 | gaussian    | | acr 0.469, @0 90, @0.5 44
macer/table7  | svhn    | 0.25 | macer       | | acr 0.540, @0.25 72
macer/table7  | svhn    | 0.5  | macer       | | acr 0.538, @0 61, @1.75 4
macer/table8  | cifar10 | 0.25 | macer       | 150-epochs | acr 0.531, @0 76, epochs 150, hours 21.00
macer/table8  | cifar10 | 0.25 | smoothadv   | | acr 0.538, @0.75 47, hours 82.92
macer/table8  | cifar10 | 0.5  | macer       | 150-epochs | acr 0.712, @1.75 13
macer/table8  | cifar10 | 0.5  | macer       | | acr 0.726, epochs 440, hours 61.60
macer/table10 | cifar10 | 0.25 | macer       | k=1 | acr 0.448, @0 77, @0.5 45
macer/table10 | cifar10 | 0.25 | macer       | k=16 | acr 0.556, @0.75 43
macer/table10 | cifar10 | 0.5  | macer       | k=8 | acr 0.699, @1.5 22
macer/table11 | cifar10 | 0.25 | macer       | lbd=0 | acr 0.488, @0 82
macer/table11 | cifar10 | 0.5  | macer       | lbd=2 | acr 0.709, @0 70, @1.75 9
macer/table11 | cifar10 | 0.5  | macer       | lbd=16 | acr 0.711, @1.25 30
macer/table12 | cifar10 | 0.25 | macer       | gamma=4 | acr 0.521, @0 83
macer/table12 | cifar10 | 0.5  | macer       | gamma=12 | acr 0.712, @1.25 34
macer/table12 | cifar10 | 0.5  | macer       | gamma=16 | acr 0.695, @1.75 17
macer/table13 | cifar10 | 0.25 | macer       | beta=64 | acr 0.517, @0.75 42
macer/table13 | cifar10 | 0.5  | macer       | beta=1 | @0 67, @1.75 10, @2.25 0
macer/table13 | cifar10 | 0.5  | macer       | beta=2 | acr 0.719, @0 63, @1.75 13
macer/table13 | cifar10 | 0.5  | macer       | beta=64 | acr 0.579, @1.75 16
cat-rs/table1 | mnist   | 0.25 | stability   | | acr 0.914, @0 99.3, @0.75 93.8
cat-rs/table1 | mnist   | 0.5  | macer       | | acr 1.583, @0 98.5, @1.75 54.0
cat-rs/table1 | mnist   | 0.5  | cat-rs      | | acr 1.699, @1.5 82.3
cat-rs/table1 | mnist   | 1.0  | gaussian    | | acr 1.619, @0 96.3, @2.5 10.9
cat-rs/table1 | mnist   | 1.0  | smoothmix   | | acr 1.820, @2.5 28.9
cat-rs/table2 | cifar10 | 0.25 | consistency | | acr 0.552, @0.5 58.1
cat-rs/table2 | cifar10 | 0.5  | smoothadv   | | acr 0.717, @0 53.1, @1.75 24.0
cat-rs/table2 | cifar10 | 0.5  | gaussian    | | acr 0.525, @0 65.7, @1.75 3.9
cat-rs/table2 | cifar10 | 1.0  | stability   | | acr 0.514, @0 43.0, @2.5 3.1
cat-rs/table2 | cifar10 | 1.0  | cat-rs      | | acr 0.812, @0 43.9, @2.5 13.9
cat-rs/table3 | cifar10 | 0.5  | gaussian    | resnet20 | acr 0.532, @0 68.2, @1.75 4.0
cat-rs/table3 | cifar10 | 0.5  | cat-rs      | low-only | acr 0.552, @0 67.0
cat-rs/table3 | cifar10 | 0.5  | cat-rs      | high-only | acr 0.687, @0 52.8
cat-rs/table3 | cifar10 | 0.5  | cat-rs      | no-mask | acr 0.712, @0 57.0
cat-rs/table3 | cifar10 | 0.5  | cat-rs      | mean-high | acr 0.692, @0 60.2
cat-rs/table3 | cifar10 | 0.5  | cat-rs      | resnet20 | acr 0.717, @1.25 33.6
cat-rs/table4 | mnist   | 1.0  | gaussian    | | acr 1.620, @0 96.4, @2.5 10.8
cat-rs/table4 | mnist   | 1.0  | consistency | lbd=25 | acr 1.226, @0 73.2, @2.5 14.5
cat-rs/table4 | mnist   | 1.0  | smoothmix   | eta=16 | acr 1.812, @2.5 29.6
cat-rs/table4 | mnist   | 1.0  | cat-rs      | lbd=0 | acr 1.675, @0 96.9
cat-rs/table4 | mnist   | 1.0  | cat-rs      | lbd=0.12 | acr 1.770, @1.5 64.7
cat-rs/table4 | mnist   | 1.0  | cat-rs      | lbd=4 | acr 1.788, @2 48.7
cat-rs/table5 | cifar10 | 0.25 | cat-rs      | p0=1 | acr 0.536, @0 71.6
cat-rs/table5 | cifar10 | 0.25 | cat-rs      | p0=0 | acr 0.508, @0.75 45.4
cat-rs/table5 | cifar10 | 0.5  | cat-rs      | p0=0.25 | acr 0.707, @1.5 24.6
cat-rs/table5 | cifar10 | 1.0  | cat-rs      | p0=0.03125 | acr 0.815, @0.25 41.6
cat-rs/table5 | cifar10 | 1.0  | cat-rs      | p0=0 | acr 0.784, @2.25 15.0
cat-rs/table6 | cifar10 | 0.5  | cat-rs      | lbd=0.25 | acr 0.681, @0 65.4
cat-rs/table6 | cifar10 | 0.5  | cat-rs      | lbd=2 | acr 0.719, @1.5 29.6
cat-rs/table6 | cifar10 | 0.5  | cat-rs      | lbd=4 | acr 0.720, @1.75 24.8
cat-rs/table7 | cifar10 | 0.5  | cat-rs      | m=1 | acr 0.667, @0 63.6, @1.75 14.8
cat-rs/table7 | cifar10 | 0.5  | cat-rs      | m=2 | acr 0.689, @1 35.0
cat-rs/table7 | cifar10 | 0.5  | cat-rs      | m=8 | acr 0.708, @1.75 21.8
cat-rs/section4.2 | cifar10 | 0.5 | smoothadv | | @0 53.2
"""


def spots() -> list[tuple[str, str, float, str, str, str, float]]:
    cells = []
    for line in SPOTS.strip().splitlines():
        name, dataset, sigma, method, setting, pairs = (part.strip() for part in line.split("|"))
        for pair in pairs.split(", "):
            metric, value = pair.replace("@", "accuracy@").split(" ")
            cells.append((name, dataset, float(sigma), method, setting, metric, float(value)))
    return cells


def full_names(table: pd.DataFrame) -> pd.Series:
    return table["paper"] + "/" + table["object"]


def test_every_object_has_all_its_cells() -> None:
    assert full_names(published()).value_counts().to_dict() == CELLS


def test_no_cell_stands_twice() -> None:
    table = published()
    assert not table.duplicated([*ROW, "metric"]).any()
    assert table["value"].notna().all()


@pytest.mark.parametrize("spot", spots(), ids=lambda spot: f"{spot[0]}-{spot[2]}-{spot[3]}-{spot[4]}-{spot[5]}")
def test_cells_typed_again(spot: tuple[str, str, float, str, str, str, float]) -> None:
    paper, name = spot[0].split("/")
    table = published(paper, name)
    about = list(table[["dataset", "sigma", "method", "setting", "metric"]].itertuples(index=False, name=None))
    values = [value for key, value in zip(about, table["value"], strict=True) if key == spot[1:6]]
    assert values == [spot[6]]


def test_every_object_is_spotted_thrice_or_whole() -> None:
    spotted = pd.Series([name for name, *_ in spots()]).value_counts().to_dict()
    assert all(spotted[name] >= min(3, cells) for name, cells in CELLS.items())


def test_names_are_those_of_the_package() -> None:
    table = published()
    methods = {"gaussian", "stability", "smoothadv", "macer", "consistency", "smoothmix", "cat-rs", "amplify"}
    assert set(table["method"]) == methods
    assert set(table["dataset"]) == {"cifar10", "imagenet", "mnist", "svhn"}
    assert set(table["sigma"]) == {0.25, 0.5, 1.0}


def wide(name: str) -> pd.DataFrame:
    """One object, a line for each of its rows and a column for each of its metrics."""
    return published(*name.split("/")).pivot(
        index=["dataset", "sigma", "method", "setting"], columns="metric", values="value"
    )


def test_hours_are_epochs_of_seconds() -> None:
    told = wide("macer/table3")
    np.testing.assert_allclose(told["seconds"] * told["epochs"] / 3600.0, told["hours"], atol=0.006)


def test_the_ratio_of_gradient_norms() -> None:
    told = wide("acr/table1")
    np.testing.assert_allclose(
        told["gradient-norm/easy"] / told["gradient-norm/hard"], told["gradient-norm/ratio"], atol=0.006
    )


# What one object prints, another of the same paper prints again: the same rows with the same numbers.
@pytest.mark.parametrize(
    ("here", "setting", "there", "again"),
    [
        ("acr/table2", "", "acr/table3", ""),
        *(
            ("acr/table2", "", f"acr/table{i}", main)
            for i, main in enumerate(("E_t=70", "p_t=0.4", "eps=0.25", "T=6"), 5)
        ),
        ("acr/table9", "linf-eps=0.25", "acr/table10", "linf-T=6"),
        ("macer/table1", "", "macer/table3", ""),
        ("macer/table1", "", "macer/table8", ""),
        ("macer/table10", "k=16", "macer/table12", "gamma=8"),
        ("macer/table10", "k=16", "macer/table13", "beta=16"),
        ("cat-rs/table3", "resnet20", "cat-rs/table6", "lbd=1"),
        ("cat-rs/table3", "resnet20", "cat-rs/table7", "m=4"),
    ],
)
def test_what_is_printed_twice(here: str, setting: str, there: str, again: str) -> None:
    first, second = (
        wide(name).query("setting == @s").droplevel("setting") for name, s in ((here, setting), (there, again))
    )
    first, second = (t[t.index.get_level_values("method") != "gaussian"] for t in (first, second))
    rows, columns = first.index.intersection(second.index), first.columns.intersection(second.columns)
    assert len(rows) and len(columns)
    pd.testing.assert_frame_equal(first.loc[rows, columns], second.loc[rows, columns])


# Where one paper prints two numbers for the same thing: the metrics that differ by more than rounding.
DIFFERING = [
    ("acr/table2", "", "acr/table3", "", ("cifar10", 0.5, "gaussian"), "acr @0 @0.25 @0.5 @0.75 @1 @1.25 @1.5 @1.75"),
    ("cat-rs/table1", "", "cat-rs/table4", "", ("mnist", 1.0, "gaussian"), "acr @0 @1 @1.5 @2 @2.5"),
    ("cat-rs/table2", "", "cat-rs/section4.2", "", ("cifar10", 0.5, "smoothadv"), "@0"),
    ("macer/table1", "", "macer/table11", "lbd=4", ("cifar10", 0.5, "macer"), "@1"),
]


@pytest.mark.parametrize(("here", "setting", "there", "again", "row", "metrics"), DIFFERING)
def test_what_is_printed_twice_and_differs(
    here: str, setting: str, there: str, again: str, row: tuple[str, float, str], metrics: str
) -> None:
    dataset, sigma, method = row
    first = wide(here).loc[(dataset, sigma, method, setting)]
    second = wide(there).loc[(dataset, sigma, method, again)]
    differing = [metric for metric in second.index if metric in first.index and first[metric] != second[metric]]
    assert {metric.removeprefix("accuracy") for metric in differing} == set(metrics.split())


@pytest.mark.slow
def test_no_row_of_the_papers_contradicts_itself() -> None:
    assert inconsistencies().values.tolist() == []
    assert list(inconsistencies().columns) == [*ROW, "what"]


@pytest.mark.parametrize(
    ("paper", "name", "message"),
    [
        ("smoothmix", None, "unknown paper 'smoothmix'.*acr, cat-rs, macer"),
        ("acr", "table4", "unknown object of acr 'table4'.*table10"),
        ("acr", "Table2", "did you mean 'table2'"),
        ("macer", "c1-remaining-data", "unknown object of macer 'c1-remaining-data'"),
        (None, "figure9", "unknown object 'figure9'.*c1-remaining-data"),
    ],
)
def test_a_name_that_no_paper_has(paper: str | None, name: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        published(paper, name)


def test_the_bounds_on_acr_by_hand() -> None:
    low, high = area(np.array([0.0, 0.25, 0.5]), np.array([0.8, 0.6, 0.5]), 0.95)
    assert low == pytest.approx(0.25 * 0.6 + 0.25 * 0.5)
    assert high == pytest.approx(0.25 * 0.8 + 0.25 * 0.6 + 0.45 * 0.5)


@pytest.mark.parametrize("sigma", [0.25, 0.5, 1.0])
def test_rounded_figures_of_a_real_classifier_never_contradict_themselves(
    sigma: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, farthest = np.random.default_rng(7), largest_radius(100_000, 0.001, sigma)
    tables = []
    for k in range(200):
        a, b = rng.uniform(0.2, 3.0, size=2)
        radii, right = farthest * rng.beta(a, b, size=50), rng.random(50) < 0.8
        percent = [100.0 * (right & (radii >= r)).mean() for r in np.arange(0.0, 2.5, 0.25)]
        tables.append(cells(sigma, str(k), (right * radii).mean(), percent))
    monkeypatch.setattr(row_checks, "published_texts", lambda: pd.concat(tables))
    assert inconsistencies().empty


@pytest.mark.parametrize(
    ("acr", "percent", "what"),
    [
        (0.40, [80.0, 60.0, 61.0], "accuracy rises from 60 at 0.25 to 61 at 0.5"),
        (0.40, [80.0, 60.0, 50.0, 40.0, 0.1], "accuracy 0.1 at 1, but no radius beyond 0.953 can be certified"),
        (0.90, [80.0, 60.0, 50.0], "ACR 0.9 is outside"),
        (0.17, [80.0, 60.0, 50.0], "ACR 0.17 is outside"),
    ],
)
def test_each_kind_of_contradiction_is_found(
    acr: float, percent: list[float], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_checks, "published_texts", lambda: cells(0.25, "broken", acr, percent))
    found = inconsistencies()
    assert found["setting"].tolist() == ["broken"]
    assert found["what"][0].startswith(what)


def cells(sigma: float, setting: str, acr: float, percent: list[float]) -> pd.DataFrame:
    """A row as a paper prints it: its ACR, and its certified accuracy at 0, 0.25, 0.5 and so on."""
    values = {"acr": f"{acr:.3f}"} | {f"accuracy@{0.25 * i:g}": f"{p:.1f}" for i, p in enumerate(percent)}
    row = ("none", "table1", "first", "cifar10", str(sigma), "gaussian", setting)
    return pd.DataFrame([(*row, *item) for item in values.items()], columns=[*ROW, "metric", "value"])
