"""Denoised smoothing: both parts are the base classifier, of whatever kind; DnCNN; one step of a diffusion model."""

import itertools
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import randsmooth as rs
from models.refusing import check_refusals, problem_of
from randsmooth import data, models
from randsmooth.errors import (
    BadValue,
    MissingValue,
    NotFound,
    OutputExists,
    WrongFile,
    WrongModel,
)
from randsmooth.models import (
    Classifier,
    Denoised,
    Denoiser,
    DiffusionDenoiser,
    check_folder,
    load_denoiser,
    save,
)
from randsmooth.models.diffusion import PREDICTIONS, Prediction
from values import Refusal

ABAR = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64), 0)
SIGMAS = (0.1, 0.25, 0.5, 1.0, 2.0)
FACTS = {"dataset": "digits", "sigma": 0.25}
HOW: dict[str, Any] = {"n0": 20, "n": 200, "take": 6}


def classifier(seed: int = 0) -> Classifier:
    torch.manual_seed(seed)
    classes = list(data.describe("digits").classes)
    facts = {"dataset": "digits", "sigma": 0.0, "method": "gaussian"}
    return Classifier(
        arch="small-cnn", classes=classes, shape=(1, 8, 8), provenance=facts
    ).eval()


def denoiser(seed: int = 0) -> Denoiser:
    torch.manual_seed(seed)
    made = Denoiser(channels=1, arch="dncnn-3x4", provenance=FACTS)
    nn.init.normal_(made.network.dncnn[-1].weight, std=0.1)  # type: ignore[arg-type]
    return made.eval()


def test_the_image_passes_the_denoiser_first(tmp_path: Path) -> None:
    first, second, noisy = denoiser(), classifier(), torch.randn(5, 1, 8, 8)
    save(first, tmp_path / "denoiser")
    save(second, tmp_path / "classifier")
    assert check_folder(tmp_path / "denoiser").startswith(
        "model folder: denoiser dncnn-3x4"
    )
    noisy.requires_grad_()
    for base in (
        Denoised(first, second),
        Denoised(tmp_path / "denoiser", str(tmp_path / "classifier")),
    ):
        assert torch.equal(base(noisy), second(first(noisy))) and not base.training
        assert (base.shape, base.num_classes, base.provenance) == ((1, 8, 8), 10, FACTS)
    base(noisy).sum().backward()
    assert noisy.grad is not None and bool(noisy.grad.abs().sum() > 0)


def test_counts_are_those_of_a_loop_over_both_parts_and_the_header_says_what_they_are(
    tmp_path: Path,
) -> None:
    """The same noise, addressed by image and seed, sent through both parts by hand."""
    first, second, out = denoiser(), classifier(), tmp_path / "a.parquet"
    behind = rs.certify(Denoised(first, second), "digits", out=out, **HOW)
    by_hand = rs.certify(
        nn.Sequential(first, second).eval(), "digits", sigma=0.25, **HOW
    )
    assert behind.header.sigma == 0.25, (
        "the denoiser's own sigma is the one that is meant"
    )
    alone = rs.certify(second, "digits", sigma=0.25, **HOW)
    counts, expected, other = (
        table.evidence()[1] for table in (behind, by_hand, alone)
    )
    assert np.array_equal(counts, expected) and not np.array_equal(counts, other)
    said = behind.header.model or {}
    assert said["arch"] == "small-cnn behind dncnn-3x4"
    assert said["denoiser"] == {
        **FACTS,
        "arch": "dncnn-3x4",
        "weights": models.weights_hash(first),
    }
    assert said["classifier"]["weights"] == models.weights_hash(second)
    pairs = [(first, second), (denoiser(1), second), (first, classifier(1))]
    assert len({models.weights_hash(Denoised(*pair)) for pair in pairs}) == 3
    again = partial(
        rs.certify, Denoised(denoiser(1), second), "digits", out=out, resume=True, **HOW
    )
    Refusal(OutputExists).check(problem_of(again))


def test_it_has_the_published_size_and_untrained_leaves_images_of_any_size_as_they_are() -> (
    None
):
    assert (
        sum(each.numel() for each in Denoiser(channels=3, arch="dncnn").parameters())
        == 558_400
    )  # Salman et al.'s
    for noisy in (torch.randn(2, 3, 8, 8), torch.randn(1, 3, 5, 11)):
        assert torch.equal(Denoiser(channels=3, arch="dncnn-3x4").eval()(noisy), noisy)


