"""`randsmooth leaderboard`: which files it takes, what it refuses, what it loads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.processes import Run
from randsmooth import metrics
from randsmooth.certificates import Header, from_evidence, read, write_parquet

LOG = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.742\t1\t0:00:03\n1\t8\t-1\t0.0\t0\t0:00:03\n"


def certificates(path: Path, **facts: object) -> Path:
    """A table of 20 images with counts at `path`."""
    known = {"sigma": 0.25, "n0": 10, "n": 100, "alpha": 0.001, "dataset": "digits"}
    rng = np.random.default_rng(0)
    counts = rng.multinomial(100, [0.9, 0.1], 20)
    label = np.zeros(20, np.int64)
    table = from_evidence(
        Header.model_validate(known | facts),
        idx=np.arange(20),
        label=label,
        counts0=rng.multinomial(10, [0.9, 0.1], 20),
        counts=counts,
        seconds=np.ones(20),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(table, path)
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with two tables and a log, each at another depth, and files that are none of these."""
    folder = tmp_path / "runs"
    certificates(folder / "gaussian.parquet", model={"method": "gaussian"})
    certificates(folder / "deep" / "er" / "gaussian.parquet", sigma=0.5)
    (folder / "deep" / "log.tsv").write_text(LOG)
    pd.DataFrame({"x": [1.5]}).to_parquet(folder / "images.parquet")
    (folder / "deep" / "figures.tsv").write_text("epoch\tloss\n1\t0.5\n")
    (folder / "cut.parquet").write_bytes((folder / "gaussian.parquet").read_bytes()[:500])
    (folder / "empty.tsv").write_text(LOG.splitlines()[0] + "\n")
    (folder / "deep" / "sigma_0.25").write_text(LOG)  # a log has no suffix in most repositories
    (folder / "notes.txt").write_text("a log says idx, label, predict\n")
    return folder


def test_it_ranks_what_it_finds_and_names_what_it_skips(cli: Run, runs: Path, tmp_path: Path) -> None:
    told = cli("leaderboard", runs, "--out", tmp_path / "out" / "board.html")
    assert told.code == 0, told.err
    page, records = tmp_path / "out" / "board.html", tmp_path / "out" / "board.json"
    assert told.out.split() == [str(page), str(records)]
    files = {record["file"] for record in json.loads(records.read_text())}
    assert files == {"gaussian.parquet", "deep/er/gaussian.parquet", "deep/log.tsv", "deep/sigma_0.25"}
    skipped = [line for line in told.err.splitlines() if line.startswith("note: skipped: ")]
    assert len(skipped) == 4
    for name in ("images.parquet", "figures.tsv", "cut.parquet", "empty.tsv"):
        assert sum(name in line for line in skipped) == 1
    assert f"randsmooth leaderboard {runs} --out" in page.read_text()


def test_it_writes_here_by_default_and_not_twice(cli: Run, runs: Path, tmp_path: Path) -> None:
    assert cli("leaderboard", runs).code == 0
    assert (tmp_path / "leaderboard.html").exists() and (tmp_path / "leaderboard.json").exists()
    again = cli("leaderboard", runs)
    assert (again.code, "--overwrite" in again.err) == (2, True)
    assert cli("leaderboard", runs, "--overwrite", "--radii", "0.1", "--title", "<b>").code == 0
    assert "&lt;b&gt;" in (tmp_path / "leaderboard.html").read_text()


def test_a_log_is_told_its_sigma_and_tables_keep_theirs(cli: Run, runs: Path, tmp_path: Path) -> None:
    told = cli("leaderboard", runs, "--sigma", 0.7, "--n", 1000, "--alpha", 0.01)
    assert told.code == 0, told.err
    records = {record["file"]: record for record in json.loads((tmp_path / "leaderboard.json").read_text())}
    log = read(runs / "deep" / "log.tsv").assuming(sigma=0.7, n=1000, alpha=0.01)
    shares = [metrics.p_a(log).share(x).value for x in metrics.P_A_LEVELS]
    assert [share["value"] for share in records["deep/log.tsv"]["p_A"]] == shares
    assert [(r["sigma"], r["n"]) for r in records.values() if r["dataset"]] == [(0.25, 100), (0.5, 100)]


def test_bad_input_is_named(cli: Run, runs: Path, tmp_path: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("{tmp}/nowhere", "is no folder"),
        ("{tmp}/runs/gaussian.parquet", "is no folder"),
        ("{tmp}/none", "no certificates below"),
        ("{tmp}/runs --out {tmp}/board.json", "name the page"),
        ("{tmp}/runs --out .", "name the page"),
        ("{tmp}/runs --sigma 0", "sigma=0"),
        ("{tmp}/runs --alpha 2", "alpha=2"),
        ("{tmp}/runs --n 0", "n=0"),
        ("{tmp}/runs --n 5 --alpha 0.001", "n >= 10"),
        ("{tmp}/runs --radii -1", "-1"),
        ("{tmp}/runs --radii much", "0,0.5,1"),
        ("", "FOLDER"),
    ]
    for words, named in cases:
        (tmp_path / "none").mkdir(exist_ok=True)
        told = cli("leaderboard", *words.format(tmp=tmp_path).split())
        assert told.code == 2, told
        assert named in told.err and "Traceback" not in told.err
        assert list(tmp_path.glob("*.html")) == []


