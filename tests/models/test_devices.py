"""Which device a name means, on machines with and without GPUs."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from randsmooth import InputError, SmoothedClassifier
from randsmooth.models import pick_device


def gpus(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: number > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: number)


@pytest.mark.parametrize(
    ("number", "name", "device"),
    [(0, "auto", "cpu"), (2, "auto", "cuda"), (2, "cpu", "cpu"), (2, "cuda", "cuda"), (4, "cuda:3", "cuda:3")],
)
def test_a_name_means_a_device(number: int, name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, number)
    assert pick_device(name) == torch.device(device)


@pytest.mark.parametrize(
    ("number", "name", "message"),
    [
        (0, "cuda:0", "device='cuda:0' asks for a CUDA device and torch sees none; use --device cpu"),
        (2, "cuda:2", "device='cuda:2' is not among those that torch sees: cuda:0, cuda:1"),
        (2, "cuda:x", "must be auto, cpu, cuda or, of several GPUs, cuda:0, cuda:1"),
        (2, "cuda:-1", "must be auto"),
        (2, "gpu", "must be auto"),
    ],
)
def test_a_device_that_is_not_there_is_refused(
    number: int, name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus(monkeypatch, number)
    with pytest.raises(InputError, match=message):
        pick_device(name)


def test_a_smoothed_classifier_refuses_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(monkeypatch, 1)
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
    with pytest.raises(InputError, match=r"'cuda:3' is not among those that torch sees: cuda:0$"):
        SmoothedClassifier(model, sigma=0.5, device="cuda:3")


@pytest.mark.cuda
def test_a_gpu_by_its_number_computes() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
    smoothed = SmoothedClassifier(model, sigma=0.5, device="cuda:0", seed=0)
    assert smoothed.certify(torch.ones(1, 1, 2, 2), n=1000).counts.sum() == 1000
