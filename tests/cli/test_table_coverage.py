"""What a folder of logs fills of the papers' tables: said right, in the command as in the CSV."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from cli.run import Run
from papers.test_reproduce import row_of, with_accuracies
from randsmooth.papers import survey


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with one log as table 2 of Sun et al. prints it, one of another run, and one of no table."""
    folder = tmp_path / "smoothing-catrs"
    row = row_of("acr", "table2", "gaussian", 0.5)
    shares = {float(m.removeprefix("accuracy@")): v for m, v in row.figures.items() if m != "acr" and v > 0.0}
    near = folder / "data" / "cifar10" / "noise_0.5" / "cohen" / "noise_0.5.tsv"
    with_accuracies(near, shares, 10_000, 1.91)
    far = folder / "data" / "cifar10" / "noise_0.5" / "macer" / "noise_0.5.tsv"
    with_accuracies(far, {r: v / 2 for r, v in shares.items()}, 10_000, 1.91)
    with_accuracies(folder / "data" / "fmnist" / "noise_0.5" / "cohen" / "noise_0.5.tsv", shares, 500, 1.91)
    (folder / "data" / "predictions").write_text("idx\tlabel\tpredict\tcorrect\ttime\n0\t1\t1\t1\t0:00:01\n")
    return folder


def test_tables_are_filled_row_by_row(clone: Path) -> None:
    found = survey(clone)
    table = next(table for table in found.drawn if table.object.name == "acr/table2")
    assert [(row.method, row.sigma) for row in table.filled] == [("gaussian", 0.5)]
    assert [(row.method, row.sigma) for row in table.other_runs] == [("macer", 0.5)]
    assert len(table.missing) == 19
    assert table.compared == 9 and 8 <= table.explained <= 9  # 8 accuracies within reach, as printed, and ACR
    assert [f.dataset for f in found.unused] == ["fashion-mnist"] and len(found.files) == 3
    (said,) = found.skipped
    assert said.startswith("skipped as logs of predictions, which certify nothing:")


def test_the_command_lists_what_is_there_and_what_is_missing(cli: Run, clone: Path, tmp_path: Path) -> None:
    told = cli("reproduce", clone, "--out", tmp_path / "out")
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    at = lines.index("acr/table2: certified accuracy and ACR on CIFAR-10, all methods")
    assert lines[at + 1].startswith("  1 of 21 rows; ") and "of 9 cells as printed, to rounding" in lines[at + 1]
    assert lines[at + 2] == "  only logs of other runs: macer at sigma 0.5"
    assert lines[at + 3].startswith("  missing: gaussian, macer, smoothadv")
    assert "3 certificate tables, 1 of which stand in no row of these tables" in told.out
    assert "  gaussian on fashion-mnist (1)" in lines
    assert any(line.startswith("nothing at all of acr/table5, ") for line in lines)
    cells = pd.read_csv(tmp_path / "out" / "smoothing-catrs-cells.csv")
    ours = cells[(cells["object"] == "acr/table2") & (cells["method"] == "gaussian") & (cells["sigma"] == 0.5)]
    assert len(ours) == 12 and ours["explained"].notna().sum() == 9
    near = ours[ours["metric"] == "accuracy@0.5"].iloc[0]
    assert near["published"] == pytest.approx(near["here"], abs=0.05) and near["explained"]


def test_from_alone_means_all_tables(cli: Run, clone: Path, tmp_path: Path) -> None:
    assert cli("reproduce", "--from", clone, "--out", tmp_path / "a").out.replace("/a/", "/b/") == (
        cli("reproduce", clone, "--out", tmp_path / "b").out
    )


def test_a_folder_goes_with_no_other_source(cli: Run, clone: Path) -> None:
    cases: list[tuple[str, ...]] = [("--run",), ("--from", "elsewhere")]
    for more in cases:
        told = cli("reproduce", clone, *more)
        assert told.code == 2 and "is a folder: of its certificates all tables are listed" in told.err


def test_a_folder_without_certificates_fills_nothing(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    told = cli("reproduce", tmp_path / "empty")
    assert told.code == 0 and "0 certificate tables" in told.out and not (tmp_path / "reproduced").exists()
