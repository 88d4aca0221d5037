"""A certification as an array of a real Slurm: the table of one process, whatever happens to its tasks."""

import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

from launch.processes import equal
from launch.processes import running as processes
from launch.slurm.conftest import CERTIFY, Command, say_how_slow, wait
from randsmooth import read
from randsmooth.certificates.journal import shards_path
from randsmooth.launch.outcomes import read_problem
from randsmooth.launch.shards import ShardFolder
from randsmooth.launch.slurm import Jobs
from real_slurm import Slurm

pytestmark = pytest.mark.slow

SUBMIT = (
    f"certify {CERTIFY} --slurm --array 4 --partition low --time 10 --out many.parquet"
)


def running(folder: Path, least: int = 1) -> Jobs:
    """Once so many images are certified, and some are not; the jobs."""
    shards, jobs = (
        ShardFolder(folder / "many.parquet", 4),
        Jobs(shards_path(folder / "many.parquet")),
    )
    deadline = time.monotonic() + 120
    while shards.count_certified(12) < least:
        assert time.monotonic() < deadline, jobs.alive()
        time.sleep(0.2)
    assert shards.missing()
    return jobs


def wait_for_table(folder: Path, like: str = "") -> Jobs:
    """Until no task is left; the table is then that of another file."""
    jobs = wait(shards_path(folder / "many.parquet"))
    assert not like or equal(read(folder / "many.parquet"), read(folder / like))
    return jobs


def test_an_array_makes_the_table_of_one_process(
    folder: Path, command: Command
) -> None:
    command(f"certify {CERTIFY} --out one.parquet")
    said = command(SUBMIT).stdout
    assert re.match(
        r"5 tasks submitted now\nto stop: scancel (\d+) (\d+); the same command then goes on\n",
        said,
    ), said
    wait_for_table(folder, like="one.parquet")
    assert len([*(folder / "many.shards/slurm").glob("*_log.out")]) == 5
    assert command(SUBMIT).stdout.startswith("nothing is missing")


def test_tasks_that_are_queued_again_or_cancelled_go_on_where_they_were(
    folder: Path, command: Command, cluster: Slurm
) -> None:
    command(f"certify {CERTIFY} --out one.parquet")
    say_how_slow(folder, 0.5)
    command(SUBMIT)
    jobs = running(folder)
    say_how_slow(folder, 3600.0)  # no task ends before it is cancelled
    first, *others = jobs.read().values()
    cluster.run("scontrol", "requeue", first)
    cluster.run("scancel", *others)
    while len(jobs.alive()) > 1:
        time.sleep(0.2)
    say_how_slow(folder, 0.0)
    assert "4 tasks submitted now" in command(SUBMIT).stdout  # the other one is queued
    assert "submitted now" not in command(SUBMIT).stdout
    wait_for_table(folder, like="one.parquet")


def test_a_preempted_task_makes_way_and_goes_on(
    folder: Path, command: Command, cluster: Slurm
) -> None:
    command(f"certify {CERTIFY} --out one.parquet")
    say_how_slow(folder, 0.5)
    command(SUBMIT)
    running(folder)
    say_how_slow(folder, 3600.0)  # no task ends before it has to make way
    cluster.run(
        "sbatch",
        "--wait",
        "--partition=high",
        "--cpus-per-task=2",
        "--output=/dev/null",
        "--wrap=sleep 2",
    )
    say_how_slow(folder, 0.0)
    wait_for_table(folder, like="one.parquet")
    logs = [path.read_text() for path in (folder / "many.shards/slurm").glob("*.out")]
    assert any(
        "DUE TO PREEMPTION" in log or "this job is preempted" in log for log in logs
    ), logs


def test_a_task_that_fails_is_done_again(folder: Path, command: Command) -> None:
    command(f"certify {CERTIFY} --out one.parquet")
    (folder / "many.shards").mkdir()
    (folder / "many.shards/3-of-4.parquet.partial").write_text("no journal\n")
    command(SUBMIT)
    wait_for_table(folder)
    problem = read_problem(folder / "many.shards/3-of-4.parquet.failed")
    assert "3-of-4.parquet.partial" in str(problem)
    assert not (folder / "many.parquet").exists()
    (folder / "many.shards/3-of-4.parquet.partial").unlink()
    assert "2 tasks submitted now" in command(SUBMIT).stdout
    wait_for_table(folder, like="one.parquet")


def test_what_slurm_refuses_leaves_nothing_behind(
    folder: Path, command: Command
) -> None:
    done = command(SUBMIT.replace("--partition low", "--partition nosuch"), code=2)
    assert "Slurm refused: invalid partition specified: nosuch" in done.stderr
    assert {path.name for path in folder.iterdir()} == {"slow.py", "seconds"}


def test_another_certification_is_not_mixed_with_one_that_runs(
    folder: Path, command: Command, cluster: Slurm
) -> None:
    say_how_slow(folder, 0.5)
    command(SUBMIT)
    fewer = command(SUBMIT.replace("--array 4", "--array 3"), code=2).stderr
    assert "many.shards holds 4 shards" in fewer
    discard = command(f"{SUBMIT} --overwrite", code=2).stderr
    words = re.search(r"queued or running in Slurm: .* `scancel ([\d ]+)`", discard)
    assert words, discard
    cluster.run("scancel", *words[1].split())
    wait_for_table(folder)
    say_how_slow(folder, 0.0)
    command(f"{SUBMIT} --seed 1 --overwrite")
    wait_for_table(folder)
    command(f"certify {CERTIFY} --seed 1 --out one.parquet")
    assert equal(read(folder / "many.parquet"), read(folder / "one.parquet"))


def test_killed_tasks_are_queued_again_and_go_on(
    folder: Path, command: Command
) -> None:
    """DRILLS_SEED and DRILLS_TIMES repeat or change the drill."""
    seed, times = (
        int(os.environ.get(name, usual))
        for name, usual in (("DRILLS_SEED", "0"), ("DRILLS_TIMES", "3"))
    )
    rng = random.Random(seed)
    command(f"certify {CERTIFY} --out one.parquet")
    say_how_slow(
        folder, 0.6
    )  # ten seconds an image, so that no task ends before all are killed
    command(SUBMIT)
    jobs = running(folder, least=0)
    for _ in range(times):
        time.sleep(rng.uniform(0, 8.0))
        while not (there := processes("submitit.core._submit", folder)):
            assert jobs.alive(), (
                f"the tasks of DRILLS_SEED={seed} ended before they could be killed"
            )
            time.sleep(0.05)  # all of them wait for their next turn
        os.kill(rng.choice(there), signal.SIGKILL)
    say_how_slow(folder, 0.0)
    wait_for_table(folder, like="one.parquet")
    logs = [path.read_text() for path in (jobs.folder / "slurm").glob("*.out")]
    assert (
        sum(log.count("killed by signal 9: this task is queued again") for log in logs)
        == times
    )
    assert (
        sum(log.count("Job completed successfully") for log in logs) == 5
    )  # with the one that merges
