"""Processes that are started elsewhere: what lies in the current folder is not run, nor is what a path is called."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from launch.fake_slurm import fake_slurm
from randsmooth.certificates import CertificationSettings
from randsmooth.errors import Problem
from randsmooth.launch.chains import chains_of
from randsmooth.launch.model_steps import Certify
from randsmooth.launch.slurm import Jobs
from randsmooth.launch.slurm_resources import Resources

# Says that it was run, and lets Python go on with its own.
POISON = """
import sys
open("ran", "a").write(__name__ + " " + " ".join(sys.orig_argv) + "\\n")
"""
# As the script that an installation puts on PATH: Python then looks in its folder, not in the current one.
SCRIPT = """
import sys
from randsmooth.cli.main import main
if __name__ == "__main__":
    sys.exit(main())
"""
MODEL = """
import torch
from helper import CLASSES

def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, CLASSES)).eval()
"""
HOW = (
    "--dataset digits --sigma 0.25 --n 100 --n0 10 --take 4 --backend torch --workers 2"
)


@pytest.fixture
def poisoned(tmp_path: Path) -> Path:
    """A folder with modules called like Python's own."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in ("json", "random", "queue", "colorsys"):
        (folder / f"{name}.py").write_text(POISON)
    return folder


def randsmooth(words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    script = folder.parent / "bin" / "randsmooth.script"
    script.parent.mkdir(exist_ok=True)
    script.write_text(SCRIPT)
    whole = [sys.executable, str(script), *words.split()]
    return subprocess.run(
        whole, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow
def test_workers_run_no_module_of_the_current_folder(poisoned: Path) -> None:
    done = randsmooth(f"certify demo {HOW} --out a.parquet", poisoned)
    assert done.returncode == 0, done.stderr
    trained = randsmooth(
        "train digits --sigma 0.25 --epochs 1 --device cpu --devices 2 --out m",
        poisoned,
    )
    assert trained.returncode == 0, trained.stderr
    assert not (poisoned / "ran").exists(), (poisoned / "ran").read_text()


@pytest.mark.slow
def test_code_that_is_named_finds_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "zoo").mkdir()
    (tmp_path / "zoo" / "zoo.py").write_text(MODEL)
    (tmp_path / "zoo" / "helper.py").write_text("CLASSES = 10")
    for name, out in {"zoo.py:net": "file", "zoo:net": "module"}.items():
        done = randsmooth(f"certify {name} {HOW} --out {out}.parquet", tmp_path / "zoo")
        assert done.returncode == 0, done.stderr


def submitted(folder: Path, monkeypatch: pytest.MonkeyPatch, out: str = "a") -> Path:
    """The batch script of a task that makes `out` in `folder`."""
    pytest.importorskip("submitit")
    for name, value in fake_slurm(folder.parent / "slurm").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(
        "PATH", f"{folder.parent / 'slurm'}{os.pathsep}{os.environ['PATH']}"
    )
    monkeypatch.chdir(folder)
    made = folder / f"{out}.parquet"
    step = Certify(
        name="1/certify", makes=made, model="demo", settings=CertificationSettings()
    )
    Jobs(folder / out).submit(chains_of([step]), Resources(time="9"))
    return folder.parent / "slurm" / "script.sh"


def test_tasks_of_slurm_run_no_module_of_the_current_folder(
    poisoned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = submitted(poisoned, monkeypatch)
    subprocess.run(["bash", str(script)], check=True, cwd=poisoned, timeout=60)
    assert not (poisoned / "ran").exists(), (poisoned / "ran").read_text()


def test_a_path_is_no_line_of_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(Problem, match=r"a\\ntouch ran\\n.*one line"):
        submitted(tmp_path / "here", monkeypatch, "a\ntouch ran\n")
    assert not (tmp_path / "slurm" / "script.sh").exists()
