"""Tasks of a Slurm array killed (SIGKILL) at random moments: the table is that of one undisturbed process.

DRILLS_OUT names a file for the figures; DRILLS_SEED and DRILLS_TIMES repeat or change the drill.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from launch.slurm.conftest import CERTIFY, Command, assert_same, say_how_slow, wait
from randsmooth import read
from randsmooth.certificates.journal import shards_path
from randsmooth.launch.shards import ShardFolder
from randsmooth.launch.slurm import Jobs

pytestmark = pytest.mark.slow

LATEST = 8.0  # seconds after a task was seen to certify: the latest that one is killed


def certifying(folder: Path) -> Iterator[int]:
    """The processes of this machine that certify for a task whose logs are below `folder`."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            words = (
                (entry / "cmdline").read_bytes().decode(errors="replace").split("\0") if entry.name.isdigit() else []
            )
            if "submitit.core._submit" in words and str(folder) in " ".join(words) and "srun" not in words[0]:
                yield int(entry.name)


def kill_one(jobs: Jobs, rng: random.Random) -> float | None:
    """Kill a task at a random moment in its work; the moment, or None where all tasks have ended before."""
    time.sleep(moment := rng.uniform(0, LATEST))
    while jobs.alive():
        if there := sorted(certifying(jobs.folder)):
            os.kill(rng.choice(there), signal.SIGKILL)
            return round(moment, 2)
        time.sleep(0.05)  # all of them wait for their next turn
    return None


def test_killed_tasks_make_the_table_of_an_undisturbed_process(folder: Path, command: Command) -> None:
    seed, times = int(os.environ.get("DRILLS_SEED", "0")), int(os.environ.get("DRILLS_TIMES", "5"))
    print(f"DRILLS_SEED={seed} DRILLS_TIMES={times}")
    rng = random.Random(seed)
    command(f"certify {CERTIFY} --out one.parquet")
    say_how_slow(folder, 0.6)  # ten seconds an image, so that no task ends before all are killed
    command(f"certify {CERTIFY} --slurm --array 4 --partition low --time 30 --out many.parquet")
    begun, jobs = time.monotonic(), Jobs(shards_path(folder / "many.parquet"))
    while not ShardFolder(folder / "many.parquet", 4).certified(12):
        assert jobs.alive()
        time.sleep(0.2)
    moments = [kill_one(jobs, rng) for _ in range(times)]
    assert None not in moments, "the tasks ended before they could be killed: make them longer"
    say_how_slow(folder, 0.0)
    wait(jobs.folder, patience=500)

    assert_same(folder / "many.parquet", folder / "one.parquet")
    logs = [path.read_text() for path in (jobs.folder / "slurm").glob("*.out")]
    again = sum(log.count("killed by signal 9: this task is queued again") for log in logs)
    assert again == times
    assert sum(log.count("Job completed successfully") for log in logs) == 5  # with the one that merges
    keep_figures(seed, moments, again, read(folder / "many.parquet").idx.tolist(), time.monotonic() - begun)


def keep_figures(seed: int, moments: list[float | None], again: int, images: list[int], seconds: float) -> None:
    """Write what happened where DRILLS_OUT says, if it says so."""
    if out := os.environ.get("DRILLS_OUT"):
        from benchmarks.harness import machine

        how = f"DRILLS_SEED={seed} DRILLS_TIMES={len(moments)}"
        figures = {
            "drill": "kill -9: tasks of a Slurm array",
            "command": f"{how} pytest -m slow tests/launch/slurm/test_drill.py",
            "machine": machine(),
            "tasks": 4,
            "images": len(images),
            "killed": len(moments),
            "moments": moments,
            "queued again": again,
            "doubled": len(images) - len({*images}),
            "missing": 12 - len({*images}),
            "unequal counts": 0,  # else the comparison had failed
            "seconds": round(seconds, 1),
        }
        Path(out).write_text(json.dumps(figures, indent=1) + "\n")
