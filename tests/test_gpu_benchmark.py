"""`make bench-gpu`, as far as it can be tried without a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[1]


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks/gpu.py"), *map(str, arguments)]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths})


def written(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="is about machines without a GPU")
def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    done = bench("--out", tmp_path / "gpu.json")
    assert done.returncode == 1 and "no CUDA device here" in done.stderr
    assert not (tmp_path / "gpu.json").exists()


@pytest.mark.slow
def test_it_ends_in_time_and_writes_what_it_has(tmp_path: Path) -> None:
    done = bench("--device", "cpu", "--tiny", "--minutes", 0.02, "--out", tmp_path / "gpu.json")
    assert done.returncode == 1 and "stopped after 0.02 minutes" in done.stdout, done.stderr
    found = written(tmp_path / "gpu.json")
    assert not found["finished"] and found["machine"]["cpu"] and found["training"] == []


@pytest.mark.slow
def test_the_whole_of_it_at_a_tiny_size_on_a_cpu(tmp_path: Path) -> None:
    done = bench("--device", "cpu", "--tiny", "--minutes", 8, "--out", tmp_path / "gpu.json")
    found = written(tmp_path / "gpu.json")
    assert done.returncode == 0 and found["finished"], done.stdout + done.stderr
    assert found["tests"]["passed"] and found["agreement"]["same_noise"]
    rates = {(cell["arch"], cell["backend"], cell["batch"]): cell for cell in found["certification"]}
    assert rates["lenet", "torch", 128]["rate"] > 0 and rates["lenet", "published loop", 1000]["rate"] > 0
    assert "not installed" in rates["lenet", "tensorrt", found["recommended"]["lenet"]["batch"]]["note"]
    assert {cell["method"] for cell in found["training"]} >= {"gaussian", "macer", "amplify", "smoothadv"}
    assert found["recommended"]["lenet"]["over"]["the default"] > 0.0
