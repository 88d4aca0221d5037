"""One damaged file among many: who compares refuses and names all; who collects names it and goes on."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

from cli.run import Run
from cli.test_leaderboard import LOG, certificates
from randsmooth.cli import reading
from randsmooth.errors import SeveralErrors

DAMAGED = {
    "flipped.parquet": "flipped.parquet",
    "cut.parquet": "is not a readable Parquet file",
    "huge.tsv": "line 2: radius='1e18' is below 0 or above 1000",
    "nul.tsv": "line 3: label='\\x00' is no number",
    "cut.tsv": "line 3: 4 cells instead of 6",
}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with two sound tables, at DATASET-sigmaSIGMA/METHOD, and five damaged files beside them."""
    folder = tmp_path / "runs" / "cifar10-sigma0.5"
    good = certificates(folder / "gaussian.parquet", model={"method": "gaussian"})
    (folder / "macer.tsv").write_text(LOG)
    content = bytearray(good.read_bytes())
    (folder / "cut.parquet").write_bytes(content[:500])
    content[60] ^= 4  # in the first column
    (folder / "flipped.parquet").write_bytes(content)
    (folder / "huge.tsv").write_text(LOG.replace("0.742", "1e18"))
    (folder / "nul.tsv").write_text(LOG.replace("8", "\0"))
    (folder / "cut.tsv").write_text(LOG[: LOG.rindex("\t0\t")] + "\n")
    return folder


def named_once(lines: list[str], runs: Path) -> bool:
    """Whether each damaged file has its line, with the reason, and no sound one has."""
    found = {name: [line for line in lines if str(runs / name) in line] for name in (*DAMAGED, *SOUND)}
    return all(len(found[name]) == 1 and why in found[name][0] for name, why in DAMAGED.items()) and not any(
        found[name] for name in SOUND
    )


SOUND = ("gaussian.parquet", "macer.tsv")


def test_all_damaged_files_are_named_at_once(cli: Run, runs: Path, tmp_path: Path) -> None:
    cases: list[str] = ["evaluate", "compare"]
    for verb in cases:
        files = sorted(runs.iterdir())
        told = cli(verb, *files, *(("--out", tmp_path / "page.html") if verb == "compare" else ()))
        lines = told.err.splitlines()
        assert (told.code, told.out) == (2, "") and all(line.startswith("randsmooth: ") for line in lines)
        assert len(lines) == len(DAMAGED) + 1 and named_once(lines, runs), told.err
        assert "5 of 7 files cannot be used" in lines[-1]
        assert not (tmp_path / "page.html").exists()
        assert (
            cli(verb, runs / "macer.tsv", *(("--out", tmp_path / "page.html") if verb == "compare" else ())).code == 0
        )


def test_files_that_cannot_be_judged_are_all_named(cli: Run, runs: Path, tmp_path: Path) -> None:
    """Read they can be, but not judged at what is asked for."""
    (tmp_path / "a.tsv").write_text(LOG)
    (tmp_path / "b.tsv").write_text(LOG)
    told = cli("evaluate", tmp_path / "a.tsv", tmp_path / "b.tsv", "--sigma", 0.01)
    assert told.code == 2 and [str(tmp_path / f"{name}.tsv") in told.err for name in "ab"] == [True, True]
    with pytest.raises(SeveralErrors) as error:
        reading.load([runs / "cut.tsv", runs / "nul.tsv", tmp_path / "none.tsv"])
    assert len(error.value.faults) == 4 and "is not there" in error.value.faults[2]


def test_the_leaderboard_goes_on_and_names_them_here_and_on_the_page(cli: Run, runs: Path, tmp_path: Path) -> None:
    told = cli("leaderboard", runs.parent, "--out", tmp_path / "board.html")
    assert told.code == 0, told.err
    assert named_once([line for line in told.err.splitlines() if line.startswith("note: skipped: ")], runs)
    page = html.unescape((tmp_path / "board.html").read_text())
    assert "Left out, as 5 files could not be used" in page
    assert named_once([line for line in page.split("<li>") if "<bdi>" + str(runs) in line], runs)
    records = json.loads((tmp_path / "board.json").read_text())
    assert {record["file"] for record in records} == {f"{runs.name}/{name}" for name in SOUND}


def test_a_folder_of_damaged_files_alone_is_no_leaderboard(cli: Run, runs: Path, tmp_path: Path) -> None:
    for name in SOUND:
        (runs / name).unlink()
    told = cli("leaderboard", runs, "--out", tmp_path / "board.html")
    assert told.code == 2 and "no certificates below" in told.err and not (tmp_path / "board.html").exists()
    assert named_once(told.err.splitlines(), runs)


def test_reproduce_goes_on_and_names_them(cli: Run, runs: Path, tmp_path: Path) -> None:
    told = cli("reproduce", "acr/table2", "--from", runs.parent, "--out", tmp_path / "out")
    assert told.code == 0, told.err
    assert named_once([line for line in told.out.splitlines() if line.startswith("note: skipped: ")], runs)
    assert (tmp_path / "out" / "acr-table2.txt").exists()
