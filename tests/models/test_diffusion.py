"""One step of a diffusion model, at the noise level of the certificate; and folders of diffusers."""

from __future__ import annotations

import itertools
import math
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.refusing import check_refusals
from randsmooth.models import DiffusionDenoiser, load_denoiser
from randsmooth.models.denoised import PREDICTIONS, Prediction

ABAR = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000, dtype=torch.float64), 0)
SIGMAS = (0.1, 0.25, 0.5, 1.0, 2.0)


class Oracle(nn.Module):
    """Knows the clean image x0 in [-1, 1], and predicts from it at exactly the noise level that x_t should have."""

    def __init__(self, clean: Tensor, sigma: float, prediction: Prediction, variance: bool = False) -> None:
        super().__init__()
        self.clean, self.prediction, self.variance = clean, prediction, variance
        self.abar = 1 / (1 + (2 * sigma) ** 2)
        self.told: list[int] = []

    def forward(self, x_t: Tensor, t: Tensor) -> Tensor:
        self.told += t.tolist()
        signal, level = math.sqrt(self.abar), math.sqrt(1 - self.abar)
        noise = (x_t - signal * self.clean) / level
        right = {"epsilon": noise, "v_prediction": signal * noise - level * self.clean, "sample": self.clean}
        predicted = right[self.prediction].expand_as(x_t)
        return torch.cat([predicted, torch.full_like(predicted, 7.0)], dim=1) if self.variance else predicted


def test_a_perfect_prediction_gives_the_clean_image() -> None:
    for sigma, prediction, variance in itertools.product(SIGMAS, PREDICTIONS, (False, True)):
        x = torch.rand(1, 3, 8, 8, dtype=torch.float64)
        network = Oracle(2 * x - 1, sigma, prediction, variance)
        denoiser = DiffusionDenoiser(network.eval(), sigma=sigma, alphas_cumprod=ABAR, prediction=prediction)
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
        abar, t = 1 / (1 + 4 * sigma**2), denoiser.timestep
        assert float(seen[-1].mean()) == pytest.approx(math.sqrt(abar) * 0.5, abs=0.01)
        assert float(seen[-1].var()) == pytest.approx(1 - abar, rel=0.02)
        assert denoiser.alpha_bar == pytest.approx(abar)
        assert float(ABAR[max(0, t - 1)]) > abar > float(ABAR[t + 1])
        level = math.sqrt((1 - float(ABAR[t])) / float(ABAR[t]))
        assert denoiser.mismatch == pytest.approx(level / (2 * sigma) - 1)


def test_the_nearest_timestep_is_taken() -> None:
    """Noise levels 0.5, 1 and 2 of images in [-1, 1], so sigma 0.25, 0.5 and 1."""
    abar = [1 / (1 + level**2) for level in (0.5, 1.0, 2.0)]
    nearest = {0.25: 0, 0.3: 0, 0.4: 1, 0.5: 1, 0.65: 1, 0.75: 2, 1.0: 2}
    for sigma, timestep in nearest.items():
        denoiser = DiffusionDenoiser(lambda x_t, t: x_t, sigma=sigma, alphas_cumprod=abar)
        assert denoiser.timestep == timestep
    assert DiffusionDenoiser(lambda x_t, t: x_t, sigma=0.5, alphas_cumprod=abar).mismatch == pytest.approx(0.0)


def test_what_cannot_be_used_is_refused() -> None:
    table: list[tuple[dict[str, Any], str]] = [
        ({"sigma": 0.001}, "sigma=0.001 | from 0.005 to "),
        ({"sigma": 1000.0}, "sigma=1000.0 | noise levels"),
        ({"sigma": "half"}, "'half' | noise levels"),
        ({"alphas_cumprod": torch.linspace(1e-4, 0.02, 1000)}, "from 1 down to 0 | not the betas"),
        ({"alphas_cumprod": [[0.5]]}, "the abar_t of every timestep"),
        ({"alphas_cumprod": "linear"}, "the abar_t of every timestep"),
        ({"prediction": "score"}, "'score' | epsilon, v_prediction, sample"),
        ({"network": 3}, "network=3 | a function of x_t and timesteps"),
    ]
    good: dict[str, Any] = {"network": lambda x_t, t: x_t, "sigma": 0.5, "alphas_cumprod": ABAR}
    check_refusals((partial(DiffusionDenoiser, **(good | changed)), said) for changed, said in table)
    cut = DiffusionDenoiser(lambda x_t, t: x_t[:, :, :4], sigma=0.5, alphas_cumprod=ABAR)
    check_refusals([(lambda: cut(torch.zeros(2, 3, 8, 8)), "(2, 3, 4, 8) | the same shape")])


def unet(channels: int = 1, out: int = 1) -> Any:
    diffusers = pytest.importorskip("diffusers")
    torch.manual_seed(0)
    kinds = {"down_block_types": ("DownBlock2D",) * 2, "up_block_types": ("UpBlock2D",) * 2}
    size = {"sample_size": 8, "block_out_channels": (4, 8), "layers_per_block": 1, "norm_num_groups": 2}
    return diffusers.UNet2DModel(in_channels=channels, out_channels=out, **size, **kinds).eval()


def test_a_folder_of_diffusers_is_read(tmp_path: Path) -> None:
    network = unet()
    from diffusers import DDPMPipeline, DDPMScheduler

    for prediction in PREDICTIONS:
        scheduler = DDPMScheduler(num_train_timesteps=200, beta_end=0.1, prediction_type=prediction)
        DDPMPipeline(network, scheduler).save_pretrained(tmp_path / prediction / "pipeline")
        network.save_pretrained(tmp_path / prediction / "network")
        scheduler.save_pretrained(tmp_path / prediction / "network")
        given = DiffusionDenoiser(network, sigma=0.5, alphas_cumprod=scheduler.alphas_cumprod, prediction=prediction)
        noisy = torch.randn(3, 1, 8, 8)
        for form in ("pipeline", "network"):
            loaded = load_denoiser(tmp_path / prediction / form, sigma=0.5)
            assert isinstance(loaded, DiffusionDenoiser) and not loaded.training
            assert (loaded.timestep, loaded.prediction) == (given.timestep, prediction)
            with torch.no_grad():
                assert torch.equal(loaded(noisy), given(noisy)), (prediction, form)


def test_a_learned_variance_is_left_out() -> None:
    network = unet(channels=3, out=6)
    denoiser = DiffusionDenoiser(network, sigma=0.5, alphas_cumprod=ABAR)
    with torch.no_grad():
        assert denoiser(torch.randn(2, 3, 8, 8)).shape == (2, 3, 8, 8)


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    unet().save_pretrained(tmp_path / "unet")
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "config.json").write_text('{"_class_name": "UNet2DConditionModel"}')
    check_refusals(
        [
            (lambda: load_denoiser(tmp_path / "unet"), "must know the noise to remove | --sigma"),
            (lambda: load_denoiser(tmp_path / "unet", sigma=0.5), "scheduler_config.json is missing"),
            (lambda: load_denoiser(tmp_path / "text", sigma=0.5), "UNet2DConditionModel | no text or class"),
        ]
    )
