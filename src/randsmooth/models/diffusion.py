"""One step of a diffusion model as a denoiser."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from randsmooth.errors import BadValue, WrongModel

Prediction = Literal["epsilon", "v_prediction", "sample"]
PREDICTIONS: tuple[Prediction, ...] = get_args(Prediction)


class DiffusionDenoiser(nn.Module):
    """A denoiser for images (B, C, H, W) in [0, 1] under Gaussian noise of one `sigma`.

    A diffusion model was trained on images x in [-1, 1], a range twice as wide, from
    which it saw x_t = sqrt(abar_t) x + sqrt(1 - abar_t) noise. A noisy image in [0, 1]
    becomes such an x_t by scaling: x_t = sqrt(abar) (2 noisy - 1), where
    (1 - abar) / abar = (2 sigma)^2, so abar = 1 / (1 + 4 sigma^2). The image follows from
    x_t and the network's prediction. It is clipped and shifted back to [0, 1] (Carlini et
    al., "(Certified!!) Adversarial Robustness for Free!", ICLR 2023, algorithm 1). The
    step is deterministic, as a base classifier must be.

    A schedule has only some noise levels. Scale and image are computed for the exact
    sigma. Only the timestep that the network is told is that of the nearest level in the
    schedule, by the ratio of the levels; `mismatch` says how near. No guarantee depends
    on the mismatch, since the noise of a certificate is added before this step.

    Args:
        network: gives its prediction (B, C, H, W) for x_t (B, C, H, W) and timesteps
            (B,), whole numbers from 0: a `diffusers` UNet, or any callable. Models with a
            learned variance answer with 2C channels, of which the first C are used.
        sigma: the sigma of the noise to remove, in units of pixels in [0, 1].
        alphas_cumprod: abar_t by timestep, falling: `scheduler.alphas_cumprod`.
        prediction: the output of the network: "epsilon", the noise; "v_prediction"; or
            "sample", the image.

    Raises:
        Problem: one of these cannot be used, or sigma lies outside the noise levels of
            the schedule.

    Attributes:
        sigma: the sigma as given.
        timestep: the timestep that the network is told.
        alpha_bar: 1 / (1 + 4 sigma^2).
        mismatch: the schedule's noise level at `timestep` over the exact one, minus 1.

    Example:
        >>> abar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)
        >>> def sees_no_noise(x_t, timesteps):
        ...     return torch.zeros_like(x_t)
        >>> denoiser = DiffusionDenoiser(
        ...     sees_no_noise, sigma=0.25, alphas_cumprod=abar
        ... )
        >>> denoiser.timestep, denoiser.alpha_bar, abs(denoiser.mismatch) < 0.01
        (144, 0.8, True)
        >>> denoiser(torch.full((2, 1, 8, 8), 0.75)).unique()
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
        if prediction not in PREDICTIONS:
            raise BadValue(
                field="prediction",
                value=prediction,
                fix=f"expected one of {', '.join(PREDICTIONS)}",
            )
        # In images in [0, 1], whose range is half as wide as that of the schedule's.
        levels = _noise_levels(alphas_cumprod) / 2.0
        _check_within(sigma, levels)

        self.network = network
        self.prediction = prediction
        # This module is in train mode only if the network is. Certification refuses a model
        # in train mode.
        self.training = isinstance(network, nn.Module) and network.training
        self.sigma = float(sigma)
        self.alpha_bar = 1.0 / (1.0 + 4.0 * self.sigma**2)
        self.timestep = int((levels / self.sigma).log().abs().argmin())
        self.mismatch = float(levels[self.timestep]) / self.sigma - 1.0

        # A certificate records these two.
        name = getattr(network, "__qualname__", type(network).__qualname__)
        self.arch = f"one step of the diffusion model {name}"
        self.provenance = {
            "sigma": self.sigma,
            "timestep": self.timestep,
            "alpha_bar": self.alpha_bar,
            "mismatch": self.mismatch,
            "prediction": self.prediction,
        }

    def forward(self, noisy: Tensor) -> Tensor:
        """Return denoised images (B, C, H, W) in [0, 1] of noisy ones."""
        signal = math.sqrt(self.alpha_bar)
        noise = math.sqrt(1.0 - self.alpha_bar)
        x_t = signal * (2.0 * noisy - 1.0)
        predicted = self._prediction(x_t)
        if self.prediction == "epsilon":
            # x_t = signal * x + noise * epsilon
            x = (x_t - noise * predicted) / signal
        elif self.prediction == "v_prediction":
            # v = signal * epsilon - noise * x, and signal^2 + noise^2 = 1
            x = signal * x_t - noise * predicted
        else:
            x = predicted
        return (x.clamp(-1.0, 1.0) + 1.0) / 2.0

    def _prediction(self, x_t: Tensor) -> Tensor:
        """Return the prediction of the network, (B, C, H, W).

        Raises:
            WrongModel: it answers with something else.
        """
        batch, channels, *sides = x_t.shape
        timesteps = torch.full(
            (batch,), self.timestep, dtype=torch.int64, device=x_t.device
        )
        answer = _tensor_in(self.network(x_t, timesteps))
        shape = tuple(getattr(answer, "shape", ()))
        if shape == (batch, 2 * channels, *sides):
            # The other half is a learned variance.
            answer = answer[:, :channels]
        elif shape != x_t.shape:
            raise WrongModel(
                f"the diffusion model answers {tuple(x_t.shape)} with "
                f"{shape or type(answer).__name__}; expected the same shape, or twice "
                "the channels"
            )
        return answer  # type: ignore[no-any-return]


def _tensor_in(answer: Any) -> Any:
    """Return the tensor in an answer of a network of `diffusers`.

    Such a network answers with a tuple, or an object that has the tensor as `sample`. Any
    other answer is returned as it is.
    """
    if isinstance(answer, Tensor):
        return answer
    if isinstance(answer, tuple):
        return answer[0]
    return getattr(answer, "sample", answer)


def _check_within(sigma: float, levels: Tensor) -> None:
    """Raise BadValue unless sigma lies within the noise levels of a schedule, which rise."""
    least = float(levels[0])
    most = float(levels[-1])
    is_number = isinstance(sigma, int | float)
    if not is_number or not sigma > 0.0 or not least <= sigma <= most:
        raise BadValue(
            field="sigma",
            value=sigma,
            fix=f"the noise levels of this diffusion model are from {least:.3g} to "
            f"{most:.3g}, for pixels in [0, 1]",
        )


def _noise_levels(alphas_cumprod: Tensor | Sequence[float]) -> Tensor:
    """Return (T,) sqrt((1 - abar_t) / abar_t), the sigma of the noise in images in [-1, 1].

    Raises:
        WrongModel: the abar_t are none or not in one row, do not fall, or lie outside [0, 1].
    """
    abar = torch.as_tensor(alphas_cumprod, dtype=torch.float64).detach().cpu()
    is_row = abar.dim() == 1 and len(abar) > 0
    falls = is_row and bool((abar.diff() < 0).all())
    # They fall, so all lie between the first and the last.
    if not falls or not 1 >= abar[0] >= abar[-1] >= 0:
        raise WrongModel(
            "alphas_cumprod must be the abar_t of every timestep, from 1 down to 0, "
            "and not the betas",
            field="alphas_cumprod",
        )
    return ((1.0 - abar) / abar).sqrt()
