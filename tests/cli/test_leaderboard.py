"""`randsmooth leaderboard`: which files it takes, what it refuses, what it loads."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cli.processes import Run, unwrapped
from randsmooth import metrics
from randsmooth.certificates import Header, from_evidence, read, write_parquet
from randsmooth.cli.verbs import leaderboard

LOG = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t0.742\t1\t0:00:03\n1\t8\t-1\t0.0\t0\t0:00:03\n"


def certificates(path: Path, **facts: object) -> Path:
    """A table of 20 images with counts at `path`."""
    known = {"sigma": 0.25, "n0": 10, "n": 100, "alpha": 0.001, "dataset": "digits"}
    rng = np.random.default_rng(0)
    counts, counts0 = (
        rng.multinomial(100, [0.9, 0.1], 20),
        rng.multinomial(10, [0.9, 0.1], 20),
    )
    what = {
        "idx": np.arange(20),
        "label": np.zeros(20, np.int64),
        "counts0": counts0,
        "counts": counts,
    }
    table = from_evidence(
        Header.model_validate(known | facts),
        **what,  # type: ignore[arg-type]
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
    (folder / "cut.parquet").write_bytes(
        (folder / "gaussian.parquet").read_bytes()[:500]
    )
    (folder / "empty.tsv").write_text(LOG.splitlines()[0] + "\n")
    (folder / "deep" / "sigma_0.25").write_text(
        LOG
    )  # a log has no suffix in most repositories
    (folder / "notes.txt").write_text("a log says idx, label, predict\n")
    (folder / "predictions").write_text(
        "idx\tlabel\tpredict\tcorrect\ttime\n0\t3\t3\t1\t0:00:03\n"
    )
    (folder / ".git").mkdir()
    (folder / ".git" / "packed.tsv").write_text(LOG)
    return folder


def ranked() -> dict[str, dict[str, Any]]:
    """The records of leaderboard.json by their files."""
    return {
        record["file"]: record
        for record in json.loads(Path("leaderboard.json").read_text())
    }


def test_it_ranks_what_it_finds_names_what_it_skips_and_does_not_overwrite(
    cli: Run, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = cli("leaderboard", runs)
    assert told.code == 0, told.err
    assert told.out.splitlines()[-2:] == ["leaderboard.html", "leaderboard.json"]
    assert max(map(len, told.out.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "40")
    narrow = cli("leaderboard", runs, "--at", 0.2, "--overwrite").out

    # Each figure has a line of its own, behind its name.
    figures = [line.split() for line in narrow.splitlines() if "ACR " in line]
    acrs = [f"{record['acr']['value']:.3f}" for record in ranked().values()]
    assert sorted(words[-1] for words in figures if words[0] == "ACR") == sorted(acrs)
    for file, record in ranked().items():
        assert file in told.out and record["how_ranked"]
    assert {*ranked()} == {
        "gaussian.parquet",
        "deep/er/gaussian.parquet",
        "deep/log.tsv",
        "deep/sigma_0.25",
    }
    # Only a path, which is to be pasted, is longer than a line.
    long = [line for line in told.err.splitlines() if len(line) > 80]
    assert all(" " not in line.strip() for line in long)
    notes = unwrapped(told.err)
    skipped = [line for line in notes.splitlines() if line.startswith("note: skipped")]
    assert len(skipped) == 4 and "packed" not in told.err
    assert "1 log of predictions: they certify nothing, and are not ranked" in notes
    for name in ("images.parquet", "figures.tsv", "cut.parquet", "empty.tsv"):
        assert sum(name in line for line in skipped) == 1, name
    page = Path("leaderboard.html").read_text()
    assert (
        f"randsmooth leaderboard {runs}" in page
        and "1 log of predictions: they certify nothing" in page
    )
    assert "Ranked, though nothing says the data set" in page
    assert "--overwrite" in cli.refused("leaderboard", runs)
    how = (
        "--sigma",
        0.7,
        "--n",
        1000,
        "--alpha",
        0.01,
        "--radii",
        "0.1",
        "--at",
        "0.2",
        "--title",
        "<b>",
        "--overwrite",
    )
    cli.done("leaderboard", runs, *how)
    assert "&lt;b&gt;" in Path("leaderboard.html").read_text()
    log = read(runs / "deep" / "log.tsv").assuming(
        sigma=0.7, n=1000, alpha=0.01
    )  # and tables keep theirs
    shares = [metrics.p_a(log).share(x).value for x in metrics.P_A_LEVELS]
    assert [share["value"] for share in ranked()["deep/log.tsv"]["p_A"]] == shares
    assert {record["ranked_by"]["radius"] for record in ranked().values()} == {0.2}
    assert [(r["sigma"], r["n"]) for r in ranked().values() if r["dataset"]] == [
        (0.25, 100),
        (0.5, 100),
    ]


def test_many_logs_are_read_with_progress(
    cli: Run, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaderboard, "FILES_WITH_PROGRESS", 9)
    assert (
        "reading certificates  " in (told := cli("leaderboard", runs)).err
        and told.code == 0
    )
    assert "reading certificates  9/9 files" in told.err, told.err


def test_bad_input_is_named(cli: Run, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    bad = {
        "nowhere": "not a folder",
        "runs/gaussian.parquet": "not a folder",
        "none": "no certificates below",
        "runs --out board.json": "name the page",
        "runs --n 5 --alpha 0.001": "n >= 10",
        "runs --at -1": "radius -1",
        "runs --radii much": "'much' must be a valid number",
        "": "FOLDER",
    }
    cli.refuses(bad, "leaderboard")
    assert list(tmp_path.glob("*.html")) == []
