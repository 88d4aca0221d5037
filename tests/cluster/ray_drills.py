"""`python -m cluster.ray_drills OUT.json`: kill -9 of parts of a Ray cluster at random moments of a certification."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cluster.ray_nodes import Cluster, cluster
from cluster.ray_runs import PATIENCE, certify, finished, same_counts, wait_for_rows
from randsmooth import read

IMAGES = 60
WORDS = ["--n", "20000", "--take", str(IMAGES)]
LATEST = 3.0  # seconds after the first image was certified
TIMES = {"kill -9 of a node": 3, "kill -9 of an actor": 1, "kill -9 of the driver": 1}

Kill = Callable[[Cluster, int], None]


def kill_node(nodes: Cluster, driver: int) -> None:
    nodes.kill(nodes.alive()[-1])


def kill_actor(nodes: Cluster, driver: int) -> None:
    os.kill(nodes.actors()[0], signal.SIGKILL)


def kill_driver(nodes: Cluster, driver: int) -> None:
    os.kill(driver, signal.SIGKILL)


KILLS: dict[str, Kill] = dict(zip(TIMES, (kill_node, kill_actor, kill_driver), strict=True))


def drill(nodes: Cluster, folder: Path, name: str, moment: float) -> dict[str, Any]:
    """One certification that is disturbed `moment` seconds after its first image, and what came of it.

    The run goes on by itself; that of a killed driver is resumed.
    """
    nodes.keep(2)
    out = folder / "disturbed.parquet"
    out.unlink(missing_ok=True)
    process = certify(folder, *WORDS, "--out", out.name, "--ray", nodes.address)
    wait_for_rows(out.with_name(out.name + ".partial"), process)
    time.sleep(moment)
    before = rows(out.with_name(out.name + ".partial"))
    KILLS[name](nodes, process.pid)
    said, err = process.communicate(timeout=PATIENCE)
    if name == "kill -9 of the driver":
        assert process.returncode == -signal.SIGKILL
        finished(folder, *WORDS, "--out", out.name, "--ray", nodes.address, "--resume")
    else:
        assert process.returncode == 0, said + err
        assert " died (" in said + err  # the driver has noticed
    idx = read(out).idx
    return {
        "drill": name,
        "moment": round(moment, 2),
        "images finished before": before,
        "images": len(idx),
        "doubled": len(idx) - len(set(idx.tolist())),
        "lost": IMAGES - len(set(idx.tolist())),
        "equal in every count": same_counts(folder / "undisturbed.parquet", out),
    }


def rows(journal: Path) -> int:
    """Finished images in a journal; its first line is the header."""
    return max(0, journal.read_bytes().count(b"\n") - 1) if journal.exists() else IMAGES


def drills(times: dict[str, int], seed: int) -> Iterator[dict[str, Any]]:
    """Each drill so many times, at moments drawn with the seed."""
    rng = random.Random(seed)
    with cluster(2) as nodes, tempfile.TemporaryDirectory() as folder:
        finished(Path(folder), *WORDS, "--out", "undisturbed.parquet")
        for name, many in times.items():
            for _ in range(many):
                yield drill(nodes, Path(folder), name, rng.uniform(0, LATEST))


def main() -> None:
    from benchmarks.harness import machine

    seed, out = int(os.environ.get("DRILLS_SEED", "0")), Path(sys.argv[1])
    command = f"DRILLS_SEED={seed} PYTHONPATH=src:tests:. python -m cluster.ray_drills {out}"
    told: dict[str, Any] = {"command": command, "machine": machine(), "drills": []}
    out.parent.mkdir(parents=True, exist_ok=True)
    for found in drills(TIMES, seed):
        print(found, flush=True)
        told["drills"].append(found)
        out.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
