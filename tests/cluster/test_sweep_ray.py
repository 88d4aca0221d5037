"""A sweep on a real Ray cluster of two nodes: the tables of this machine, though a node dies."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml

from cluster.ray_nodes import Cluster, cluster
from drills.facts import facts, made_twice
from randsmooth.cluster import cells_of

pytestmark = pytest.mark.slow
GRID = {
    "datasets": "digits",
    "methods": "gaussian",
    "sigmas": [0.25, 0.5],
    "train": {"take": 60, "epochs": 4},
    "certify": {"n": 300, "take": 12},
}
PATIENCE = 900.0


def sweep(folder: Path, *more: str) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    (folder / "grid.yaml").write_text(yaml.safe_dump(GRID))
    command = [sys.executable, "-m", "randsmooth", "sweep", "grid.yaml", *more]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_sweep_on_two_nodes_survives_one_of_them(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    alone = sweep(tmp_path / "alone")
    assert alone.wait(PATIENCE) == 0
    with cluster(2) as nodes:
        process = sweep(tmp_path / "ray", "--ray", nodes.address)
        out = tmp_path / "ray" / "runs" / "grid"
        killer = threading.Thread(target=kill_second, args=(nodes, out))
        killer.start()
        said = process.communicate(timeout=PATIENCE)[0]
        killer.join()
    assert process.returncode == 0, said
    assert {cell.state for cell in cells_of(out)} == {"done"}
    assert facts(out) == facts(tmp_path / "alone" / "runs" / "grid") and made_twice(out) == ""


def kill_second(nodes: Cluster, out: Path) -> None:
    """Kill the second node once both train."""
    deadline = time.monotonic() + PATIENCE
    while len([*out.glob("*/model/history.csv")]) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    nodes.kill(1)


def test_an_address_that_does_not_answer_is_told_at_once(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    begun = time.monotonic()
    process = sweep(tmp_path / "none", "--ray", "127.0.0.1:9")
    said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 2 and "no Ray cluster answers at 127.0.0.1:9" in said
    assert not (tmp_path / "none" / "runs").exists() and time.monotonic() - begun < 60.0 * (os.cpu_count() or 1)
