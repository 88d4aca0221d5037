"""A diffusion model as a denoiser, in one step (Carlini et al., ICLR 2023), and those in folders of `diffusers`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from randsmooth.documents import parse_json, read_file, shown
from randsmooth.errors import InputError
from randsmooth.extras import needs

Prediction = Literal["epsilon", "v_prediction", "sample"]
PREDICTIONS: tuple[Prediction, ...] = get_args(Prediction)
PIPELINE, SCHEDULER, CONFIG = "model_index.json", "scheduler_config.json", "config.json"
NETWORK = "UNet2DModel"  # the class of diffusers that predicts from an image and a timestep alone


class DiffusionDenoiser(nn.Module):
    """One step of a diffusion model: images (B, C, H, W) in [0, 1] of images under Gaussian noise of one `sigma`.

    A diffusion model knows images in [-1, 1], twice as wide, as x_t = sqrt(abar_t) x + sqrt(1 - abar_t) noise. So a
    noisy image in [0, 1] is one of its x_t, once scaled, where (1 - abar) / abar = (2 sigma)^2: with
    abar = 1 / (1 + 4 sigma^2), x_t = sqrt(abar) (2 noisy - 1). From x_t the network's prediction gives the image, which
    is clipped and shifted back to [0, 1] (Carlini et al., "(Certified!!) Adversarial Robustness for Free!", ICLR 2023,
    algorithm 1). The step is deterministic, as a base classifier must be.

    A schedule has only some noise levels. Scale and image are computed for the exact sigma, and only the timestep that
    the network is told is the nearest of the schedule, by ratio of the levels: `mismatch` says how near. Whatever it
    is, no guarantee depends on it: the noise of a certificate is added to the image, before this.

    Args:
        network: gives its prediction (B, C, H, W) for x_t (B, C, H, W) and timesteps (B,), whole numbers from 0: a
            `diffusers` UNet, or any callable. Of 2C channels, as models with a learned variance give, the first C
            count.
        sigma: of the noise to remove, in units of pixels in [0, 1].
        alphas_cumprod: abar_t by timestep, falling: `scheduler.alphas_cumprod`.
        prediction: what the network predicts: "epsilon", the noise; "v_prediction"; or "sample", the image.

    Raises:
        InputError: one of these cannot be used, or sigma lies outside the noise levels of the schedule.

    Attributes:
        sigma: as given.
        timestep: that the network is told.
        alpha_bar: 1 / (1 + 4 sigma^2).
        mismatch: the schedule's noise level at `timestep` over the exact one, minus 1.

    Example:
        >>> abar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)
        >>> denoiser = DiffusionDenoiser(lambda x_t, t: torch.zeros_like(x_t), sigma=0.25, alphas_cumprod=abar)
        >>> denoiser.timestep, denoiser.alpha_bar, abs(denoiser.mismatch) < 0.01
        (144, 0.8, True)
        >>> denoiser(torch.full((2, 1, 8, 8), 0.75)).unique()  # this network never sees any noise in it
        tensor([0.7500])
    """

    def __init__(
        self,
        network: Callable[[Tensor, Tensor], Any],
        *,
        sigma: float,
        alphas_cumprod: Tensor | Sequence[float],
        prediction: Prediction = "epsilon",
    ) -> None:
        super().__init__()
        if not callable(network):
            raise InputError(f"network={shown(repr(network))}: expected a function of x_t and timesteps")
        if prediction not in PREDICTIONS:
            raise InputError(f"prediction={shown(repr(prediction))}: expected one of {', '.join(PREDICTIONS)}")
        self.network, self.prediction = network, prediction
        self.training = isinstance(network, nn.Module) and network.training
        levels = _noise_levels(alphas_cumprod)  # of images in [-1, 1]
        least, most = float(levels[0]) / 2.0, float(levels[-1]) / 2.0
        if not isinstance(sigma, int | float) or not sigma > 0.0 or not least <= sigma <= most:
            raise InputError(
                f"sigma={shown(repr(sigma))} lies outside the noise levels of this diffusion model: expected a number "
                f"from {least:.3g} to {most:.3g}, for pixels in [0, 1]"
            )
        self.sigma = float(sigma)
        self.alpha_bar = 1.0 / (1.0 + 4.0 * self.sigma**2)
        self.timestep = int((levels / (2.0 * self.sigma)).log().abs().argmin())
        self.mismatch = float(levels[self.timestep]) / (2.0 * self.sigma) - 1.0

    @property
    def arch(self) -> str:
        """What it is, in a few words."""
        name = getattr(self.network, "__qualname__", type(self.network).__qualname__)
        return f"one step of the diffusion model {name}"

    @property
    def provenance(self) -> dict[str, Any]:
        """What a certificate says of it."""
        return {name: getattr(self, name) for name in ("sigma", "timestep", "alpha_bar", "mismatch", "prediction")}

    def forward(self, noisy: Tensor) -> Tensor:
        """Images (B, C, H, W) in [0, 1] of noisy ones."""
        signal, noise = math.sqrt(self.alpha_bar), math.sqrt(1.0 - self.alpha_bar)
        x_t = signal * (2.0 * noisy - 1.0)
        t = torch.full((noisy.shape[0],), self.timestep, dtype=torch.int64, device=noisy.device)
        predicted = self._prediction(x_t, t)
        if self.prediction == "epsilon":
            x = (x_t - noise * predicted) / signal
        elif self.prediction == "v_prediction":
            x = signal * x_t - noise * predicted
        else:
            x = predicted
        return (x.clamp(-1.0, 1.0) + 1.0) / 2.0

    def _prediction(self, x_t: Tensor, t: Tensor) -> Tensor:
        """(B, C, H, W) what the network predicts. InputError where it answers with something else."""
        answer = self.network(x_t, t)
        if not isinstance(answer, Tensor):  # what `diffusers` returns
            answer = answer[0] if isinstance(answer, tuple) else getattr(answer, "sample", answer)
        shape = tuple(getattr(answer, "shape", ()))
        if len(shape) == 4 and shape[1] == 2 * x_t.shape[1]:
            answer = answer[:, : x_t.shape[1]]  # the others are a learned variance
        if not isinstance(answer, Tensor) or answer.shape != x_t.shape:
            raise InputError(
                f"the diffusion model answers images of shape {tuple(x_t.shape)} with "
                f"{shape or type(answer).__name__}; expected the same shape, or twice the channels"
            )
        return answer


def _noise_levels(alphas_cumprod: Tensor | Sequence[float]) -> Tensor:
    """(T,) sqrt((1 - abar_t) / abar_t), the noise beside the image itself. InputError for what is no schedule."""
    try:
        abar = torch.as_tensor(alphas_cumprod, dtype=torch.float64).detach().cpu()
        falls = abar.dim() == 1 and len(abar) and bool((abar.diff() < 0).all())
    except (TypeError, ValueError, RuntimeError):
        falls = False
    if not falls or not (float(abar[-1]) >= 0 and float(abar[0]) <= 1):
        raise InputError("alphas_cumprod must be the abar_t of every timestep, from 1 down to 0, and not the betas")
    return ((1.0 - abar) / abar).sqrt()


def is_diffusers(folder: Path) -> bool:
    """Whether `diffusers` has saved a pipeline or a network in `folder`."""
    return (folder / PIPELINE).is_file() or (
        (folder / CONFIG).is_file() and "_class_name" in _document(folder / CONFIG)
    )


def from_diffusers(folder: Path, sigma: float | None) -> DiffusionDenoiser:
    """The unconditional diffusion model in a `folder` of diffusers, in eval mode; InputError where it is another."""
    if sigma is None:
        raise InputError(f"{folder} is a diffusion model, which must know the noise to remove: give sigma (--sigma)")
    pipeline = (folder / PIPELINE).is_file()
    network, scheduler = (folder / "unet", folder / "scheduler") if pipeline else (folder, folder)
    kind = _document(network / CONFIG).get("_class_name")
    if kind != NETWORK:
        raise InputError(
            f"{network} holds a {shown(repr(kind))} of diffusers; expected a {NETWORK}, which needs no text or class: "
            "pass others in Python, as a function of x_t and timesteps, to randsmooth.DiffusionDenoiser"
        )
    settings = _document(scheduler / SCHEDULER)
    with needs("a diffusion model of diffusers"):
        from diffusers import DDPMScheduler, UNet2DModel
    try:
        unet: nn.Module = UNet2DModel.from_pretrained(str(network), local_files_only=True, use_safetensors=True)
        schedule = DDPMScheduler.from_config(settings)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
        raise InputError(f"{network} cannot be loaded by diffusers ({shown(error)})") from error
    levels, prediction = schedule.alphas_cumprod, schedule.config.prediction_type
    return DiffusionDenoiser(unet.eval(), sigma=sigma, alphas_cumprod=levels, prediction=prediction)


def _document(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(
            f"{path} is missing: expected a DDPMPipeline of diffusers, or a {NETWORK} with its scheduler's {SCHEDULER}"
        )
    content = parse_json(read_file(path), path)
    return content if isinstance(content, dict) else {}
