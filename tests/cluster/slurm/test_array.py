"""A certification as an array of a real Slurm: the table of one process, whatever happens to its tasks."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from cluster.slurm.conftest import CERTIFY, Command, assert_same, say_how_slow, wait
from randsmooth.cluster.slurm_queue import alive
from randsmooth.cluster.submission import Submission, folder_of
from real_slurm import Slurm

pytestmark = pytest.mark.slow

SUBMIT = f"submit certify {CERTIFY} --slurm --array 4 --partition low --time 10 --out many.parquet"


def running(out: Path, least: int = 1) -> Submission:
    """Once so many images are certified, and some are not."""
    submission = Submission.read(folder_of(out))
    deadline = time.monotonic() + 120
    while sum(map(submission.certified, submission.numbers)) < least:
        assert time.monotonic() < deadline, alive(submission.all_jobs())
        time.sleep(0.2)
    assert submission.missing()
    return submission


def test_an_array_makes_the_table_of_one_process(folder: Path, command: Command) -> None:
    command(f"certify {CERTIFY} --out one.parquet")
    said = command(SUBMIT).stdout
    found = re.fullmatch(
        r"4 tasks: 4 submitted now\n"
        r"jobs (\d+) (\d+); the last merges what the others make into many\.parquet\n"
        r"logs: many\.tasks/logs/\1_\*\.out\n"
        r"to watch: randsmooth submit status many\.parquet\n"
        r"to stop: scancel \1 \2; the same command then goes on\n",
        said,
    )
    assert found, said
    wait(folder / "many.parquet")
    assert_same(folder / "many.parquet", folder / "one.parquet")
    assert len([*(folder / "many.tasks/logs").glob(f"{found[1]}_*.out")]) == 4

    shown = command("submit status many.parquet").stdout
    assert "12 of 12 images certified by 4 tasks" in shown
    assert re.search(rf"\n4/4 +done +3/3 +{found[1]}_3\nmerge +done +{found[2]} +many\.parquet\n5 done\n", shown)
    assert command(SUBMIT).stdout == "nothing to submit: all 4 tasks are done, certificates in many.parquet\n"


def test_tasks_that_are_queued_again_or_cancelled_go_on_where_they_were(
    folder: Path, command: Command, cluster: Slurm
) -> None:
    command(f"certify {CERTIFY} --out one.parquet")
    say_how_slow(folder, 1.0)  # nine seconds an image
    command(SUBMIT)
    submission = running(folder / "many.parquet")
    say_how_slow(folder, 0.0)
    first, second, *waiting = submission.jobs.values()
    cluster.run("scontrol", "requeue", first)
    cluster.run("scancel", second, *waiting)
    while second in alive([second]):
        time.sleep(0.2)
    assert "3 submitted now" in command(SUBMIT).stdout  # the other one is queued
    assert "4 queued or running" in command(SUBMIT).stdout
    wait(folder / "many.parquet")
    assert_same(folder / "many.parquet", folder / "one.parquet")


def test_a_preempted_task_makes_way_and_goes_on(folder: Path, command: Command, cluster: Slurm) -> None:
    command(f"certify {CERTIFY} --out one.parquet")
    say_how_slow(folder, 1.0)
    command(SUBMIT)
    running(folder / "many.parquet")
    say_how_slow(folder, 0.0)
    urgent = ["sbatch", "--partition=high", "--cpus-per-task=2", "--output=/dev/null", "--wrap=sleep 2"]
    cluster.run(*urgent)
    submission = wait(folder / "many.parquet")
    assert_same(folder / "many.parquet", folder / "one.parquet")
    logs = [path.read_text() for path in (submission.folder / "logs").glob("*.out")]
    assert any("DUE TO PREEMPTION" in log or "this job is preempted" in log for log in logs), logs


def test_a_task_that_runs_out_of_time_goes_on_in_its_next_turn(folder: Path, command: Command, cluster: Slurm) -> None:
    command(f"certify {CERTIFY} --out one.parquet")
    say_how_slow(folder, 1.0)
    command(SUBMIT.replace("--array 4", "--array 2"))
    submission = running(folder / "many.parquet")
    say_how_slow(folder, 0.0)
    limited = submission.jobs[1]
    minutes = int(alive([limited])[limited].since.split(":")[0])  # that it has run
    cluster.run("scontrol", "update", f"JobId={limited}", f"TimeLimit={minutes + 2}")  # Slurm warns it at once
    while (there := alive([limited])) and there[limited].state != "PENDING":
        time.sleep(0.2)
    cluster.run("scontrol", "update", f"JobId={limited}", "TimeLimit=10")
    submission = wait(folder / "many.parquet")
    assert_same(folder / "many.parquet", folder / "one.parquet")
    log = (submission.folder / "logs" / f"{limited}_0_log.out").read_text()
    assert "Caught signal SIGUSR2" in log and f"Requeued job {limited}" in log


def test_a_task_that_fails_is_told_with_the_reason_and_done_again(folder: Path, command: Command) -> None:
    command(f"certify {CERTIFY} --out one.parquet")
    (folder / "many.tasks").mkdir()
    (folder / "many.tasks/3-of-4.parquet.partial").write_text("no journal\n")
    command(SUBMIT)
    wait(folder / "many.parquet")
    shown = command("submit status many.parquet").stdout
    assert re.search(r"\n3/4 +failed +0/3 .*3-of-4\.parquet\.partial.*\(log: .*_2_0_log\.out\)\n", shown), shown
    assert re.search(r"\nmerge +failed .*\n3 done, 2 failed\nthe same `randsmooth submit certify` again", shown), shown
    (folder / "many.tasks/3-of-4.parquet.partial").unlink()
    assert "4 tasks: 3 done, 1 submitted now" in command(SUBMIT).stdout
    wait(folder / "many.parquet")
    assert_same(folder / "many.parquet", folder / "one.parquet")


def test_what_slurm_refuses_leaves_nothing_behind(folder: Path, command: Command) -> None:
    done = command(SUBMIT.replace("--partition low", "--partition nosuch"), code=2)
    assert done.stderr.startswith("randsmooth: Slurm refused: invalid partition specified: nosuch; ")
    assert [path.name for path in folder.iterdir()] == ["slow.py"]


def test_another_certification_is_not_mixed_with_one_that_runs(folder: Path, command: Command, cluster: Slurm) -> None:
    say_how_slow(folder, 0.5)
    command(SUBMIT)
    other = command(f"{SUBMIT} --seed 1", code=2).stderr
    assert "many.tasks holds tasks that were begun differently (seed: None there, 1 asked for)" in other
    fewer = command(SUBMIT.replace("--array 4", "--array 3"), code=2).stderr
    assert "(array: 4 there, 3 asked for)" in fewer
    discard = command(f"{SUBMIT} --overwrite", code=2).stderr
    words = re.search(r"still queued or running: stop them by `scancel ([\d ]+)`", discard)
    assert words, discard
    cluster.run("scancel", *words[1].split())
    wait(folder / "many.parquet")
    say_how_slow(folder, 0.0)
    command(f"{SUBMIT} --seed 1 --overwrite")
    wait(folder / "many.parquet")
    command(f"certify {CERTIFY} --seed 1 --out one.parquet")
    assert_same(folder / "many.parquet", folder / "one.parquet")
