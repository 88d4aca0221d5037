"""Training on several devices of the CPU: real processes, which end in what one ends in, and end together."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import randsmooth as rs
from drills.processes_of import parent_of, ranks_of
from randsmooth import data, models
from randsmooth.attacks import noisy_logits
from randsmooth.errors import InputError
from randsmooth.methods import METHODS as METHODS_HERE
from randsmooth.methods.gaussian import Gaussian
from randsmooth.models import Classifier
from randsmooth.noise import Stream, draw
from randsmooth.training import RankLost, TrainingDiverged, TrainingSettings, train
from randsmooth.training.folder import CHECKPOINT, HISTORY
from randsmooth.training.teacher import stored_predictions
from training.test_ranks import METHODS, apart

pytestmark = pytest.mark.slow

UNEVEN = {"epochs": 2, "take": 41}  # steps of 8 images; the last has one, and one rank none
ENDED = 30.0  # seconds in which all ranks end when one does, on a busy machine


# What each rank of a launcher runs, where rank 1 has something else.
ODD = {
    "version": """
import os, sys
from importlib import metadata
known = metadata.version
if os.environ["RANK"] == "1":
    metadata.version = lambda name: "0.0.9" if name == "randsmooth" else known(name)
import randsmooth as rs
rs.train("digits", sigma=0.25, epochs=1, take=41, out=sys.argv[1] + "/m", device="cpu", devices=2)
""",
    "data": """
