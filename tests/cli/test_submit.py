"""What `randsmooth submit` refuses before anything is submitted, and what it runs on this machine."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cli.run import Run
from randsmooth import read
from randsmooth.cluster.submission import Submission

MAKE = "def make():\n    return lambda x: (x.flatten(1).sum(1) * 2).long() % 10\n"
ASKED = ["own.py:make", "--dataset", "digits", "--sigma", "0.5", "--n", "100", "--take", "5", "--identity", "own"]
HERE = ["--local", "--array", "2"]


@pytest.fixture
def own(cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder of `cli` with a classifier, where Slurm has no commands."""
    (tmp_path / "own.py").write_text(MAKE)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "certify needs MODEL"),
        (["m"], "say where the tasks are to run: --slurm submits them, --local runs them on this machine"),
        (["m", "--slurm", "--local"], "--local runs them on this machine; not both"),
        (["m", "--local"], "--array is missing: in how many tasks"),
        (["m", "--local", "--array", "0"], "--array 0: expected at least 1"),
        (["m", *HERE, "--parallel", "0"], "--parallel 0: expected at least 1"),
        (["m", *HERE, "--shard", "1/2"], "--shard 1/2: the tasks have a shard each"),
        (["m", *HERE, "--plan"], "--plan is not for tasks: give it to `randsmooth certify`"),
        (["m", *HERE, "--ray", "auto"], "--ray is not for tasks"),
        (["m", *HERE, "--rule", "gird"], "unknown rule 'gird': did you mean 'grid'?"),
        (["m", *HERE, "--n", "5"], "alpha=0.001 needs n >= 10"),
        (["m", *HERE], "m is not a folder"),
        ([*ASKED, *HERE, "--dataset", "nosuch"], "nosuch"),
        ([*ASKED, *HERE, "--split", "nosuch"], "nosuch"),
        ([*ASKED, *HERE, "--out", "a.csv"], "a.csv must end in .parquet"),
        ([*ASKED, *HERE, "--out", "s3://bucket/a.parquet"], "is a URL, and what tasks make is written to this machine"),
        ([*ASKED, "--local", "--array", "6"], "--array 6 is more than the 5 images"),
        ([*ASKED, "--slurm", "--array", "2"], "--slurm needs --time"),
        ([*ASKED, "--slurm", "--array", "2", "--time", "soon"], "--time soon: expected how long a task may run"),
        ([*ASKED, "--slurm", "--array", "2", "--time", "9", "--mem", "much"], "--mem much: expected an amount"),
        ([*ASKED, "--slurm", "--array", "2", "--time", "9", "--slurm-arg", "x"], "'x' must read key=value"),
        ([*ASKED, "--slurm", "--array", "2", "--time", "9"], "command sbatch, which is not on PATH.*use --local"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_cannot_be_submitted_is_refused_and_nothing_is_begun(
    words: list[str], said: str, own: Path, cli: Run
) -> None:
    code, out, err = cli("submit", "certify", *words)
    assert (code, out) == (2, "")
    assert re.match(rf"randsmooth: .*{re.escape(said) if '.*' not in said else said}", err), err
    assert {path.name for path in own.iterdir()} <= {"own.py", "__pycache__"}


def test_a_folder_without_a_submission_has_no_status(own: Path, cli: Run) -> None:
    code, _, err = cli("submit", "status", "a.parquet")
    assert (code, err) == (
        2,
        "randsmooth: a.tasks holds no submission: give the --out of a `randsmooth submit certify`\n",
    )


def test_a_table_that_no_task_made_is_not_replaced(own: Path, cli: Run) -> None:
    (own / "a.parquet").touch()
    code, _, err = cli("submit", "certify", *ASKED, *HERE, "--out", "a.parquet")
    assert code == 2 and "a.parquet exists and was not made by tasks: use --overwrite or another --out" in err
    (own / "a.parquet").rename(own / "a.parquet.partial")
    code, _, err = cli("submit", "certify", *ASKED, *HERE, "--out", "a.parquet")
    assert code == 2 and "a.parquet.partial exists and was not made by tasks: use --overwrite" in err


@pytest.mark.slow
def test_an_overwritten_table_does_not_pass_for_that_of_the_tasks(own: Path, cli: Run) -> None:
    assert cli("certify", *ASKED, "--seed", "7", "--out", "a.parquet").code == 0
    words = ["submit", "certify", *ASKED, "--local", "--array", "1", "--out", "a.parquet"]
    code, _, err = cli(*words, "--overwrite")
    assert (code, err) == (0, "")
    assert read(own / "a.parquet").header.seed == 0


@pytest.mark.slow
def test_a_model_that_was_trained_anew_is_not_that_of_the_table(own: Path, cli: Run) -> None:
    make = "import torch\ndef make():\n    torch.manual_seed({})\n    return torch.nn.Sequential(torch.nn.Flatten(), "
    words = ["submit", "certify", "net.py:make", *ASKED[1:-2], "--local", "--array", "1", "--out", "a.parquet"]
    (own / "net.py").write_text(f"{make.format(0)}torch.nn.Linear(64, 10)).eval()\n")
    assert cli(*words).code == 0
    assert cli(*words).code == 0
    (own / "net.py").write_text(f"{make.format(1)}torch.nn.Linear(64, 10)).eval()\n")
    code, _, err = cli(*words)
    assert code == 2 and "a is about another model: weights 'sha256:" in err


@pytest.mark.parametrize("damage", ["", "[1]", '{"format": 1}', '{"format": 99, "jobs": {}}'])
def test_a_damaged_record_is_refused(damage: str, own: Path, cli: Run) -> None:
    folder = own / "a.tasks"
    Submission(folder=folder, out=own / "a.parquet", shards=2, images=5).write()
    (folder / "submission.json").write_text(damage)
    code, _, err = cli("submit", "status", "a.parquet")
    assert code == 2 and "submission.json cannot be read (" in err


@pytest.mark.slow
def test_tasks_of_this_machine_make_the_table_of_one_process(own: Path, cli: Run) -> None:
    assert cli("certify", *ASKED, "--out", "one.parquet").code == 0
    (own / "a.tasks").mkdir()
    (own / "a.tasks/2-of-3.parquet.partial").write_text("no journal\n")  # so that the second task fails
    words = ["submit", "certify", *ASKED, "--local", "--array", "3", "--parallel", "2", "--out", "a.parquet"]
    code, out, err = cli(*words)
    assert (code, err) == (1, "randsmooth: the same command goes on with what failed\n")
    assert re.search(r"shard 2/3 failed: .*2-of-3\.parquet\.partial.*\(log: a\.tasks/2-of-3\.parquet\.log\)\n", out), (
        out
    )
    assert not (own / "a.parquet").exists()
    status = cli("submit", "status", "a.parquet").out
    assert re.search(r"\n1/3 +done +2/2\n2/3 +failed +0/2 .*\n3/3 +done +1/1\n2 done, 1 failed\n", status), status

    (own / "a.tasks/2-of-3.parquet.partial").unlink()
    before = (own / "a.tasks/1-of-3.parquet").stat().st_mtime_ns
    code, out, err = cli(*words)
    assert (code, err) == (0, "") and out.endswith("certificates in a.parquet\n")
    assert (own / "a.tasks/1-of-3.parquet").stat().st_mtime_ns == before
    one, other = read(own / "one.parquet"), read(own / "a.parquet")
    for column in ("idx", "label", "predict", "radius", "counts0", "counts"):
        assert np.array_equal(getattr(one, column), getattr(other, column))
    assert cli("submit", "status", "a.tasks").out.endswith("\n3 done\n")
    assert cli(*words).code == 0  # and there is nothing left to do
