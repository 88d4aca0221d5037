"""Training on several devices: parts of batches with threads as ranks, and real processes, which end together."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import randsmooth as rs
from launch.processes import ranks_of
from randsmooth import data, models
from randsmooth.errors import BadValue, OutputExists, Problem
from randsmooth.progress import Silent
from randsmooth.training import (
    Recipe,
    TrainingDiverged,
    TrainingSettings,
    resolve,
    train,
)
from randsmooth.training.devices import ALONE, Ranks, leads, make_fabric, placed
from randsmooth.training.folder import CHECKPOINT
from randsmooth.training.loggers import LoggerGroup
from randsmooth.training.loop import Trainer
from randsmooth.training.networks import new_model
from randsmooth.training.predictions import stored_predictions
from values import refused

T = TypeVar("T")

METHODS: dict[str, dict[str, Any]] = {
    "gaussian": {"m": 2},
    "cat-rs": {"m": 2, "T": 2},
    "amplify": {
        "m": 2,
        "T": 2,
        "E_t": 1,
        "p_t": 0.1,
        "discard_noises": 8,
        "reweight_every": 1,
        "reweight_noises": 16,
    },
}
ENDED = 30.0  # seconds in which all ranks end when one does, on a busy machine
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]


def settings(method: str = "gaussian", **changes: Any) -> TrainingSettings:
    """Two epochs of five steps of 8 images; the last has 4."""
    chosen: dict[str, Any] = {"sigma": 0.25, "method": method, "epochs": 2, "take": 36}
    return TrainingSettings(
        **chosen | {"set": {**METHODS[method], "batch": 16, "lr": 0.1}} | changes
    )


def apart(one: nn.Module, other: nn.Module) -> float:
    """The largest difference between the weights of two networks."""
    theirs = other.state_dict()
    return max(
        float((ours.double() - theirs[name].double()).abs().max())
        for name, ours in one.state_dict().items()
    )


class ThreadRanks(Ranks):
    """One of several ranks in threads, which lay down what they sum on a table."""

    def __init__(
        self, rank: int, table: list[Tensor], barrier: threading.Barrier
    ) -> None:
        super().__init__(rank, len(table))
        self.table, self.barrier = table, barrier

    def sum(self, values: Tensor) -> Tensor:
        self.table[self.rank] = values.detach().clone()
        self.barrier.wait()
        total = torch.stack(self.table).sum(dim=0)
        self.barrier.wait()
        return total


def together(number: int, act: Callable[[Ranks], T]) -> list[T]:
    """What `act` returns on each of `number` ranks, which run at the same time."""
    table, barrier = [torch.zeros(())] * number, threading.Barrier(number, timeout=60)
    with ThreadPoolExecutor(number) as pool:
        return [
            *pool.map(
                lambda rank: act(ThreadRanks(rank, table, barrier)), range(number)
            )
        ]


def test_three_ranks_train_what_one_trains(tmp_path: Path) -> None:
    """By a method that also asks which images are easy, and under noises that depend on the image."""
    assert [Ranks(rank, 3).rows(8) for rank in range(3)] == [
        slice(0, 2),
        slice(2, 5),
        slice(5, 8),
    ]
    lock, spec = (
        threading.Lock(),
        data.describe("digits"),
    )  # initial weights come from torch's global generator
    images = data.load("digits", "train").subset(data.take(1000, 36))
    under = [
        settings(sigma=None, epochs=1, noise=noise)
        for noise in ("splitting=0.5", "ablation=12")
    ]
    for number, chosen in enumerate([settings("amplify"), *under]):
        recipe, _ = resolve("digits", chosen, spec, device="cpu")

        def trained(
            ranks: Ranks, recipe: Recipe = recipe, number: int = number
        ) -> Trainer:
            own = tmp_path / f"{number}-{ranks.number}-{ranks.rank}"
            own.mkdir()
            with lock:
                model = new_model(recipe, spec)
            schedule, fabric = recipe.build_method().schedule(), make_fabric(recipe)
            trainer = Trainer(
                recipe, images, model, schedule, own, fabric, Silent(), ranks=ranks
            )
            trainer.fit(LoggerGroup([]))
            return trainer

        alone, several = trained(ALONE), together(3, trained)
        assert apart(alone.weights, several[0].weights) < 1e-5, recipe.flat()
        assert all(
            apart(several[0].weights, other.weights) == 0.0 for other in several[1:]
        )
        for row, theirs in zip(alone.history, several[2].history, strict=True):
            kept = {
                key: value
                for key, value in row.items()
                if key not in ("seconds", "attack_success")
            }
            assert {key: theirs[key] for key in kept} == pytest.approx(kept, abs=1e-5)
    assert not (tmp_path / "0-3-1" / CHECKPOINT).exists()


NAMES = ("TORCHELASTIC_RUN_ID", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
BY_TORCHRUN = dict(zip(NAMES, ("none", "5", "1", "8", "4"), strict=True))


def test_torchrun_tells_the_rank_and_what_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def inside(environment: dict[str, str], gpus: int = 0) -> None:
        for name in NAMES:
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)

    one = dict(zip(NAMES, ("none", "0", "0", "1", "1"), strict=True))
    for environment, asked, devices, number in (
        ({}, (None, 1), 1, 1),
        ({}, (2, 1), 2, 2),
        ({"RANK": "3", "WORLD_SIZE": "4"}, (None, 1), 1, 1),  # of another program
        (BY_TORCHRUN, (None, 1), 4, 8),
        (BY_TORCHRUN, (4, 2), 4, 8),
        (one, (None, 1), 1, 1),
    ):
        inside(environment)
        placement = placed("cpu", *asked)
        assert (placement.devices, placement.number, leads()) == (
            devices,
            number,
            number < 8,
        ), (environment, asked)
    inside(BY_TORCHRUN, gpus=4)
    assert placed("cuda").own_device == torch.device("cuda", 1)
    table: list[tuple[dict[str, str], dict[str, Any], str]] = [
        ({}, {"devices": 0}, "devices=0"),
        ({}, {"devices": True}, "devices=True"),
        ({}, {"devices": 1, "nodes": -1}, "nodes=-1"),
        ({}, {"devices": 3}, "at most devices=2"),
        ({}, {"device": "cuda:1", "devices": 2}, "device='cuda'"),
        ({}, {"devices": 2, "nodes": 2}, "nproc_per_node=2"),
        (
            {},
            {"device": "cpu", "devices": 2, "sync_batch_norm": True},
            "sync_batch_norm=True",
        ),
        (BY_TORCHRUN, {"devices": 2, "nodes": 2}, "8"),
    ]
    for environment, fields, words in table:
        inside(environment, gpus=2)
        with pytest.raises(Problem) as refused:
            placed(**{"device": "cuda"} | fields)
        assert words in str(refused.value), fields


def gone(pid: int) -> bool:
    """Whether a process ended within the time that ranks may take for it."""
    until = time.monotonic() + ENDED
    while time.monotonic() < until:
        try:
            if (
                Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                == "Z"
            ):
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_images_of_a_program_and_a_closure_need_no_script(tmp_path: Path) -> None:
    """The ranks run no script again: nothing here is guarded by a name of the main module."""
    x, y = data.load("digits", "train").batch(torch.arange(64))
    told = tmp_path / "epochs"

    def note(row: dict[str, float], model: models.Classifier) -> None:
        told.write_text(
            (told.read_text() if told.exists() else "") + f"{row['epoch']:g} "
        )

    alone = rs.train(
        (x, y), settings("amplify", take=None), out=tmp_path / "alone", device="cpu"
    )
    both = rs.train(
        (x, y),
        settings("amplify", take=None),
        out=tmp_path / "both",
        device="cpu",
        devices=2,
        callback=note,
    )
    assert (
        apart(alone, both) < 1e-5 and not both.training and told.read_text() == "0 1 "
    )
    assert ranks_of(os.getpid()) == [] and not torch.distributed.is_initialized()
    lock = threading.Lock()
    with refused(BadValue):
        rs.train(
            "digits",
            settings(),
            out=tmp_path / "no",
            devices=2,
            device="cpu",
            callback=lambda *_: lock.locked(),
        )
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_a_denoiser_and_a_taught_classifier_are_trained_together(
    tmp_path: Path,
) -> None:
    train("digits", settings(), out=tmp_path / "first", device="cpu")
    fields: dict[str, Any] = {
        "sigma": 0.25,
        "arch": "dncnn-3x4",
        "take": 34,
        "epochs": 2,
        "batch": 8,
        "device": "cpu",
    }
    fields |= {"objective": "stability", "classifier": str(tmp_path / "first")}
    denoiser = rs.train_denoiser(
        "digits", out=tmp_path / "denoiser", devices=2, **fields
    )
    assert denoiser.provenance["batch_norm_devices"] == 2
    taught = {
        "variant": "released",
        "teacher": str(tmp_path / "first"),
        "teacher_noises": 50,
    }
    chosen = settings("cat-rs", set={**settings("cat-rs").set, **taught})
    alone = train("digits", chosen, out=tmp_path / "alone", device="cpu")
    both = train("digits", chosen, out=tmp_path / "both", device="cpu", devices=2)
    told, expected = (stored_predictions(tmp_path / name) for name in ("both", "alone"))
    assert told is not None and expected is not None and torch.equal(told, expected)
    assert apart(alone, both) < 1e-5


@pytest.mark.slow
def test_an_error_of_a_rank_is_told_in_its_own_words(tmp_path: Path) -> None:
    def stop(row: dict[str, float], model: models.Classifier) -> None:
        raise KeyboardInterrupt

    wild = settings(set={"m": 2, "batch": 16, "lr": 1e30})
    with pytest.raises(TrainingDiverged):
        train("digits", wild, out=tmp_path / "wild", device="cpu", devices=2)
    with refused(BadValue):
        few = settings(set={"m": 2, "batch": 4})
        train("digits", few, out=tmp_path / "few", device="cpu", devices=3)
    local = settings(arch="resnet8")
    with pytest.raises(KeyboardInterrupt):
        train(
            "digits",
            local,
            out=tmp_path / "local",
            device="cpu",
            devices=2,
            callback=stop,
        )
    with refused(OutputExists):
        train("digits", local, out=tmp_path / "local", device="cpu", resume=True)
    changed = train(
        "digits",
        local,
        out=tmp_path / "local",
        device="cpu",
        resume=True,
        accept_changes=True,
    )
    assert changed.provenance["changed"] == [
        "batch_norm_devices changed from 2 to None after 1 epoch"
    ]
    assert ranks_of(os.getpid()) == []


@contextmanager
def command(*words: str) -> Iterator[subprocess.Popen[str]]:
    """Python with these arguments; killed at the end if it is still there."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OMP_NUM_THREADS": "1",
    }
    to: dict[str, Any] = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "text": True,
        "env": environment,
    }
    process = subprocess.Popen([sys.executable, *words], **to)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def words_of(out: Path, *more: str) -> list[str]:
    what = "train digits --sigma 0.25 --epochs 8 --take 1000 --set batch=32 --set lr=0.001 --device cpu"
    return ["-m", "randsmooth", *what.split(), "--out", str(out), *more]


