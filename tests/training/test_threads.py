"""The number of CPU threads: the fastest now, unless the user set one; a resumed run keeps the number it began with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from randsmooth import models
from randsmooth.training import TrainingSettings, checkpoint, threads, train
from randsmooth.training.folder import CHECKPOINT

SETTINGS = TrainingSettings(sigma=0.25, epochs=2, take=64)


@pytest.fixture(autouse=True)
def two_threads_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    for name in threads.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(threads, "_PICKED", {})
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("best", [1, 2])
def test_the_fastest_number_is_taken_and_torchs_is_given_back(best: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def seconds(network: nn.Module, x: torch.Tensor) -> float:
        tried.append(torch.get_num_threads())
        return 1.0 if torch.get_num_threads() == best else 2.0

    monkeypatch.setattr(threads, "_seconds", seconds)
    assert threads.fastest(nn.Linear(3, 2), (3,)) == best
    assert set(tried) == {1, 2} and torch.get_num_threads() == 2


def test_a_network_is_really_timed() -> None:
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    before = torch.get_rng_state()
    assert threads.fastest(network, (1, 8, 8)) in (1, 2)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(parameter.grad is None for parameter in network.parameters())


@pytest.mark.parametrize("name", threads.VARIABLES)
def test_a_number_in_the_environment_stays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not threads.chosen_by_user()
    monkeypatch.setenv(name, "2")
    assert threads.chosen_by_user()


def test_a_number_set_in_torch_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)))
    torch.set_num_threads(3)
    assert threads.chosen_by_user()


def test_a_run_says_its_threads_and_a_resumed_one_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "fastest", lambda *_: 1)
    whole = train("digits", SETTINGS, out=tmp_path / "m", device="cpu")
    assert whole.provenance["threads"] == 1 and torch.get_num_threads() == 2
    found = checkpoint.load(tmp_path / "m" / CHECKPOINT)
    assert found["recipe"]["threads"] == 1
    monkeypatch.setattr(threads, "fastest", lambda *_: pytest.fail("measured again"))
    monkeypatch.setattr(threads, "_PICKED", {})
    again = train("digits", SETTINGS, out=tmp_path / "m", device="cpu", resume=True)
    assert models.weights_hash(again) == models.weights_hash(whole)


def test_another_number_is_no_other_run_and_old_checkpoints_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    train("digits", SETTINGS, out=tmp_path / "m", device="cpu")
    path = tmp_path / "m" / CHECKPOINT
    found = checkpoint.load(path)
    for told in (7, None):
        found["recipe"]["threads"] = told
        checkpoint.save(found, path)
        train("digits", SETTINGS, out=tmp_path / "m", device="cpu", resume=True)
    del found["recipe"]["threads"]
    checkpoint.save(found, path)
    train("digits", SETTINGS, out=tmp_path / "m", device="cpu", resume=True)


def test_two_runs_of_a_process_have_the_same_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter([1, 2])
    monkeypatch.setattr(threads, "fastest", lambda *_: next(numbers))
    first = train("digits", SETTINGS, out=tmp_path / "a", device="cpu")
    second = train("digits", SETTINGS, out=tmp_path / "b", device="cpu")
    assert models.weights_hash(first) == models.weights_hash(second)
