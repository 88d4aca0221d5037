"""Images, labels and devices that are refused, with the first offender named."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from models.refusing import check_refusals
from randsmooth import SmoothedClassifier
from randsmooth.models import check_images, check_labels, pick_device


def _with(value: float, image: int = 3) -> torch.Tensor:
    x = torch.full((5, 1, 2, 2), 0.5)
    x[image, 0, 1, 0] = value
    return x


def test_good_images_and_labels_pass() -> None:
    for x in (_with(0.0), _with(1.0), _with(0.3).half(), torch.empty(0, 1, 2, 2)):
        check_images(x, (1, 2, 2))
        check_images(x, None)
    for y in (torch.tensor([0, 9]), torch.tensor([9], dtype=torch.uint8), torch.empty(0).long()):
        check_labels(y, 10)


def test_bad_images_and_labels_are_refused() -> None:
    images: list[tuple[Any, str]] = [
        (_with(255.0), "[0.5, 255] | image 3 | divide by 255"),
        (_with(16.0), "[0.5, 16] | 16 if it is among these"),
        (_with(1.0001), "[0.5, 1.0001] | x.clip(0, 1)"),
        (_with(-0.2), "[-0.2, 0.5] | image 3 | undo its normalisation"),
        (_with(float("nan"), 2), "image 2 | NaN or infinity"),
        (_with(float("inf")), "image 3 | NaN or infinity"),
        (_with(0.5).to(torch.uint8), "torch.uint8 | / 255"),
        (_with(0.5)[0], "(1, 2, 2) | (B, 1, 2, 2) | x[None]"),
        (_with(0.5).expand(-1, 3, -1, -1), "(B, 1, 2, 2)"),
        (_with(0.5).numpy(), "ndarray | torch.as_tensor"),
    ]
    labels: list[tuple[Any, str]] = [
        (torch.tensor([0, 10, 11]), "label 1 is 10 | 0 to 9"),
        (torch.tensor([3, 3, -1]), "label 2 is -1"),
        (torch.tensor([1.0]), "torch.float32"),
        (torch.tensor([True]), "torch.bool"),
        (torch.tensor([[1]]), "(1, 1)"),
        ([1, 2], "list"),
    ]
    check_refusals((partial(check_images, x, (1, 2, 2)), said) for x, said in images)
    check_refusals((partial(check_labels, y, 10), said) for y, said in labels)


def test_a_name_means_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """On machines with so many GPUs."""

    def gpus(number: int) -> None:
        monkeypatch.setattr("torch.cuda.is_available", lambda: number > 0)
        monkeypatch.setattr("torch.cuda.device_count", lambda: number)

    means = [(0, "auto", "cpu"), (2, "auto", "cuda"), (2, "cpu", "cpu"), (2, "cuda", "cuda"), (4, "cuda:3", "cuda:3")]
    for number, name, device in means:
        gpus(number)
        assert pick_device(name) == torch.device(device), (number, name)
    refused = [(0, "cuda:0", "sees 0 CUDA | --device cpu"), (0, "cuda", "sees 0"), (2, "cuda:2", "'cuda:2' | sees 2")]
    refused += [(2, name, f"{name!r} must be auto") for name in ("cuda:x", "cuda:-1", "gpu")]
    for number, name, said in refused:
        gpus(number)
        check_refusals([(partial(pick_device, name), said)])


@pytest.mark.cuda
def test_a_gpu_by_its_number_computes() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
    smoothed = SmoothedClassifier(model, sigma=0.5, device="cuda:0", seed=0)
    assert smoothed.certify(torch.ones(1, 1, 2, 2), n=1000).counts.sum() == 1000
