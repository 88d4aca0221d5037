"""The benchmarks at tiny sizes, as far as they can be tried without a GPU, an idle machine or published logs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from randsmooth import read

ROOT = Path(__file__).parents[1]
HELD = (Path(os.environ.get("RANDSMOOTH_DATA", "nowhere")) / "mnist").is_dir()
MNIST = pytest.mark.skipif(
    not HELD, reason="no MNIST: RANDSMOOTH_DATA must name a folder that holds it"
)


def bench(*words: object) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / str(words[0])),
        *map(str, words[1:]),
    ]
    paths = os.pathsep.join([str(ROOT / "src"), *sys.path])
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )


@pytest.mark.slow
def test_every_benchmark_says_what_it_measures() -> None:
    for script in sorted((ROOT / "benchmarks").glob("*.py")):
        if '__name__ == "__main__"' in script.read_text():
            done = bench(script.name, "--help")
            assert done.returncode == 0 and "usage:" in done.stdout, (
                f"{script.name}: {done.stderr}"
            )
    makefile = (ROOT / "Makefile").read_text()
    for name, _, question in re.findall(r'"((\w+)\.py) ([a-z][a-z0-9]*)"', makefile):
        assert question in bench(name, "--help").stdout, f"{name} {question}"


@pytest.mark.slow
def test_bounds_and_a_leaderboard_meet_their_targets(tmp_path: Path) -> None:
    for words in (
        ("savings.py", "bounds", "--draws", 40),
        ("pages.py", "leaderboard", "--tables", 12),
    ):
        done = bench(*words, "--out", tmp_path / "found.json")
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        assert all(
            figure["value"] > 0
            for figure in json.loads((tmp_path / "found.json").read_text())["figures"][
                :2
            ]
        )


@pytest.mark.slow
def test_the_whole_gpu_benchmark_at_a_tiny_size_on_a_cpu(tmp_path: Path) -> None:
    out = tmp_path / "gpu.json"
    done = bench("gpu.py", "--device", "cpu", "--tiny", "--minutes", 8, "--out", out)
    found = json.loads(out.read_text())
    assert done.returncode == 0 and found["finished"] and found["tests"]["passed"], (
        done.stdout + done.stderr
    )
    rates = {
        (cell["what"], cell["backend"], cell["batch"]): cell["rate"]
        for cell in found["cells"]
    }
    assert (
        rates["certification", "torch", 128] > 0
        and rates["certification", "published loop", 1000] > 0
    )
    assert {"training, gaussian", "training, macer", "training, amplify"} <= {
        what for what, _, _ in rates
    }
    assert found["recommended"]["lenet"]["over"]["the default"] > 0.0


@MNIST
@pytest.mark.slow
def test_twelve_denoised_tables_and_their_summary(tmp_path: Path) -> None:
    out, results = tmp_path / "out", tmp_path / "results"
    words = [
        "denoised_mnist.py",
        "--scale",
        "tiny",
        "--precision",
        "32",
        "--backend",
        "torch",
    ]
    for _ in range(2):  # the second time all is done
        done = bench(*words, "--out", out, "--results", results)
        assert done.returncode == 0, done.stderr
    table = pd.read_csv(results / "table.csv")
    assert len(table) == 12 and (table.images == 4).all() and (table.n == 128).all()
    behind = read(out / "certificates" / "diffusion-mlp-0.5.parquet").header.model
    assert (
        behind is not None
        and behind["denoiser"]["sigma"] == 0.5
        and behind["denoiser"]["alpha_bar"] == 0.5
    )
    assert "| lenet | DnCNN | 0.25 |" in (results / "table.md").read_text()


@MNIST
@pytest.mark.slow
def test_noises_of_one_scale_certified_in_l1(tmp_path: Path) -> None:
    results = tmp_path / "results"
    words = [
        "l1_mnist.py",
        "--scales",
        0.5,
        "--train",
        256,
        "--epochs",
        1,
        "--images",
        4,
        "--n",
        128,
    ]
    for _ in range(2):  # the second time all is done
        done = bench(*words, "--out", tmp_path / "out", "--results", results)
        assert done.returncode == 0, done.stderr
    found = pd.read_csv(results / "cells.csv").set_index("noise")
    assert (
        found.loc["splitting, exact"].n == 255
        and (found.drop("splitting, exact").n == 128).all()
    )
    assert found.norm.to_dict() == {
        **dict.fromkeys(found.index, "l1"),
        "gaussian": "l2",
        "ablation": "l0",
    }
    lines = pd.read_csv(results / "envelopes.csv")
    assert set(lines.noise) == set(found.index) - {"ablation"}
    assert ((lines.low <= lines.accuracy) & (lines.accuracy <= lines.high)).all()
    uniform = lines[lines.noise == "uniform"]
    assert (uniform.accuracy[uniform.radius > 0.5] == 0.0).all()  # beyond lam
