"""`randsmooth reproduce`: its list, its errors, a formula drawn, and what a folder of logs fills of all tables."""

import json
from pathlib import Path

import pandas as pd
import pytest

from cli.processes import Run
from papers.test_reproduce import row_of, with_accuracies
from randsmooth.papers import SCALES, find_object, survey


def test_the_list_names_every_object_and_what_is_missing_is_told_as_commands(
    cli: Run,
) -> None:
    code, out, _ = cli("reproduce", "--list")
    assert code == 0 and len(out.splitlines()) >= 45
    assert any(
        line.startswith("acr/table2") and "certificates of 21 models" in line
        for line in out.splitlines()
    )
    assert any(
        line.startswith("acr/figure2") and "needs nothing" in line
        for line in out.splitlines()
    )
    assert "acr/icml-table6 is acr/table4" in out
    for name, text in (
        ("acr/table1", "arXiv v1"),
        ("macer/table2", "ICLR 2020"),
        ("cat-rs/table4", "submission"),
    ):
        assert text in cli.done("reproduce", name).out.splitlines()[1], name
    code, out, _ = cli("reproduce", "cat-rs/table7", "--scale", "cpu")
    assert code == 0 and "missing: 4 of 4 models" in out
    assert (
        "randsmooth train cifar10 --sigma 0.5 --preset cat-rs/cat-rs/m=1 --epochs 8 --take 20000"
        in out
    )
    assert not Path("reproduced").exists()


@pytest.mark.slow
def test_what_is_missing_is_made_side_by_side_and_one_failure_does_not_stop_the_rest(
    cli: Run,
) -> None:
    words = ("reproduce", "acr/c1", "--scale", "tiny", "--run", "--workers", 2)
    names = sorted(
        SCALES["tiny"].model_folder_name(row) for row in find_object("acr/c1").rows()
    )
    in_the_way = Path("reproduced/tiny") / names[0]
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("a file where a folder should be")
    code, out, _ = cli(*words)
    assert code == 1 and "missing: 1 of 3 models" in out
    assert f"{names[0]}: {in_the_way} is a file; --out names a folder" in out
    made = sorted(Path("reproduced/tiny").glob("*/model.safetensors"))
    assert [path.parent.name for path in made] == names[1:]
    before = [path.stat().st_mtime_ns for path in made]
    in_the_way.unlink()
    code, out, _ = cli(*words)
    assert (
        code == 0
        and "missing" not in out
        and names[1] not in out.partition("acr/c1:")[0]
    )
    assert [
        path.stat().st_mtime_ns for path in made
    ] == before  # they were not trained again
    assert len([*Path("reproduced/tiny").glob("*.parquet")]) == 3


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with one log as table 2 of Sun et al. prints it, one of another run, and one of no table."""
    row = row_of("acr", "table2", "gaussian", 0.5)
    shares = {
        float(m.removeprefix("accuracy@")): v
        for m, v in row.figures.items()
        if m != "acr" and v > 0.0
    }
    data = tmp_path / "smoothing-catrs" / "data"
    for place, factor, images in (
        ("cifar10/cohen", 1, 10_000),
        ("cifar10/macer", 2, 10_000),
        ("fmnist/cohen", 1, 500),
    ):
        dataset, method = place.split("/")
        log = data / dataset / "noise_0.5" / method / "noise_0.5.tsv"
        with_accuracies(log, {r: v / factor for r, v in shares.items()}, images, 1.91)
    (data / "predictions").write_text(
        "idx\tlabel\tpredict\tcorrect\ttime\n0\t1\t1\t1\t0:00:01\n"
    )
    return data.parent


def test_a_folder_fills_tables_row_by_row(cli: Run, clone: Path) -> None:
    found = survey(clone)
    table = next(table for table in found.drawn if table.object.name == "acr/table2")
    # 8 accuracies within reach, as printed, and ACR.
    assert table.cells.compared == 9 and 8 <= table.cells.explained <= 9
    assert [f.dataset for f in found.unused] == ["fashion-mnist"] and len(
        found.files
    ) == 3
    (said,) = found.skipped
    assert said.startswith("skipped as logs of predictions, which certify nothing:")

    told = cli.done("reproduce", clone, "--out", "out")
    lines = told.out.splitlines()
    at = lines.index("acr/table2: certified accuracy and ACR on CIFAR-10, all methods")
    assert (
        lines[at + 1].startswith("  1 of 21 rows; ")
        and "of 9 cells as printed, to rounding" in lines[at + 1]
    )
    assert lines[at + 2] == "  only logs of other runs: macer at sigma 0.5"
    assert lines[at + 3].startswith("  nothing at hand: gaussian, macer, smoothadv")
    assert "3 certificate tables, 1 without a row" in told.out
    # What was skipped, and why, stands in the answer, which a file may hold alone.
    assert "predictions" in told.out and "predictions" not in told.err
    content = json.loads(
        cli.done("reproduce", clone, "--out", "out", "--format", "json").out
    )
    assert content["skipped"] == [said]
    assert "  gaussian on fashion-mnist (1)" in lines
    assert any(line.startswith("nothing at all of acr/table5, ") for line in lines)
    cells = pd.read_csv("out/smoothing-catrs-cells.csv")
    ours = cells[
        (cells["object"] == "acr/table2")
        & (cells["method"] == "gaussian")
        & (cells["sigma"] == 0.5)
    ]
    assert len(ours) == 12 and ours["explained"].notna().sum() == 9
    assert (
        cli("reproduce", "--from", clone, "--out", "out").out == told.out
    )  # --from alone means all tables


def test_cells_that_differ_are_named_the_worst_first(
    clone: Path, tmp_path: Path
) -> None:
    row = row_of("acr", "table2", "gaussian", 0.5)
    accuracy = {
        float(metric.removeprefix("accuracy@")): value
        for metric, value in row.figures.items()
        if metric != "acr" and value > 0.0
    }
    changed = accuracy | {0.25: accuracy[0.25] + 3.0, 0.75: accuracy[0.75] + 1.0}
    log = tmp_path / "runs" / "cifar10-sigma0.5" / "gaussian.tsv"
    with_accuracies(log, changed, 10_000, 1.91)
    differing = [
        cell
        for cell in survey(tmp_path / "runs").differing
        if cell.table == "acr/table2" and cell.metric != "acr"
    ]
    assert [cell.metric for cell in differing] == ["accuracy@0.25", "accuracy@0.75"]
    assert differing[0].difference == "+3.0"
    assert all(cell.row.method == "gaussian" for cell in differing)


def test_bad_input(cli: Run, clone: Path) -> None:
    Path("empty").mkdir()
    assert (
        "0 certificate tables" in cli.done("reproduce", "empty").out
        and not Path("reproduced").exists()
    )
    bad = {
        "": "--list prints them all",
        "acr/tabel2": "did you mean 'acr/table2'",
        "acr/table4": "settings, which `randsmooth methods` lists",
        "acr/icml-table6": "settings, which `randsmooth methods` lists",
        "acr/icml-table7": "settings, which `randsmooth methods` lists",
        "acr/icml-table1": "acr/icml-table6, acr/icml-table7 are known here. Take the number in the first version",
        "acr/c1 --scale tiny --run --workers 0": "--workers 0",
        f"{clone} --run": "names no table",
        __file__: "FOLDER/DATASET-sigmaSIGMA/METHOD.tsv",
    }
    cli.refuses(bad, "reproduce")
