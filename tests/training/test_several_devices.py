"""Training on several devices of the CPU: real processes, which end in what one ends in, and end together."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
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
from drills.processes_of import ranks_of
from randsmooth import data, models
from randsmooth.attacks import noisy_logits
from randsmooth.errors import InputError
from randsmooth.methods import METHODS as METHODS_HERE
from randsmooth.methods.gaussian import Gaussian
from randsmooth.models import Classifier
from randsmooth.noise import Stream, draw
from randsmooth.training import RankLost, TrainingDiverged, TrainingSettings, train
from randsmooth.training.folder import CHECKPOINT, HISTORY
from randsmooth.training.predictions import stored_predictions
from training.test_ranks import METHODS, apart

pytestmark = pytest.mark.slow

UNEVEN = {"epochs": 2, "take": 41}  # steps of 8 images; the last has one, and one rank none
ENDED = 30.0  # seconds in which all ranks end when one does, on a busy machine
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]


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


def figures(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / HISTORY).drop(columns="seconds")


def test_two_processes_train_what_one_trains(tmp_path: Path) -> None:
    """Every method, without batch normalisation, and with it synchronised.

    With it small steps, and no batch of one image: else a change of 1e-7 in one process's first weights grows to 0.1.
    """
    synchronised: dict[str, Any] = {"lr": 0.001, "arch": "resnet8", "epochs": 2, "take": 29}
    for method in METHODS:
        for kind, changes in (("plain", {}), ("synchronised", synchronised)):
            chosen, folder = settings(method, **changes), tmp_path / method / kind
            alone = train("digits", chosen, out=folder / "alone", device="cpu")
            both = train(
                "digits", chosen, out=folder / "both", device="cpu", devices=2, sync_batch_norm=kind == "synchronised"
            )
            assert apart(alone, both) < 1e-5, f"{method}, {kind}"
            close = {"rtol": 1e-5, "atol": 1e-5, "check_dtype": False}
            pd.testing.assert_frame_equal(figures(folder / "alone"), figures(folder / "both"), **close)
            assert both.provenance["batch_norm_devices"] is None and not both.training, method
    assert ranks_of(os.getpid()) == [] and not torch.distributed.is_initialized()


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


def note_epoch(row: dict[str, float], model: Classifier) -> None:
    """A callback; the first of the processes writes where it runs."""
    with Path("epochs").open("a") as file:
        file.write(f"{row['epoch']:g} ")


def test_images_of_a_program_and_a_callback_need_no_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ranks run no script again: nothing here is guarded by a name of the main module."""
    monkeypatch.chdir(tmp_path)
    images = data.load("digits", "train").subset(torch.arange(64))
    x, y = images.batch(torch.arange(64))
    chosen = settings(take=None)
    both = rs.train((x, y), chosen, out="both", device="cpu", devices=2, callback=note_epoch)
    assert apart(rs.train((x, y), chosen, out="alone", device="cpu"), both) < 1e-5
    assert Path("epochs").read_text() == "0 1 "
    with pytest.raises(InputError, match=r"let a module define.*torchrun.*one device"):
        rs.train((x, y), chosen, out="none", device="cpu", devices=2, callback=lambda row, model: None)
    assert not Path("none").exists()


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


LONG = settings(epochs=6, take=400)


def kill_the_second(row: dict[str, float], model: Classifier) -> None:
    """A callback, in the first rank, that kills the second one after two epochs."""
    if row["epoch"] == 1:
        Path("killed").touch()
        os.kill(ranks_of(os.getppid())[1], signal.SIGKILL)


def test_a_killed_rank_ends_all_and_resume_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    undisturbed = train("digits", LONG, out="undisturbed", device="cpu", devices=2)
    alone = train("digits", LONG, out="alone", device="cpu")
    for name, devices in (("two", 2), ("three", 3)):
        with pytest.raises(RankLost, match=f"rank 1 of 2 on {socket.gethostname()} was killed by SIGKILL.*--resume"):
            train("digits", LONG, out=name, device="cpu", devices=2, callback=kill_the_second)
        assert time.time() - Path("killed").stat().st_mtime < ENDED
        assert ranks_of(os.getpid()) == []
        assert len(figures(Path(name))) < LONG.epochs  # type: ignore[operator]
        resumed = train("digits", LONG, out=name, device="cpu", devices=devices, resume=True)
        assert apart(resumed, alone) < 1e-4  # forty steps of 25 images each multiply what was rounded differently
        if devices == 2:
            assert models.weights_hash(resumed) == models.weights_hash(undisturbed)


def stop(row: dict[str, float], model: Classifier) -> None:
    raise KeyboardInterrupt


