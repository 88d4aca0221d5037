"""Denoisers: DnCNN as published, and folders that hold one and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from randsmooth import models
from randsmooth.errors import InputError
from randsmooth.models import Classifier, Denoiser, check_folder, load, load_denoiser, save

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
    assert "denoiser: dncnn-4x3 for 1 channels" in check_folder(tmp_path / "d")
    assert "dncnn-4x3 on digits" in (tmp_path / "d" / "README.md").read_text()


def test_where_training_came_from_does_not_change_the_weights() -> None:
    first, second = (Denoiser(channels=1, arch="dncnn-3x2", provenance=facts) for facts in (FACTS, {"sigma": 1.0}))
    second.load_state_dict(first.state_dict())
    assert models.weights_hash(first) == models.weights_hash(second)


def test_a_denoiser_is_not_taken_for_a_classifier_nor_the_other_way_round(tmp_path: Path) -> None:
    save(Denoiser(channels=1, arch="dncnn-3x2"), tmp_path / "denoiser")
    save(Classifier(arch="small-cnn", classes=["a", "b"], shape=(1, 8, 8)), tmp_path / "classifier")
    with pytest.raises(InputError, match=r"holds a denoiser, not a classifier: .*--denoiser"):
        load(tmp_path / "denoiser")
    with pytest.raises(InputError, match="holds a classifier, not a denoiser"):
        load_denoiser(tmp_path / "classifier")


def test_a_changed_byte_is_found(tmp_path: Path) -> None:
    save(Denoiser(channels=1, arch="dncnn-3x2"), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"channels": 3}))
    with pytest.raises(InputError, match="digest differs"):
        load_denoiser(tmp_path)


@pytest.mark.parametrize(
    ("arch", "message"),
    [
        ("unet", "expected dncnn-DEPTHxWIDTH"),
        ("dncnn-2x64", "a depth from 3 to 200"),
        ("dncnn-5x0", "a width from 1 to"),
        (17, "expected dncnn-DEPTHxWIDTH"),
    ],
)
def test_other_networks_are_refused(arch: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Denoiser(channels=1, arch=arch)  # type: ignore[arg-type]


def test_the_short_name_means_the_network_of_the_paper() -> None:
    assert Denoiser(channels=1, arch="dncnn").arch == "dncnn-17x64"


def test_the_card_of_a_classifier_without_noise_sends_it_behind_a_denoiser(tmp_path: Path) -> None:
    clean = Classifier(arch="small-cnn", classes=["a", "b"], shape=(1, 8, 8), provenance={"sigma": 0.0})
    save(clean, tmp_path)
    card = (tmp_path / "README.md").read_text()
    assert "It never saw noise" in card and "sigma=SIGMA" in card
