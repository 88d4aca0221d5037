"""How much each training image pulls at the weights: the norm of its own gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.methods import LossInputs, Method
from randsmooth.methods.amplify import Amplify
from randsmooth.methods.gaussian import Gaussian
from randsmooth.noise import Stream, draw
from randsmooth.training.probe import make_probe

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GradientNorms:
    """Of N images.

    Attributes:
        p_a: (N,) share of noisy copies that got the label.
        norms: (N,) L2 norm of the gradient of the image's loss by all parameters.
    """

    p_a: Floats
    norms: Floats

    @property
    def easy(self) -> float:
        """Mean norm of images with p_A > 1/2; NaN where there are none."""
        return _mean(self.norms[self.p_a > 0.5])

    @property
    def hard(self) -> float:
        """Mean norm of images with p_A < 1/2; NaN where there are none."""
        return _mean(self.norms[self.p_a < 0.5])


def gradient_norms(
    model: nn.Module,
    method: Method,
    images: Images,
    indices: Sequence[int],
    sigma: float,
    *,
    noises: int = 100,
    attack: Amplify | None = None,
    targets: Tensor | None = None,
    seed: int = 0,
) -> GradientNorms:
    """The gradient norm of the method's own loss on each image by itself (Sun et al. 2025, table 1 and figure 5).

    One image at a time, so that the memory is that of its m noisy copies: attacks inside a loss take gradients of
    their own, which no vectorised transform of the whole can hold. The network is in eval mode.

    Args:
        model: gives logits (B, K); its parameters keep their gradients.
        method: whose loss; with m noises an image.
        images, indices: of a training split.
        sigma: of the noise.
        noises: copies of each image that measure its p_A.
        attack: walk every noise on its sphere first, as this objective does.
        targets: (len(images), K) a teacher's predictions, for a method that learns from one.
        seed: of all noise.

    Raises:
        InputError: no index, or a method that needs a teacher's predictions and has none.
    """
    if not len(indices):
        raise InputError("no image given; expected the positions of some in the training split")
    chosen = torch.as_tensor(indices)
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        stream = Stream(seed, "gradients")
        probe = make_probe(model, images, sigma, stream.at(0), images.device)
        p_a = probe(chosen, noises).double().numpy() / noises
        norms = []
        for index in chosen:
            target = None if targets is None else targets[index][None].to(images.device)
            own = stream.at(1, int(index))
            norms.append(_norm(model, method, *images.batch(index[None]), sigma, own, attack, target))
    finally:
        for module, training in modes.items():
            module.training = training
    return GradientNorms(p_a, np.array(norms))


def _norm(
    model: nn.Module,
    method: Method,
    x: Tensor,
    y: Tensor,
    sigma: float,
    stream: Stream,
    attack: Amplify | None,
    target: Tensor | None,
) -> float:
    noise = draw((method.m, *x.shape), sigma, stream=stream, device=x.device)
    if attack is not None:
        noise = attack.walk(model, x, y, noise).points
    u = torch.rand(1, generator=stream.at(1).torch()).to(x.device)
    loss = method.loss(model, x, y, noise, LossInputs(u=u, target=target, sigma=sigma)).total
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    return float(torch.stack([g.double().square().sum() for g in gradients if g is not None]).sum().sqrt())


def before_and_after(
    model: nn.Module, attack: Amplify, images: Images, indices: Sequence[int], sigma: float, *, seed: int = 0
) -> tuple[GradientNorms, GradientNorms]:
    """Norms of the Gaussian loss at Gaussian noises, and at the same noises attacked (Sun et al. 2025, figure 5)."""
    plain = Gaussian(m=attack.m)
    before = gradient_norms(model, plain, images, indices, sigma, seed=seed)
    return before, gradient_norms(model, plain, images, indices, sigma, attack=attack, seed=seed)


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")