class Oracle(nn.Module):
    """Knows the clean image x0 in [-1, 1], and predicts from it at exactly the noise level that x_t should have."""

    def __init__(
        self,
        clean: Tensor,
        sigma: float,
        prediction: Prediction,
        variance: bool = False,
    ) -> None:
        super().__init__()
        self.clean, self.prediction, self.variance = clean, prediction, variance
        self.abar = 1 / (1 + (2 * sigma) ** 2)
        self.told: list[int] = []

    def forward(self, x_t: Tensor, t: Tensor) -> Tensor:
        self.told += t.tolist()
        signal, level = math.sqrt(self.abar), math.sqrt(1 - self.abar)
        noise = (x_t - signal * self.clean) / level
        right = {
            "epsilon": noise,
            "v_prediction": signal * noise - level * self.clean,
            "sample": self.clean,
        }
        predicted = right[self.prediction].expand_as(x_t)
        return (
            torch.cat([predicted, torch.full_like(predicted, 7.0)], dim=1)
            if self.variance
            else predicted
        )


def test_a_perfect_prediction_gives_the_clean_image() -> None:
    for sigma, prediction, variance in itertools.product(
        SIGMAS, PREDICTIONS, (False, True)
    ):
        x = torch.rand(1, 3, 8, 8, dtype=torch.float64)
        network = Oracle(2 * x - 1, sigma, prediction, variance)
        denoiser = DiffusionDenoiser(
            network.eval(), sigma=sigma, alphas_cumprod=ABAR, prediction=prediction
        )
        noisy = x + sigma * torch.randn(5, 3, 8, 8, dtype=torch.float64)
        torch.testing.assert_close(denoiser(noisy), x.expand_as(noisy))
        assert set(network.told) == {denoiser.timestep}


def test_what_the_network_sees_has_the_variance_that_it_knows() -> None:
    """x_t = sqrt(abar) x0 + sqrt(1 - abar) noise, with abar of the exact sigma, which lies next to the timestep's."""
    seen: list[Tensor] = []

    def network(x_t: Tensor, t: Tensor) -> Tensor:
        seen.append(x_t)
        return torch.zeros_like(x_t)

    for sigma in SIGMAS:
        denoiser = DiffusionDenoiser(network, sigma=sigma, alphas_cumprod=ABAR)
        x = torch.full((1, 1, 8, 8), 0.75, dtype=torch.float64)
        denoiser(x + sigma * torch.randn(4000, 1, 8, 8, dtype=torch.float64))
        abar, t = denoiser.alpha_bar, denoiser.timestep
        assert float(seen[-1].mean()) == pytest.approx(
            math.sqrt(1 / (1 + 4 * sigma**2)) * 0.5, abs=0.01
        )
        assert float(seen[-1].var()) == pytest.approx(1 - abar, rel=0.02)
        assert float(ABAR[max(0, t - 1)]) > abar > float(ABAR[t + 1])
        level = math.sqrt((1 - float(ABAR[t])) / float(ABAR[t]))
        assert denoiser.mismatch == pytest.approx(level / (2 * sigma) - 1)


def test_what_cannot_be_used_is_refused() -> None:
    parts: list[tuple[tuple[Any, Any], Refusal]] = [
        ((3, nn.Flatten()), Refusal(WrongModel)),
        ((torch.clone, 3), Refusal(WrongModel)),
    ]
    check_refusals((partial(Denoised, *given), said) for given, said in parts)
    training = Denoised(denoiser().train(), classifier())
    check_refusals(
        [(lambda: rs.SmoothedClassifier(training, sigma=0.25), Refusal(WrongModel))]
    )
    networks: list[tuple[dict[str, Any], Refusal]] = [
        (
            {"arch": "unet"},
            Refusal(BadValue, "'unet'", "dncnn-DEPTHxWIDTH", field="arch"),
        ),
        (
            {"arch": "dncnn-2x64"},
            Refusal(BadValue, "'dncnn-2x64'", "200", field="arch"),
        ),
        ({"arch": 17}, Refusal(BadValue, "arch=17", "dncnn-17x64", field="arch")),
        (
            {"channels": 0},
            Refusal(BadValue, "channels=0", "usually 3", field="channels"),
        ),
    ]
    check_refusals(
        (partial(Denoiser, **({"channels": 1} | given)), said)
        for given, said in networks
    )
    diffusions: list[tuple[dict[str, Any], Refusal]] = [
        ({"sigma": 0.001}, Refusal(BadValue, "sigma=0.001", "0.005", field="sigma")),
        ({"sigma": 1000.0}, Refusal(BadValue, "sigma=1000.0", field="sigma")),
        (
            {"alphas_cumprod": torch.linspace(1e-4, 0.02, 1000)},
            Refusal(WrongModel),
        ),
        ({"alphas_cumprod": torch.zeros(0)}, Refusal(WrongModel)),
        (
            {"prediction": "score"},
            Refusal(
                BadValue, "'score'", "epsilon, v_prediction, sample", field="prediction"
            ),
        ),
    ]
    good: dict[str, Any] = {
        "network": lambda x_t, t: x_t[:, :, :4],
        "sigma": 0.5,
        "alphas_cumprod": ABAR,
    }
    check_refusals(
        (partial(DiffusionDenoiser, **(good | changed)), said)
        for changed, said in diffusions
    )
    cut = DiffusionDenoiser(**good)
    check_refusals(
        [(lambda: cut(torch.zeros(2, 3, 8, 8)), Refusal(WrongModel, "(2, 3, 4, 8)"))]
    )


