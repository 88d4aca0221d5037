"""A real Slurm, and a certification that takes as long as it is told, for the tests of what is submitted."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from randsmooth.launch.slurm import Jobs
from real_slurm import NoSlurm, Slurm, slurm

# A classifier that takes its time, as long as a file says, without need of a processor: others are at work, too.
SLOW = """
import time
from pathlib import Path

def make():
    def label(x):
        begun = time.monotonic()
        while time.monotonic() < begun + float(Path("seconds").read_text()):
            time.sleep(0.05)
        return (x.flatten(1).sum(1) * 2).long() % 10

    return label
"""
# So many samples pick the class that no image begins before another has ended.
CERTIFY = "slow.py:make --dataset digits --sigma 0.5 --n 400 --n0 400 --batch 50 --take 12 --identity slow"

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="package")
def cluster() -> Iterator[Slurm]:
    """A Slurm that runs two tasks at once; the tests are skipped where none can be started."""
    try:
        with slurm() as started:
            yield started
    except NoSlurm as error:
        pytest.skip(f"no Slurm: {error}")


@pytest.fixture
def folder(cluster: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the slow classifier, for a process that uses the Slurm."""
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    say_how_slow(tmp_path, 0.0)
    return tmp_path


def say_how_slow(folder: Path, seconds: float) -> None:
    """How long the classifier takes for each batch, from now on; an image of `CERTIFY` is sixteen batches."""
    (folder / "seconds.new").write_text(str(seconds))
    (folder / "seconds.new").replace(folder / "seconds")


@pytest.fixture
def command(folder: Path) -> Command:
    """Runs `randsmooth WORDS` in the folder as a user does."""

    def run(words: str, *, code: int = 0) -> subprocess.CompletedProcess[str]:
        whole = [sys.executable, "-m", "randsmooth", *words.split()]
        environment = os.environ | {"COLUMNS": "200"}
        done = subprocess.run(
            whole,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def wait(folder: Path, patience: float = 300.0) -> Jobs:
    """Until no job of a folder is queued or running; the record of them."""
    jobs, deadline = Jobs(folder), time.monotonic() + patience
    while there := jobs.alive():
        assert time.monotonic() < deadline, there
        time.sleep(0.5)
    return jobs
