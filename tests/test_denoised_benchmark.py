"""The benchmark of denoised smoothing, tiny: every part runs, is found done the second time, and ends in a table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from randsmooth import read

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.slow
def test_twelve_tables_and_their_summary(tmp_path: Path) -> None:
    mnist = Path(os.environ.get("RANDSMOOTH_DATA", "nowhere")) / "mnist"
    if not mnist.is_dir():
        pytest.skip("no MNIST: RANDSMOOTH_DATA must name a folder that holds it")
    out, results = tmp_path / "out", tmp_path / "results"
    words = [sys.executable, BENCHMARKS / "denoised_mnist.py", "--scale", "tiny", "--precision", "32"]
    words += ["--backend", "torch", "--out", out, "--results", results]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(2):
        subprocess.run([*map(str, words)], check=True, timeout=600, capture_output=True, env=environment)
    table = pd.read_csv(results / "table.csv")
    assert len(table) == 12 and (table.images == 4).all() and (table.n == 128).all()
    headers = {path.stem: read(path).header for path in (out / "certificates").glob("*.parquet")}
    assert len(headers) == 12
    behind = headers["diffusion-mlp-0.5"].model
    assert behind is not None and behind["arch"].startswith("scikit-learn MLPClassifier, predict_proba behind one step")
    assert behind["denoiser"]["sigma"] == 0.5 and behind["denoiser"]["alpha_bar"] == 0.5
    assert "| lenet | DnCNN | 0.25 |" in (results / "table.md").read_text()
