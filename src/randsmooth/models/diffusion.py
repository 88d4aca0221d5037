"""A diffusion model as a denoiser, in one step (Carlini et al., ICLR 2023)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import InputError

Prediction = Literal["epsilon", "v_prediction", "sample"]
PREDICTIONS: tuple[Prediction, ...] = ("epsilon", "v_prediction", "sample")
ROUNDING = 1e-6  # of noise levels that come from a schedule in float32


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
            raise InputError(
                f"network={shown(repr(network))} is not callable; expected a function of x_t and timesteps"
            )
        if prediction not in PREDICTIONS:
            raise InputError(f"prediction={shown(repr(prediction))}: expected one of {', '.join(PREDICTIONS)}")
        self.network, self.prediction = network, prediction
        self.training = isinstance(network, nn.Module) and network.training
        levels = _noise_levels(alphas_cumprod)  # of images in [-1, 1]
        self.sigma = _checked_sigma(sigma, levels)
        self.alpha_bar = 1.0 / (1.0 + 4.0 * self.sigma**2)
        self.timestep = int((levels / (2.0 * self.sigma)).log().abs().argmin())
        self.mismatch = float(levels[self.timestep]) / (2.0 * self.sigma) - 1.0

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
        channels = x_t.shape[1]
        if isinstance(answer, Tensor) and answer.dim() == 4 and answer.shape[1] == 2 * channels:
            answer = answer[:, :channels]  # the others are a learned variance
        if not isinstance(answer, Tensor) or answer.shape != x_t.shape:
            got = tuple(answer.shape) if isinstance(answer, Tensor) else type(answer).__name__
            raise InputError(
                f"the diffusion model answers images of shape {tuple(x_t.shape)} with {got}; expected the same shape, "
                "or twice the channels"
            )
        return answer


def _noise_levels(alphas_cumprod: Tensor | Sequence[float]) -> Tensor:
    """(T,) sqrt((1 - abar_t) / abar_t), the noise beside the image itself. InputError for what is no schedule."""
    try:
        abar = torch.as_tensor(alphas_cumprod, dtype=torch.float64).detach().cpu()
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"alphas_cumprod cannot be read as numbers ({shown(error)})") from None
    if (
        abar.dim() != 1
        or not len(abar)
        or not bool(((abar >= 0) & (abar <= 1)).all())
        or bool((abar.diff() >= 0).any())
    ):
        raise InputError(
            "alphas_cumprod must be the abar_t of every timestep, numbers from 1 down to 0: "
            "scheduler.alphas_cumprod, not its betas"
        )
    return ((1.0 - abar) / abar).sqrt()


def _checked_sigma(sigma: float, levels: Tensor) -> float:
    least, most = float(levels[0]) / 2.0, float(levels[-1]) / 2.0
    number = isinstance(sigma, int | float) and not isinstance(sigma, bool)
    if not number or not sigma > 0.0 or not least <= sigma <= most:
        raise InputError(
            f"sigma={shown(repr(sigma))} lies outside the noise levels of this diffusion model: expected a number from "
            f"{least:.3g} to {most:.3g}, for pixels in [0, 1]"
        )
    return float(sigma)