import os, sys
os.chdir(sys.argv[1] + "/" + os.environ["RANK"])
import randsmooth as rs
rs.train("train.npz", sigma=0.25, epochs=1, take=41, out=sys.argv[1] + "/m", device="cpu", devices=2)
""",
}


def settings(method: str = "gaussian", lr: float = 0.1, **changes: Any) -> TrainingSettings:
    of_method = METHODS.get(method, {})
    m = of_method.get("m", of_method.get("k", 1))
    chosen: dict[str, Any] = {"sigma": 0.25, "method": method, "set": {**of_method, "batch": 8 * m, "lr": lr}}
    return TrainingSettings(**chosen | UNEVEN | changes)


def gone(pid: int) -> bool:
    """Whether a process ended within the time that ranks may take for it."""
    until = time.monotonic() + ENDED
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


def same_figures(one: Path, other: Path, within: float) -> None:
    left, right = (pd.read_csv(folder / HISTORY).drop(columns="seconds") for folder in (one, other))
    pd.testing.assert_frame_equal(left, right, rtol=within, atol=within, check_dtype=False)


@pytest.mark.parametrize("method", METHODS)
def test_two_processes_train_what_one_trains(method: str, tmp_path: Path) -> None:
    alone = train("digits", settings(method), out=tmp_path / "alone", device="cpu")
    both = train("digits", settings(method), out=tmp_path / "both", device="cpu", devices=2)
    assert apart(alone, both) < 1e-5
    same_figures(tmp_path / "alone", tmp_path / "both", 1e-5)
    assert ranks_of(os.getpid()) == []
    assert not both.training and not torch.distributed.is_initialized()


@pytest.mark.parametrize("method", METHODS)
def test_two_processes_with_synchronised_batch_norm_train_what_one_trains(method: str, tmp_path: Path) -> None:
    # Small steps, and no batch of one image: else a change of 1e-7 in one process's first weights grows to 0.1, too.
    chosen = settings(method, lr=0.001, arch="resnet8", epochs=2, take=29)
    alone = train("digits", chosen, out=tmp_path / "alone", device="cpu")
    both = train("digits", chosen, out=tmp_path / "both", device="cpu", devices=2, sync_batch_norm=True)
    assert apart(alone, both) < 1e-5
    assert both.provenance["batch_norm_devices"] is None


def accuracy(model: Classifier) -> float:
    """Under noise, on the test split."""
    images = data.load("digits", "test")
    x, y = images.batch(torch.arange(len(images)))
    noise = draw((4, *x.shape), 0.25, stream=Stream(1, "accuracy"))
    with torch.inference_mode():
        return float((noisy_logits(model, x, noise).argmax(dim=-1) == y).float().mean())


def test_local_batch_norm_trains_as_well_as_one_process_within_chance(tmp_path: Path) -> None:
    chosen = TrainingSettings(sigma=0.25, arch="resnet8", epochs=4)
    alone = accuracy(train("digits", chosen, out=tmp_path / "alone", device="cpu"))
    both = train("digits", chosen, out=tmp_path / "both", device="cpu", devices=2)
    others = [
        accuracy(train("digits", chosen, out=tmp_path / str(seed), device="cpu", seed=seed)) for seed in (1, 2, 3, 4)
    ]
    spread = float(torch.tensor([alone, *others]).std())
    assert abs(accuracy(both) - alone) < 4 * max(spread, 0.01)
    assert accuracy(both) > 0.5
    assert both.provenance["batch_norm_devices"] == 2


def test_images_of_a_program_and_a_callback_need_no_script(tmp_path: Path) -> None:
    """The ranks run no script again: nothing here is guarded by a name of the main module."""
    images = data.load("digits", "train").subset(torch.arange(64))
    x, y = images.batch(torch.arange(64))
    rows: list[dict[str, float]] = []
    both = rs.train(
        (x, y),
        settings(take=None),
        out=tmp_path / "both",
        device="cpu",
        devices=2,
        callback=lambda row, model: rows.append(row),
    )
    alone = rs.train((x, y), settings(take=None), out=tmp_path / "alone", device="cpu")
    assert apart(alone, both) < 1e-5
    assert [row["epoch"] for row in rows] == [0, 1]


def test_a_denoiser_is_trained_together(tmp_path: Path) -> None:
    classifier = tmp_path / "classifier"
    train("digits", settings(sigma=0.0, set={"m": 1}), out=classifier, device="cpu")
    fields: dict[str, Any] = {"sigma": 0.25, "arch": "dncnn-3x4", "take": 33, "epochs": 2, "batch": 8, "device": "cpu"}
    fields |= {"objective": "stability", "classifier": str(classifier)}
    alone = rs.train_denoiser("digits", out=tmp_path / "alone", **fields)
    both = rs.train_denoiser("digits", out=tmp_path / "both", devices=2, sync_batch_norm=True, **fields)
    assert apart(alone, both) < 1e-5


def test_a_teacher_is_asked_by_both(tmp_path: Path) -> None:
    train("digits", settings(), out=tmp_path / "teacher", device="cpu")
    taught = {"variant": "released", "teacher": str(tmp_path / "teacher"), "teacher_noises": 50}
    chosen = settings("cat-rs", set={**settings("cat-rs").set, **taught})
    alone = train("digits", chosen, out=tmp_path / "alone", device="cpu")
    both = train("digits", chosen, out=tmp_path / "both", device="cpu", devices=2)
    told, expected = (stored_predictions(tmp_path / name) for name in ("both", "alone"))
    assert told is not None and expected is not None and torch.equal(told, expected)
    assert apart(alone, both) < 1e-5


class Kill:
    """A callback that kills the second rank after so many epochs, a little later."""

    def __init__(self, after: int, later: float = 0.0) -> None:
        self.after, self.later, self.at = after, later, 0.0

    def __call__(self, row: dict[str, float], model: models.Classifier) -> None:
        if row["epoch"] + 1 == self.after:
            threading.Timer(self.later, self._kill).start()

    def _kill(self) -> None:
        self.at = time.monotonic()
        os.kill(ranks_of(os.getpid())[0], signal.SIGKILL)


LONG = settings(epochs=6, take=400)


def test_a_killed_rank_ends_all_and_resume_goes_on(tmp_path: Path) -> None:
    undisturbed = train("digits", LONG, out=tmp_path / "undisturbed", device="cpu", devices=2)
    alone = train("digits", LONG, out=tmp_path / "alone", device="cpu")
    for name, devices in (("two", 2), ("three", 3)):
        kill = Kill(after=2)
        with pytest.raises(RankLost, match=f"rank 1 of 2 on {socket.gethostname()} was killed by SIGKILL.*--resume"):
            train("digits", LONG, out=tmp_path / name, device="cpu", devices=2, callback=kill)
        assert time.monotonic() - kill.at < ENDED
        assert ranks_of(os.getpid()) == [] and not torch.distributed.is_initialized()
        assert len(pd.read_csv(tmp_path / name / HISTORY)) < LONG.epochs  # type: ignore[operator]
        resumed = train("digits", LONG, out=tmp_path / name, device="cpu", devices=devices, resume=True)
        assert apart(resumed, alone) < 1e-4  # forty steps of 25 images each multiply what was rounded differently
        if devices == 2:
            assert models.weights_hash(resumed) == models.weights_hash(undisturbed)


def test_another_number_of_devices_is_a_change_only_where_each_normalises(tmp_path: Path) -> None:
    def stop(row: dict[str, float], model: models.Classifier) -> None:
        raise KeyboardInterrupt

    local = settings(arch="resnet8", epochs=2)
    with pytest.raises(KeyboardInterrupt):
        train("digits", local, out=tmp_path / "local", device="cpu", devices=2, callback=stop)
    with pytest.raises(InputError, match=r"batch_norm_devices: 2 in the file, None asked.*--devices 2 --resume"):
        train("digits", local, out=tmp_path / "local", device="cpu", resume=True)
    changed = train("digits", local, out=tmp_path / "local", device="cpu", resume=True, accept_changes=True)
    assert changed.provenance["changed"] == ["batch_norm_devices changed from 2 to None after 1 epoch"]


def test_an_error_of_a_rank_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that only this process knows: the other rank says so, and all end."""
    monkeypatch.setitem(METHODS_HERE._added, "mine", Gaussian)
    chosen = settings(method="mine", set={"m": 2, "batch": 16})
    with pytest.raises(RankLost, match=r"rank 1 of 2 on .* was ended by an error .InputError: unknown method 'mine'"):
        train("digits", chosen, out=tmp_path / "m", device="cpu", devices=2)
    assert ranks_of(os.getpid()) == []