def unet(channels: int = 1, out: int = 1) -> Any:
    diffusers = pytest.importorskip("diffusers")
    torch.manual_seed(0)
    kinds = {
        "down_block_types": ("DownBlock2D",) * 2,
        "up_block_types": ("UpBlock2D",) * 2,
    }
    size = {
        "sample_size": 8,
        "block_out_channels": (4, 8),
        "layers_per_block": 1,
        "norm_num_groups": 2,
    }
    return diffusers.UNet2DModel(
        in_channels=channels, out_channels=out, **size, **kinds
    ).eval()


def test_a_folder_of_diffusers_is_read(tmp_path: Path) -> None:
    network = unet()
    from diffusers import DDPMPipeline, DDPMScheduler

    for prediction in PREDICTIONS:
        scheduler = DDPMScheduler(
            num_train_timesteps=200, beta_end=0.1, prediction_type=prediction
        )
        DDPMPipeline(network, scheduler).save_pretrained(tmp_path / prediction)
        given = DiffusionDenoiser(
            network,
            sigma=0.5,
            alphas_cumprod=scheduler.alphas_cumprod,
            prediction=prediction,
        )
        noisy = torch.randn(3, 1, 8, 8)
        loaded = load_denoiser(tmp_path / prediction, sigma=0.5)
        assert isinstance(loaded, DiffusionDenoiser) and not loaded.training
        assert (loaded.timestep, loaded.prediction) == (given.timestep, prediction)
        with torch.no_grad():
            assert torch.equal(loaded(noisy), given(noisy)), prediction


def test_diffusion_folders_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    unet().save_pretrained(tmp_path / "unet" / "unet")
    (tmp_path / "text" / "unet").mkdir(parents=True)
    (tmp_path / "text" / "unet" / "config.json").write_text(
        '{"_class_name": "UNet2DConditionModel"}'
    )
    for name in ("unet", "text"):
        (tmp_path / name / "model_index.json").write_text("{}")
    rows = [
        ("unet", None, Refusal(MissingValue, field="sigma")),
        ("unet", 0.5, Refusal(NotFound, "scheduler_config.json")),
        ("text", 0.5, Refusal(WrongFile, "UNet2DConditionModel")),
    ]
    check_refusals(
        (partial(load_denoiser, tmp_path / name, sigma=sigma), said)
        for name, sigma, said in rows
    )


def test_a_diffusion_model_without_some_of_its_weights_is_none(tmp_path: Path) -> None:
    """What lacks would hold whatever the memory held."""
    network = unet()
    from diffusers import DDPMPipeline, DDPMScheduler

    DDPMPipeline(
        network, DDPMScheduler(num_train_timesteps=200, beta_end=0.1)
    ).save_pretrained(tmp_path)
    folder = tmp_path / "unet"
    weights = load_file(folder / "diffusion_pytorch_model.safetensors")
    save_file(
        {name: tensor for name, tensor in weights.items() if name != "conv_in.weight"},
        folder / "lacking",
    )
    whole, said = (
        (folder / "diffusion_pytorch_model.safetensors").read_bytes(),
        (folder / "config.json").read_text(),
    )
    levels = (tmp_path / "scheduler" / "scheduler_config.json").read_text()

    def refuse(expected: Refusal) -> None:
        check_refusals([(lambda: load_denoiser(tmp_path, sigma=0.5), expected)])

    (folder / "lacking").replace(folder / "diffusion_pytorch_model.safetensors")
    refuse(Refusal(WrongFile, "conv_in.weight"))
    (folder / "diffusion_pytorch_model.safetensors").write_bytes(whole)
    networks: list[tuple[dict[str, Any], Refusal]] = [
        ({"layers_per_block": 200_000}, Refusal(WrongFile, "layers_per_block=200000")),
        ({"layers_per_block": 60}, Refusal(WrongModel, "parameters")),
        ({"block_out_channels": [4, 2**20]}, Refusal(WrongModel)),
        ({"down_block_types": 5}, Refusal(WrongModel)),
    ]
    for settings, words in networks:
        (folder / "config.json").write_text(json.dumps(json.loads(said) | settings))
        refuse(words)
    (folder / "config.json").write_text(said)
    schedules: list[tuple[dict[str, Any], Refusal]] = [
        (
            {"num_train_timesteps": 10**9},
            Refusal(WrongFile, "num_train_timesteps=1000000000"),
        ),
        ({"beta_schedule": "none"}, Refusal(WrongModel)),
    ]
    for settings, words in schedules:
        (tmp_path / "scheduler" / "scheduler_config.json").write_text(
            json.dumps(json.loads(levels) | settings)
        )
        refuse(words)