def released(folder: Path, place: str, rows: int = 4) -> Path:
    """A log of images whose largest radius is that of n = 100,000 at alpha .001, where a repository has one."""
    path = folder / place
    sigma = float(re.findall(r"_(\d\.\d+)", path.name)[0])
    most = f"{sigma * 3.8114571:.3}"
    lines = [f"{i}\t3\t3\t{most if i < 2 else round(0.2 * sigma, 3)}\t1\t0:00:03.5\n" for i in range(rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LOG.splitlines(keepends=True)[0] + "".join(lines))
    return path


def test_a_clone_is_ranked_as_it_is(cli: Run, tmp_path: Path) -> None:
    clone = tmp_path / "smoothing-consistency"
    deep = "data/certify/mnist/consistency/cohen"
    released(clone, f"{deep}/num_2/lbd_5.0/eta_0.5/noise_0.50_3")
    released(clone, "data/certify/mnist/cohen/noise_0.50_4490")
    released(clone, "odd/noise_0.25")
    (clone / "data" / "predict").mkdir()
    for name in ("a", "b"):
        (clone / "data" / "predict" / name).write_text("idx\tlabel\tpredict\tcorrect\ttime\n0\t3\t3\t1\t0:00:03\n")
    (clone / ".git").mkdir()
    (clone / ".git" / "packed.tsv").write_text(LOG)
    told = cli("leaderboard", clone)
    assert told.code == 0, told.err
    assert "2 logs of predictions: they certify nothing, and are not ranked" in told.err and "packed" not in told.err
    records = {record["file"]: record for record in json.loads((tmp_path / "leaderboard.json").read_text())}
    assert len(records) == 3
    told_of = records[f"{deep}/num_2/lbd_5.0/eta_0.5/noise_0.50_3"]
    assert (told_of["dataset"], told_of["sigma"], told_of["method"]) == ("mnist", 0.5, "consistency")
    assert told_of["settings"] == "m 2, lbd 5, eta 0.5, run 3"
    assert told_of["repository"] == "jh-jeong/smoothing-consistency" and (told_of["n"], told_of["alpha"]) == (
        100_000,
        0.001,
    )
    page = (tmp_path / "leaderboard.html").read_text()
    assert "2 logs of predictions: they certify nothing" in page and str(clone / "data" / "predict" / "b") in page
    assert "Ranked, though nothing says the data set and method of 1 log" in page and "odd/noise_0.25" in page


def test_files_with_one_fault_share_a_line(cli: Run, tmp_path: Path) -> None:
    released(tmp_path / "runs", "cifar10/cohen/noise_0.25")
    for name in "abcde":
        (tmp_path / "runs" / f"{name}.tsv").write_text("")
    told = cli("leaderboard", tmp_path / "runs")
    (line,) = (line for line in told.err.splitlines() if "skipped" in line)
    assert "a.tsv" in line and "and 2 more" in line and "lacks idx" in line
    assert "e.tsv" in (tmp_path / "leaderboard.html").read_text()  # where all of them are named


def test_what_was_inferred_of_a_log_stands_beside_it(cli: Run, tmp_path: Path) -> None:
    head, rows = LOG.splitlines()[0], ["\t3\t3\t3.91\t1\t0:00:03"] * 4 + ["\t3\t3\t3.82\t1\t0:00:03"]
    path = tmp_path / "runs" / "imagenet" / "cohen" / "noise_1.00"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join([head, *(f"{i}{row}" for i, row in enumerate(rows)), ""]))
    (tmp_path / "runs" / "predictions").write_text("idx\tlabel\tpredict\tcorrect\ttime\n0\t3\t3\t1\t0:00:03\n")
    told = cli("leaderboard", tmp_path / "runs")
    assert told.code == 0, told.err
    assert "1 log of predictions: they certify nothing, and are not ranked" in told.err
    (record,) = json.loads((tmp_path / "leaderboard.json").read_text())
    assert (record["dataset"], record["method"], record["sigma"]) == ("imagenet", "gaussian", 1.0)
    assert (record["n"], record["alpha"], record["p_A"] != []) == (100_000, 0.001, True)
    assert (
        record["notes"][-1].startswith("made at alpha 0.01, re-bound at 0.001: ACR 3.7")
        and record["acr"]["value"] < 3.81
    )
    page = (tmp_path / "leaderboard.html").read_text()
    assert page.count(record["notes"][-1]) == 2  # at its name, and in the list below
    refused = cli("leaderboard", tmp_path / "runs", "--alpha", 0.001, "--overwrite")
    assert refused.code == 2 and "its radii are those of n=100000 at alpha=0.01" in refused.err
