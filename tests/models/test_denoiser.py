"""Denoisers: DnCNN as published, and folders that hold one and nothing else."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from models.refusing import check_refusals
from randsmooth import models
from randsmooth.models import Denoiser, check_folder, load_denoiser, save

FACTS = {"sigma": 0.25, "dataset": "digits", "objective": "mse"}


def stirred(denoiser: Denoiser) -> Denoiser:
    """With other weights and statistics than the initial ones, in eval mode."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in denoiser.state_dict().values():
            if value.is_floating_point():
                value.add_(0.1 * torch.rand(value.shape, generator=generator))
    return denoiser.eval()


def test_the_usual_network_is_that_of_the_paper() -> None:
    names = {name: tuple(value.shape) for name, value in Denoiser(channels=3).network.named_parameters()}
    convolutions = {name: shape for name, shape in names.items() if len(shape) == 4}
    assert len(convolutions) == 17 and convolutions["dncnn.0.weight"] == (64, 3, 3, 3)
    assert convolutions["dncnn.47.weight"] == (3, 64, 3, 3)
    biases = {name for name in names if name.endswith(".bias") and name.replace("bias", "weight") in convolutions}
    assert biases == {"dncnn.0.bias"}
    assert sum(torch.tensor(shape).prod().item() for shape in names.values()) == 558_400


def test_it_predicts_the_noise_by_convolution_norm_and_relu() -> None:
    """The definition, layer by layer, from the weights."""
    denoiser = stirred(Denoiser(channels=1, arch="dncnn-4x3"))
    noisy = torch.randn(2, 1, 6, 6)
    state, h = denoiser.network.state_dict(), noisy
    h = torch.relu(nn.functional.conv2d(h, state["dncnn.0.weight"], state["dncnn.0.bias"], padding=1))
    for place in (2, 5):
        h = nn.functional.conv2d(h, state[f"dncnn.{place}.weight"], padding=1)
        mean, var, weight, bias = (
            state[f"dncnn.{place + 1}.{name}"][:, None, None]
            for name in ("running_mean", "running_var", "weight", "bias")
        )
        h = torch.relu((h - mean) / (var + 1e-4).sqrt() * weight + bias)
    noise = nn.functional.conv2d(h, state["dncnn.8.weight"], padding=1)
    torch.testing.assert_close(denoiser(noisy), noisy - noise)


def test_images_of_any_size_are_taken_and_an_untrained_one_returns_them() -> None:
    denoiser = Denoiser(channels=3, arch="dncnn-3x4").eval()
    for shape in ((2, 3, 8, 8), (1, 3, 5, 11)):
        noisy = torch.randn(shape)
        assert torch.equal(denoiser(noisy), noisy)


def test_a_folder_gives_back_the_same_denoiser(tmp_path: Path) -> None:
    denoiser = stirred(Denoiser(channels=1, arch="dncnn-4x3", provenance=FACTS))
    save(denoiser, tmp_path / "d")
    back = load_denoiser(tmp_path / "d")
    noisy = torch.randn(3, 1, 8, 8)
    assert isinstance(back, Denoiser) and not back.training
    assert torch.equal(back(noisy), denoiser(noisy))
    assert (back.provenance, back.sigma, back.arch) == (FACTS, 0.25, "dncnn-4x3")
    assert models.weights_hash(back) == models.weights_hash(denoiser)
    assert "denoiser dncnn-4x3" in check_folder(tmp_path / "d")


def test_where_training_came_from_does_not_change_the_weights() -> None:
    first, second = (Denoiser(channels=1, arch="dncnn-3x2", provenance=facts) for facts in (FACTS, {"sigma": 1.0}))
    second.load_state_dict(first.state_dict())
    assert models.weights_hash(first) == models.weights_hash(second)


def test_other_networks_are_refused() -> None:
    table: list[tuple[Any, str]] = [
        ("unet", "'unet' | dncnn-DEPTHxWIDTH"),
        ("dncnn-2x64", "'dncnn-2x64' | from 3 to 200"),
        ("dncnn-5x0", "from 1 to 2,048"),
        (17, "arch=17 | dncnn-17x64"),
    ]
    check_refusals((partial(Denoiser, channels=1, arch=arch), said) for arch, said in table)
    check_refusals([(lambda: Denoiser(channels=0), "channels=0 | usually 3")])
    assert Denoiser(channels=1, arch="dncnn").arch == "dncnn-17x64"
