"""Where files cannot be read, each is named once, by its path and its reason; and what tables are called."""

import html
import json
from pathlib import Path

import pytest

from cli.processes import Run
from cli.test_leaderboard import LOG, certificates
from randsmooth.cli import certificate_files

DAMAGED = {
    "flipped.parquet": "flipped.parquet",
    "cut.parquet": "is not a readable Parquet file",
    "huge.tsv": "line 2: radius='1e18' is below 0 or above 1000",
    "nul.tsv": "line 3: label='\\x00' is no number",
    "cut.tsv": "line 3: 4 cells instead of 6",
}
SOUND = ("gaussian.parquet", "macer.tsv")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with two sound tables, at DATASET-sigmaSIGMA/METHOD, and five damaged files beside them."""
    folder = tmp_path / "runs" / "cifar10-sigma0.5"
    content = bytearray(
        certificates(
            folder / "gaussian.parquet", model={"method": "gaussian"}
        ).read_bytes()
    )
    (folder / "cut.parquet").write_bytes(content[:500])
    content[60] ^= 4  # in the first column
    (folder / "flipped.parquet").write_bytes(content)
    logs = {
        "macer": LOG,
        "huge": LOG.replace("0.742", "1e18"),
        "nul": LOG.replace("8", "\0"),
    }
    for name, text in {**logs, "cut": LOG[: LOG.rindex("\t0\t")] + "\n"}.items():
        (folder / f"{name}.tsv").write_text(text)
    return folder


def named_once(lines: list[str], runs: Path) -> bool:
    """Whether each damaged file has its line, with the reason, and no sound one has."""
    found = {
        name: [line for line in lines if str(runs / name) in line]
        for name in (*DAMAGED, *SOUND)
    }
    told = all(
        len(found[name]) == 1 and why in found[name][0] for name, why in DAMAGED.items()
    )
    return told and not any(found[name] for name in SOUND)


def test_all_damaged_files_are_named_at_once(
    cli: Run, runs: Path, tmp_path: Path
) -> None:
    for verb in (["evaluate"], ["compare", "--out", tmp_path / "page.html"]):
        told = cli(*verb, *sorted(runs.iterdir()))
        lines = told.err.splitlines()
        assert (told.code, told.out) == (2, "") and all(
            line.startswith("randsmooth: ") for line in lines
        )
        assert len(lines) == len(DAMAGED) + 1 and named_once(lines, runs), told.err
        assert "5 of 7 files cannot be used" in lines[-1]
        assert (
            not (tmp_path / "page.html").exists()
            and cli(*verb, runs / "macer.tsv").code == 0
        )


def test_what_reads_folders_goes_on_and_names_them(cli: Run, runs: Path) -> None:
    told = cli.done("leaderboard", runs.parent, "--out", "board.html")
    assert named_once(
        [line for line in told.err.splitlines() if line.startswith("note: skipped: ")],
        runs,
    )
    page = html.unescape(Path("board.html").read_text())
    assert "5 files could not be used" in page
    assert named_once(
        [line for line in page.split("<li>") if "<bdi>" + str(runs) in line], runs
    )
    records = json.loads(Path("board.json").read_text())
    assert {record["file"] for record in records} == {
        f"{runs.name}/{name}" for name in SOUND
    }


def test_namesakes_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    deep = [
        "noise_0.25/test/sigma_0.50",
        "noise_0.50/test/sigma_0.50",
        "noise_0.50/train/sigma_0.50",
    ]
    for files, names in (
        (
            ["noise_0.25/sigma_0.25", "noise_0.50/sigma_0.50"],
            ["sigma_0.25", "sigma_0.50"],
        ),
        (deep, deep),
        (["a/x.tsv", "b/x.tsv", "b/y.tsv"], ["a/x", "b/x", "y"]),
        (["a/x.tsv", "a/x.tsv"], ["x", "x"]),  # the report calls the second x (2)
        (["a/x.tsv", "x.tsv"], ["a/x", f"{tmp_path.name}/x"]),
    ):
        for file in map(tmp_path.joinpath, files):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(LOG)
        assert [
            table.name
            for table in certificate_files.load([tmp_path / file for file in files])
        ] == names