def test_another_number_of_devices_is_a_change_only_where_each_normalises(tmp_path: Path) -> None:
    local = settings(arch="resnet8", epochs=2)
    with pytest.raises(KeyboardInterrupt):
        train("digits", local, out=tmp_path / "local", device="cpu", devices=2, callback=stop)
    with pytest.raises(InputError, match=r"batch_norm_devices: 2 in the file, None asked.*--devices 2 --resume"):
        train("digits", local, out=tmp_path / "local", device="cpu", resume=True)
    changed = train("digits", local, out=tmp_path / "local", device="cpu", resume=True, accept_changes=True)
    assert changed.provenance["changed"] == ["batch_norm_devices changed from 2 to None after 1 epoch"]


def test_an_error_of_a_rank_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that only this process knows, and a loss that is lost."""
    monkeypatch.setitem(METHODS_HERE._added, "mine", Gaussian)
    with pytest.raises(InputError, match="unknown method 'mine'"):
        train("digits", settings("mine", set={"m": 2, "batch": 16}), out=tmp_path / "m", device="cpu", devices=2)
    with pytest.raises(TrainingDiverged, match="not finite"):
        wild = settings(set={"m": 2, "batch": 16, "lr": 1e30})
        train("digits", wild, out=tmp_path / "wild", device="cpu", devices=2)
    assert ranks_of(os.getpid()) == []


def test_a_rank_with_another_version_or_other_data_is_refused(tmp_path: Path) -> None:
    """Both are told; without the check each rank would train on what it has, as if nothing were wrong."""
    at_random = np.random.default_rng(0).integers(0, 256, (60, 8, 8), dtype=np.uint8)
    for rank, pixels in enumerate([at_random, 255 - at_random]):
        (tmp_path / str(rank)).mkdir()
        np.savez(tmp_path / str(rank) / "train.npz", x=pixels, y=np.arange(60) % 3)
    script = tmp_path / "odd.py"
    for odd, what in {"version": r"randsmooth 0\.0\.9", "data": r"training data 41 images \(sha256 \w+\)"}.items():
        script.write_text(ODD[odd])
        with command(*TORCHRUN, str(script), str(tmp_path)) as process:
            out, _ = process.communicate(timeout=300)
        assert process.returncode, out
        assert re.search(rf"rank 1 on \S+ has {what}, and rank 0 on \S+ has .*: ranks of one run need the same", out), (
            out
        )
        assert not (tmp_path / "m").exists()


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


def test_the_end_of_the_command_is_the_end_of_all(tmp_path: Path) -> None:
    with command(*words_of(tmp_path / "alone")) as process:
        assert process.wait(300) == 0
    said = {
        signal.SIGINT: "interrupted; what is finished is kept: the same command with --resume goes on",
        signal.SIGTERM: "",
        signal.SIGKILL: "the process that started the run is gone",
    }
    for number, words in said.items():
        out = tmp_path / number.name
        with command(*words_of(out, "--devices", "2")) as process:
            wait_for(out / CHECKPOINT)
            ranks = ranks_of(process.pid)
            assert len(ranks) == 2
            process.send_signal(number)
            assert process.wait(ENDED) != 0, number
            assert all(gone(rank) for rank in ranks), number
            told = process.stdout.read() if process.stdout else ""
        assert words in told and "Traceback" not in told, told
        with command(*words_of(out, "--resume")) as process:  # on one device
            assert process.wait(300) == 0
        assert apart(models.load(out), models.load(tmp_path / "alone")) < 1e-3, number


def test_torchrun_tells_each_process_its_rank_and_names_one_that_it_loses(tmp_path: Path) -> None:
    with command(*TORCHRUN, *words_of(tmp_path / "there")) as process:
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0, out
        assert out.count("model in") == 1 and out.count("2 processes on the CPU share every batch") == 1
    with command(*words_of(tmp_path / "here", "--devices", "2")) as process:
        assert process.wait(300) == 0
    there, here = (models.weights_hash(models.load(tmp_path / name)) for name in ("there", "here"))
    assert there == here
    with command(*TORCHRUN, *words_of(tmp_path / "m", "--epochs", "400")) as process:
        wait_for(tmp_path / "m" / CHECKPOINT)
        os.kill(ranks_of(process.pid)[1], signal.SIGKILL)
        out, _ = process.communicate(timeout=2 * ENDED)
    assert process.returncode and "SIGKILL" in out


def test_what_cannot_be_is_told_in_a_sentence_before_any_work(tmp_path: Path) -> None:
    for words, sentence in (
        (["--devices", "0"], "devices=0 must be a whole number above 0: how many of each machine train together"),
        (["--nodes", "2"], "nodes=2 needs a launcher that runs this command on each of them: `torchrun"),
        (["--devices", "3", "--set", "batch=8"], "3 devices cannot share steps of 2 images: take fewer devices"),
    ):
        with command(*words_of(tmp_path / "m", *words)) as process:
            out, _ = process.communicate(timeout=120)
        assert process.returncode == 2 and sentence in out and out.count("\n") == 1, out
        assert not (tmp_path / "m").exists()
