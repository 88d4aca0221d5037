"""The rule `dense` on the command line: certified, cut and resumed, planned, judged, verified."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from certification.runs import StopAfter, same
from cli.run import Run
from randsmooth import certify, read

WORDS = ("--rule", "dense=1", "--take", 6, "--n", 300, "--alpha", 0.01)


def test_it_is_resumed_judged_and_verified(model: Path, cli: Run, tmp_path: Path) -> None:
    made = cli("certify", model, *WORDS, "--out", "whole.parquet")
    assert made.code == 0, made.err
    assert "whole was certified by --rule dense=1" in " ".join((made.out + made.err).split())
    with pytest.raises(KeyboardInterrupt):
        cut: dict[str, Any] = {
            "take": 6,
            "n": 300,
            "alpha": 0.01,
            "rule": "dense=1",
            "progress": lambda *_: nullcontext(StopAfter(2)),
        }
        certify(tmp_path / "m", out=tmp_path / "cut.parquet", **cut)
    other = cli("certify", model, *WORDS, "--rule", "dense=0.4", "--out", "cut.parquet", "--resume")
    assert other.code == 2 and "dense=0.4" in other.err
    assert cli("certify", model, *WORDS, "--out", "cut.parquet", "--resume").code == 0
    whole = read("whole.parquet")
    assert same(read("cut.parquet"), whole) and whole.samples.mean() < 400
    assert cli("evaluate", "whole.parquet").code == 0 and cli("verify", "whole.parquet").code == 0
    refused = cli("export", "whole.parquet", "--out", "a.tsv")
    assert refused.code == 2 and "--rule dense=1, which a TSV log cannot say" in " ".join(refused.err.split())