def wait_for(path: Path) -> None:
    until = time.monotonic() + 300
    while not path.exists():
        assert time.monotonic() < until, f"{path} does not come"
        time.sleep(0.05)


@pytest.mark.slow
def test_the_end_of_the_command_is_the_end_of_all(tmp_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        out = tmp_path / number.name
        with command(*words_of(out, "--devices", "2")) as process:
            wait_for(out / CHECKPOINT)
            ranks = ranks_of(process.pid)
            assert len(ranks) == 2
            process.send_signal(number)
            assert process.wait(ENDED) != 0, number
            assert all(gone(rank) for rank in ranks), number
            told = process.stdout.read() if process.stdout else ""
        assert "Traceback" not in told and (
            "--resume" in told or number != signal.SIGINT
        ), told
        with command(*words_of(out, "--resume")) as process:  # on one device
            assert process.wait(300) == 0


# What each rank of a launcher runs, where rank 1 has something else.
ODD = """
import os, sys
from importlib import metadata
known, odd = metadata.version, sys.argv[2]
if odd == "version" and os.environ["RANK"] == "1":
    metadata.version = lambda name: "0.0.9" if name == "randsmooth" else known(name)
os.chdir(sys.argv[1] + "/" + (os.environ["RANK"] if odd == "data" else "0"))
import randsmooth as rs
rs.train("train.npz", sigma=0.25, epochs=1, take=42, out=sys.argv[1] + "/m", device="cpu", devices=2)
"""


@pytest.mark.slow
def test_torchrun_starts_ranks_of_which_all_have_the_same(tmp_path: Path) -> None:
    with command(*TORCHRUN, *words_of(tmp_path / "there")) as process:
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0, out
        assert (
            out.count("model in") == 1
            and out.count("2 processes on the CPU share every batch") == 1
        )
    same = TrainingSettings(
        sigma=0.25, epochs=8, take=1000, set={"batch": 32, "lr": 0.001}
    )
    here = train("digits", same, device="cpu", devices=2, out=tmp_path / "here")
    assert models.weights_hash(models.load(tmp_path / "there")) == models.weights_hash(
        here
    )
    at_random = np.random.default_rng(0).integers(0, 256, (60, 8, 8), dtype=np.uint8)
    for rank, pixels in enumerate([at_random, 255 - at_random]):
        (tmp_path / str(rank)).mkdir()
        np.savez(tmp_path / str(rank) / "train.npz", x=pixels, y=np.arange(60) % 3)
    (tmp_path / "odd.py").write_text(ODD)
    for odd, what in {
        "version": r"randsmooth 0\.0\.9",
        "data": r"training data 42 images \(sha256 \w+\)",
    }.items():
        with command(
            *TORCHRUN, str(tmp_path / "odd.py"), str(tmp_path), odd
        ) as process:
            out, _ = process.communicate(timeout=300)
        assert process.returncode and re.search(
            rf"rank 1 on \S+ has {what}, and not .*, unlike the first rank", out
        ), out
        assert not (tmp_path / "m").exists()
