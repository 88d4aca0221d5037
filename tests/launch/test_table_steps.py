"""The step that ranks tables: done where its page is, at the radius that is asked for."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from randsmooth.certificates import Header, from_evidence, write_parquet
from randsmooth.launch.table_steps import Rank


def table_at(path: Path) -> Path:
    """A table of 20 images with counts, at `path`."""
    rng = np.random.default_rng(0)
    table = from_evidence(
        Header(sigma=0.25, n0=10, n=100, alpha=0.001, dataset="digits"),
        idx=np.arange(20),
        label=np.zeros(20, np.int64),
        counts0=rng.multinomial(10, [0.9, 0.1], 20),
        counts=rng.multinomial(100, [0.9, 0.1], 20),
        seconds=np.ones(20),
    )
    write_parquet(table, path)
    return path


def test_a_ranking_at_another_radius_is_not_done(tmp_path: Path) -> None:
    table = table_at(tmp_path / "a.parquet")
    page = tmp_path / "leaderboard.html"
    usual = Rank(name="rank", makes=page, folder=tmp_path, tables=(table,))
    named = replace(usual, at=0.1)
    assert not usual.is_done()
    for step, other, radius in ((usual, named, 0.25), (named, usual, 0.1)):
        page.unlink(missing_ok=True)
        step.make("cpu")
        assert step.is_done() and not other.is_done()
        (record,) = json.loads(page.with_suffix(".json").read_text())
        assert record["ranked_by"]["radius"] == radius
    assert "at" not in usual.options() and named.options()["at"] == 0.1
