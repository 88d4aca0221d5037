"""Commands as jobs of a real Slurm, which is started for these tests."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from randsmooth.cluster.resources import Resources
from randsmooth.cluster.slurm_queue import SlurmQueue, alive, cancel
from randsmooth.errors import InputError
from real_slurm import Slurm

pytestmark = pytest.mark.slow


@pytest.fixture
def queue(folder: Path) -> SlurmQueue:
    return SlurmQueue(folder / "tasks", Resources(time="5", partition="gpu"))


def wait(jobs: list[str]) -> None:
    """Until all of them have ended."""
    deadline = time.monotonic() + 120
    while alive(jobs):
        assert time.monotonic() < deadline, alive(jobs)
        time.sleep(0.5)


def test_an_array_runs_and_what_depends_on_it_after_it(queue: SlurmQueue) -> None:
    array = queue.submit([["--version"], ["data", "list"], ["nosuch"]], name="array")
    of_all = {array[0].partition("_")[0]}
    ended = queue.submit([["--version"]], name="ended", after=of_all, all_well=False)
    well = queue.submit([["--version"]], name="well", after=of_all)
    assert {*array, *ended, *well} == {*alive([*array, *ended, *well])}
    wait([*array, *ended, *well])
    logs = [queue.log(job).read_text() for job in (*array, *ended)]
    assert "\nrandsmooth 0." in logs[0] and "\nmnist " in logs[1] and "\nrandsmooth 0." in logs[3]
    assert "randsmooth: unknown verb 'nosuch'" in logs[2] and "exit code 2" in logs[2]
    assert not queue.log(well[0]).exists()  # one of the array failed


def test_a_cancelled_job_is_gone(queue: SlurmQueue) -> None:
    jobs = queue.submit([["--version"]] * 4, name="many")
    cancel(jobs)
    wait(jobs)
    cancel(jobs)  # which have ended, and nothing is said


def test_what_slurm_refuses_is_said_in_its_words(cluster: Slurm, queue: SlurmQueue) -> None:
    nowhere = SlurmQueue(queue.folder, Resources(time="5", partition="nosuch"))
    with pytest.raises(
        InputError, match=r"Slurm refused: invalid partition specified: nosuch; .*Invalid partition name"
    ):
        nowhere.submit([["--version"]], name="a")
    with pytest.raises(InputError, match=r"Slurm refused: .*Invalid job array specification"):
        queue.submit([["--version"]] * 102, name="a")  # more than this Slurm's MaxArraySize
    assert cluster.run("squeue", "--noheader") == ""


def test_without_slurms_commands_the_way_without_is_named(
    queue: SlurmQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("sbatch") is None
    with pytest.raises(InputError, match=r"command sbatch, which is not on PATH.*--local"):
        SlurmQueue(tmp_path, queue.resources)
