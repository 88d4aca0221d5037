"""Processes of this machine as workers: the table of one process, to the last digit, and no process left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import randsmooth as rs
from certification.runs import same
from randsmooth.certificates.partial import journal_path
from randsmooth.cluster.processes import shares
from randsmooth.errors import InputError, Note

pytestmark = pytest.mark.slow

MODEL = """
import multiprocessing
import torch
from torch import nn

def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).eval()

def other_in_the_second_worker():
    return net(1 if multiprocessing.current_process().name == "randsmooth-2" else 0)
"""


class Net(nn.Module):
    """Its answers to images of a certain brightness are not finite, where it `breaks`."""

    def __init__(self, breaks: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.breaks, self.layers = breaks, nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
        self.eval()

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layers(x)
        brightness = x.mean(dim=(1, 2, 3))[:, None]
        broken = (brightness > 0.34) & (brightness < 0.38)
        return torch.where(broken, torch.nan, logits) if self.breaks else logits


@pytest.fixture
def model(tmp_path: Path) -> str:
    file = tmp_path / "model.py"
    file.write_text(MODEL)
    return f"{file}:net"


def processes_of(pid: int) -> set[int]:
    """The processes that `pid` has started, and theirs."""
    found, parents = set(), {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    new = {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new}
        found |= new
    return found


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if Path(f"/proc/{pid}").exists() and "Z" not in state(pid)}


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@pytest.mark.parametrize(
    ("how", "number"),
    [
        ({"rule": "fixed"}, 1),
        ({"rule": "grid", "backend": "auto"}, 2),
        ({"rule": "radius=0.25", "label_aware": True, "sound": True, "seed": 3}, 3),
        ({"rule": "radius=0.25", "n0": 0}, 2),
    ],
)
def test_the_table_is_that_of_one_process(tmp_path: Path, model: str, how: dict[str, Any], number: int) -> None:
    settings: dict[str, Any] = {"sigma": 0.25, "n0": 50, "n": 2000, "take": 30} | how
    several = rs.certify(model, "digits", **settings, out=tmp_path / "a.parquet", workers=rs.cluster.Processes(number))
    settings |= {"backend": several.header.backend, "batch": several.header.batch}
    assert same(several, rs.certify(model, "digits", **settings, out=tmp_path / "b.parquet"))
    assert several.machine is None
    assert not (tmp_path / "a.parquet.partial").exists()


def test_a_run_may_be_begun_alone_and_resumed_by_several(
    tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["certify", model, "--dataset", "digits", "--sigma", "0.25", "--n", "20000", "--take", "24"]
    run(*words, "--out", tmp_path / "whole.parquet")
    driver = begun(tmp_path / "a.parquet", words, rows=3)
    driver.kill()
    driver.wait()
    run(*words, "--out", tmp_path / "a.parquet", "--resume", "--workers", "2")
    assert same(rs.read(tmp_path / "a.parquet"), rs.read(tmp_path / "whole.parquet"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_run_that_is_stopped_leaves_no_process_and_goes_on(
    tmp_path: Path, model: str, number: signal.Signals, code: int
) -> None:
    words = ["certify", model, "--dataset", "digits", "--sigma", "0.25", "--n", "20000", "--take", "24"]
    driver = begun(tmp_path / "a.parquet", [*words, "--workers", "2"], rows=3)
    workers = processes_of(driver.pid)
    assert len(workers) >= 2
    start = time.monotonic()
    if number == signal.SIGINT:
        os.killpg(driver.pid, number)  # as a terminal does
    else:
        driver.send_signal(number)
    said = driver.communicate(timeout=60)[0]
    assert driver.returncode == code
    assert time.monotonic() - start < 20
    deadline = time.monotonic() + 20
    while alive(workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(workers)
    assert "Traceback" not in said
    assert code != 130 or "--resume goes on" in said
    run(*words, "--out", tmp_path / "a.parquet", "--resume", "--workers", "2")
    run(*words, "--out", tmp_path / "whole.parquet")
    assert same(rs.read(tmp_path / "a.parquet"), rs.read(tmp_path / "whole.parquet"))


def test_a_worker_with_other_weights_is_left_out(tmp_path: Path, model: str) -> None:
    settings: dict[str, Any] = {"sigma": 0.25, "n": 50_000, "take": 40}
    other = model.replace("net", "other_in_the_second_worker")
    with pytest.warns(Note, match=r"worker 2 is left out \(another model: weights 'sha256:.*' of worker \d, 'sha256:"):
        found = rs.certify(other, "digits", **settings, out=tmp_path / "a.parquet", workers=rs.cluster.Processes(3))
    whole = rs.certify(model, "digits", **settings, out=tmp_path / "b.parquet")
    assert same(found, replace(whole, header=found.header))


def test_errors_reach_the_user_once_and_in_a_sentence(tmp_path: Path, model: str) -> None:
    workers, out = rs.cluster.Processes(2), tmp_path / "a.parquet"
    with pytest.raises(InputError, match="NaN or infinite logits"):
        rs.certify(Net(breaks=True), "digits", sigma=0.25, n=1000, take=8, out=out, workers=workers)
    with pytest.raises(InputError, match=r"^unknown data set 'digit': did you mean 'digits'"):
        rs.certify(Net(), "digit", sigma=0.25, n=1000, take=8, out=out, workers=workers)
    unpicklable = Net()
    unpicklable.hook = lambda: None  # type: ignore[assignment]
    with pytest.raises(InputError, match=r"cannot be sent to other processes .*: name it"):
        rs.certify(unpicklable, "digits", sigma=0.25, n=1000, take=8, out=out, workers=workers, overwrite=True)
    assert not alive({pid for pid in processes_of(os.getpid()) if "spawn_main" in cmdline(pid)})


def test_a_script_without_a_guard_is_told_what_to_write(tmp_path: Path, model: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import randsmooth as rs\n"
        f"rs.certify({model!r}, 'digits', sigma=0.25, n=1000, take=8, out='a.parquet', "
        "workers=rs.cluster.Processes(1))\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=500, cwd=tmp_path)
    assert ran.returncode == 1
    assert "if __name__ == '__main__':" in ran.stderr.splitlines()[-1]


def cmdline(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def run(*words: object) -> str:
    """What the command says; it must succeed."""
    command = [sys.executable, "-m", "randsmooth", *map(str, words)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def begun(out: Path, words: list[str], rows: int) -> subprocess.Popen[str]:
    """The command, once its journal holds so many rows; in a process group of its own, as a terminal's job is."""
    command = [sys.executable, "-m", "randsmooth", *words, "--out", str(out)]
    driver = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    for _ in moments(300):
        if journal_path(out).exists() and journal_path(out).read_bytes().count(b"\n") > rows:
            return driver
        assert driver.poll() is None, driver.communicate()[0]
    raise AssertionError("no row in time")


def moments(seconds: float) -> Iterator[None]:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        time.sleep(0.02)


def test_threads_are_shared_out() -> None:
    threads = torch.get_num_threads()
    assert sum(share.threads for share in shares(threads, "cpu")) == threads
    assert [share.threads for share in shares(5 * threads, "cpu")] == [1] * 5 * threads
