"""`randsmooth route`, and the other verbs on a routed table."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.processes import Run
from randsmooth import read, route
from randsmooth.certificates import from_counts, write_parquet

LABELS = [0, 1] * 10
FILES = ("router.parquet", "small.parquet", "large.parquet")


@pytest.fixture
def tables(tmp_path: Path) -> None:
    """Write a router and two experts of 20 images."""
    rng = np.random.default_rng(0)
    for name, sigma, p in zip(FILES, (1.0, 0.25, 1.0), (0.9, 0.95, 0.8), strict=True):
        hits = rng.binomial(1000, p, size=20)
        hits0 = rng.binomial(100, p, size=20)
        own = np.array(LABELS)
        counts = np.zeros((20, 2), np.int64)
        counts0 = np.zeros((20, 2), np.int64)
        rows = np.arange(20)
        counts[rows, own] = hits
        counts[rows, 1 - own] = 1000 - hits
        counts0[rows, own] = hits0
        counts0[rows, 1 - own] = 100 - hits0
        labels = None if name == "router.parquet" else LABELS
        table = from_counts(
            counts,
            counts0=counts0,
            label=labels,
            sigma=sigma,
            dataset="mnist",
            split="test",
            name=Path(name).stem,
        )
        write_parquet(table, tmp_path / name)


@pytest.mark.usefixtures("tables")
def test_a_routed_table_is_that_of_python(cli: Run, tmp_path: Path) -> None:
    cli.done("route", *FILES, "--alpha", 0.01, "--out", "routed.parquet")
    expected = route(
        tmp_path / FILES[0], [tmp_path / name for name in FILES[1:]], alpha=0.01
    )
    table = read(tmp_path / "routed.parquet")
    assert np.array_equal(table.radius, expected.radius)
    assert table.header == expected.header
    assert cli("route", *FILES, "--out", "routed.parquet").code == 2
    cli.done("route", *FILES, "--one-expert", "--out", "routed.parquet", "--overwrite")
    alone = read(tmp_path / "routed.parquet").routes
    assert alone is not None and set(alone.members.sum(axis=1)) == {1}


@pytest.mark.usefixtures("tables")
def test_other_verbs_read_a_routed_table(cli: Run, tmp_path: Path) -> None:
    cli.done("route", *FILES, "--out", "routed.parquet")
    table = read(tmp_path / "routed.parquet")
    answered = cli.done(
        "evaluate", "routed.parquet", "small.parquet", "--at", 0.25, "--format", "json"
    )
    rows = {row["name"]: row for row in json.loads(answered.out)["tables"]}
    assert rows["routed"]["acr"]["value"] == pytest.approx(
        float((table.radius * table.correct).mean())
    )
    cli.done("compare", "routed.parquet", "small.parquet", "--out", "page.html")
    cli.done("leaderboard", ".")
    board = json.loads((tmp_path / "leaderboard.json").read_text())
    noises = {row["file"]: row["noise"] for row in board}
    assert noises["routed.parquet"] == "routed: sigma 0.25, 1"
    cli.done("verify", "routed.parquet")
    cli.done("cite", "routed.parquet")
    # It has no counts to judge anew, and no log of the literature is like it.
    assert cli("evaluate", "routed.parquet", "--alpha", 0.01).code == 2
    assert cli("export", "routed.parquet").code == 2
