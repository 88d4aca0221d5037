"""`randsmooth leaderboard`: which files it takes, what it refuses, what it loads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

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
    counts, counts0 = rng.multinomial(100, [0.9, 0.1], 20), rng.multinomial(10, [0.9, 0.1], 20)
    what = {"idx": np.arange(20), "label": np.zeros(20, np.int64), "counts0": counts0, "counts": counts}
    table = from_evidence(Header.model_validate(known | facts), **what, seconds=np.ones(20))  # type: ignore[arg-type]
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


def ranked() -> dict[str, dict[str, Any]]:
    """The records of leaderboard.json by their files."""
    return {record["file"]: record for record in json.loads(Path("leaderboard.json").read_text())}


def test_it_ranks_what_it_finds_names_what_it_skips_and_does_not_overwrite(cli: Run, runs: Path) -> None:
    told = cli("leaderboard", runs)
    assert told.code == 0 and told.out.split() == ["leaderboard.html", "leaderboard.json"], told.err
    assert {*ranked()} == {"gaussian.parquet", "deep/er/gaussian.parquet", "deep/log.tsv", "deep/sigma_0.25"}
    skipped = [line for line in told.err.splitlines() if line.startswith("note: skipped: ")]
    assert len(skipped) == 4
    for name in ("images.parquet", "figures.tsv", "cut.parquet", "empty.tsv"):
        assert sum(name in line for line in skipped) == 1, name
    assert f"randsmooth leaderboard {runs}" in Path("leaderboard.html").read_text()
    again = cli("leaderboard", runs)
    assert again.code == 2 and "--overwrite" in again.err
    how = ("--sigma", 0.7, "--n", 1000, "--alpha", 0.01, "--radii", "0.1", "--title", "<b>", "--overwrite")
    assert cli("leaderboard", runs, *how).code == 0
    assert "&lt;b&gt;" in Path("leaderboard.html").read_text()
    log = read(runs / "deep" / "log.tsv").assuming(sigma=0.7, n=1000, alpha=0.01)  # and tables keep theirs
    shares = [metrics.p_a(log).share(x).value for x in metrics.P_A_LEVELS]
    assert [share["value"] for share in ranked()["deep/log.tsv"]["p_A"]] == shares
    assert [(r["sigma"], r["n"]) for r in ranked().values() if r["dataset"]] == [(0.25, 100), (0.5, 100)]


def test_bad_input_is_named(cli: Run, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    for words, named in {
        "nowhere": "is no folder",
        "runs/gaussian.parquet": "is no folder",
        "none": "no certificates below",
        "runs --out board.json": "name the page",
        "runs --out .": "name the page",
        "runs --sigma 0": "sigma=0",
        "runs --alpha 2": "alpha=2",
        "runs --n 0": "n=0",
        "runs --n 5 --alpha 0.001": "n >= 10",
        "runs --radii -1": "-1",
        "runs --radii much": "0,0.5,1",
        "": "FOLDER",
    }.items():
        told = cli("leaderboard", *words.split())
        assert told.code == 2 and named in told.err and "Traceback" not in told.err, words
        assert list(tmp_path.glob("*.html")) == []


def released(path: Path) -> None:
    """A log of images whose largest radius is that of n = 100,000 at alpha .001, where a repository has one."""
    sigma = float(re.findall(r"_(\d\.\d+)", path.name)[0])
    most = f"{sigma * 3.8114571:.3}"
    lines = [f"{i}\t3\t3\t{most if i < 2 else round(0.2 * sigma, 3)}\t1\t0:00:03.5\n" for i in range(4)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LOG.splitlines(keepends=True)[0] + "".join(lines))


def test_a_clone_is_ranked_as_it_is(cli: Run, tmp_path: Path) -> None:
    clone = tmp_path / "smoothing-consistency"
    deep = "data/certify/mnist/consistency/cohen/num_2/lbd_5.0/eta_0.5/noise_0.50_3"
    for place in (deep, "data/certify/mnist/cohen/noise_0.50_4490", "odd/noise_0.25"):
        released(clone / place)
    (clone / "data" / "predict").mkdir()
    for name in ("a", "b"):
        (clone / "data" / "predict" / name).write_text("idx\tlabel\tpredict\tcorrect\ttime\n0\t3\t3\t1\t0:00:03\n")
    (clone / ".git").mkdir()
    (clone / ".git" / "packed.tsv").write_text(LOG)
    for name in "cdefg":
        (clone / f"{name}.tsv").write_text("")
    told = cli("leaderboard", clone)
    assert told.code == 0, told.err
    assert "2 logs of predictions: they certify nothing, and are not ranked" in told.err and "packed" not in told.err
    (line,) = (line for line in told.err.splitlines() if "skipped" in line)  # files with one fault share a line
    assert "c.tsv" in line and "and 2 more" in line and "lacks idx" in line
    assert len(ranked()) == 3
    told_of = ranked()[deep]
    facts = {"dataset": "mnist", "sigma": 0.5, "method": "consistency", "settings": "m 2, lbd 5, eta 0.5, run 3"}
    assert told_of.items() >= {**facts, "repository": "jh-jeong/smoothing-consistency", "n": 100_000}.items()
    assert told_of["alpha"] == 0.001
    page = Path("leaderboard.html").read_text()
    assert "2 logs of predictions: they certify nothing" in page and str(clone / "data" / "predict" / "b") in page
    assert "Ranked, though nothing says the data set and method of 1 log" in page and "odd/noise_0.25" in page
    assert "g.tsv" in page  # where all of them are named


def test_what_was_inferred_of_a_log_stands_beside_it(cli: Run, tmp_path: Path) -> None:
    head, rows = LOG.splitlines()[0], ["\t3\t3\t3.91\t1\t0:00:03"] * 4 + ["\t3\t3\t3.82\t1\t0:00:03"]
    path = tmp_path / "runs" / "imagenet" / "cohen" / "noise_1.00"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join([head, *(f"{i}{row}" for i, row in enumerate(rows)), ""]))
    assert cli("leaderboard", "runs").code == 0
    (record,) = ranked().values()
    assert (record["dataset"], record["method"], record["sigma"]) == ("imagenet", "gaussian", 1.0)
    assert (record["n"], record["alpha"], record["p_A"] != []) == (100_000, 0.001, True)
    note = record["notes"][-1]
    assert note.startswith("made at alpha 0.01, re-bound at 0.001: ACR 3.7") and record["acr"]["value"] < 3.81
    assert Path("leaderboard.html").read_text().count(note) == 2  # at its name, and in the list below
    refused = cli("leaderboard", "runs", "--alpha", 0.001, "--overwrite")
    assert refused.code == 2 and "its radii are those of n=100000 at alpha=0.01" in refused.err