@pytest.mark.parametrize("odd", ["version", "data"])
def test_a_rank_with_another_version_or_other_data_is_refused(odd: str, tmp_path: Path) -> None:
    """Both are told; without the check each rank would train on what it has, as if nothing were wrong."""
    at_random = np.random.default_rng(0).integers(0, 256, (60, 8, 8), dtype=np.uint8)
    for rank, pixels in enumerate([at_random, 255 - at_random]):
        (tmp_path / str(rank)).mkdir()
        np.savez(tmp_path / str(rank) / "train.npz", x=pixels, y=np.arange(60) % 3)
    script = tmp_path / "odd.py"
    script.write_text(ODD[odd])
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    with command(*launcher, str(script), str(tmp_path)) as process:
        out, _ = process.communicate(timeout=300)
    what = {"version": r"randsmooth 0\.0\.9", "data": r"training data 41 images \(sha256 \w+\)"}[odd]
    assert process.returncode, out
    assert re.search(rf"rank 1 on \S+ has {what}, and rank 0 on \S+ has .*: ranks of one run need the same", out), out
    assert not (tmp_path / "m").exists()


def test_a_lost_loss_ends_all_in_its_own_words(tmp_path: Path) -> None:
    wild = settings(set={"m": 2, "batch": 16, "lr": 1e30})
    with pytest.raises(TrainingDiverged, match="not finite"):
        train("digits", wild, out=tmp_path / "m", device="cpu", devices=2)
    assert ranks_of(os.getpid()) == []


@contextmanager
def command(*words: str) -> Iterator[subprocess.Popen[str]]:
    """`randsmooth train` on two processes; killed at the end if it is still there."""
    line = [sys.executable, *words]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(line, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def words_of(out: Path, *more: str) -> list[str]:
    what = [
        "train",
        "digits",
        "--sigma",
        "0.25",
        "--epochs",
        "8",
        "--take",
        "1000",
        "--set",
        "batch=32",
        "--set",
        "lr=0.001",
    ]
    return ["-m", "randsmooth", *what, "--device", "cpu", "--out", str(out), *more]


def wait_for(path: Path) -> None:
    until = time.monotonic() + 300
    while not path.exists():
        assert time.monotonic() < until, f"{path} does not come"
        time.sleep(0.05)


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_the_command_is_the_end_of_all(signal_number: signal.Signals, tmp_path: Path) -> None:
    with command(*words_of(tmp_path / "m", "--devices", "2")) as process:
        wait_for(tmp_path / "m" / CHECKPOINT)
        (rank,) = ranks_of(process.pid)
        process.send_signal(signal_number)
        assert process.wait(ENDED) != 0
        assert gone(rank)
        told = process.stdout.read() if process.stdout else ""
    if signal_number == signal.SIGINT:
        assert "interrupted; what is finished is kept: the same command with --resume goes on" in told
    if signal_number == signal.SIGKILL:
        assert "rank 0 on" in told and "--resume" in told
    with command(*words_of(tmp_path / "m", "--resume")) as process:  # on one device
        assert process.wait(300) == 0
    with command(*words_of(tmp_path / "alone")) as process:
        assert process.wait(300) == 0
    assert apart(models.load(tmp_path / "m"), models.load(tmp_path / "alone")) < 1e-3


def test_torchrun_tells_each_process_its_rank(tmp_path: Path) -> None:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    with command(*launcher, *words_of(tmp_path / "there")) as process:
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0, out
        assert out.count("model in") == 1 and out.count("2 processes on the CPU share every batch") == 1
    with command(*words_of(tmp_path / "here", "--devices", "2")) as process:
        assert process.wait(300) == 0
    there, here = (models.weights_hash(models.load(tmp_path / name)) for name in ("there", "here"))
    assert there == here


def test_a_rank_that_torchrun_loses_is_named(tmp_path: Path) -> None:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    with command(*launcher, *words_of(tmp_path / "m", "--epochs", "400")) as process:
        wait_for(tmp_path / "m" / CHECKPOINT)
        ranks = [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if _rank_in(folder, process.pid) == "1"]
        os.kill(ranks[0], signal.SIGKILL)
        out, _ = process.communicate(timeout=2 * ENDED)
        assert process.returncode != 0
    assert "SIGKILL" in out or "rank 1 on" in out


def _rank_in(folder: Path, launcher: int) -> str:
    try:
        parent = parent_of(folder)
        variables = (folder / "environ").read_bytes().split(b"\0")
    except (OSError, IndexError):
        return ""
    told = dict(each.decode(errors="replace").partition("=")[::2] for each in variables)
    return told.get("RANK", "") if parent == launcher else ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--devices", "0"], "devices=0 must be a whole number above 0: how many of each machine train together"),
        (["--nodes", "2"], "nodes=2 needs a launcher that runs this command on each of them: `torchrun"),
        (["--devices", "3", "--set", "batch=8"], "3 devices cannot share steps of 2 images: take fewer devices"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence_before_any_work(words: list[str], sentence: str, tmp_path: Path) -> None:
    with command(*words_of(tmp_path / "m", *words)) as process:
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 2 and sentence in out and out.count("\n") == 1
    assert not (tmp_path / "m").exists()
