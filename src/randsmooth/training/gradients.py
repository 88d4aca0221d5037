"""How strongly each training image changes the weights: its gradient's norm."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth.data import Images
from randsmooth.errors import MissingValue
from randsmooth.methods import LossInputs, Method
from randsmooth.methods.amplify import Amplify
from randsmooth.methods.gaussian import GaussianTraining
from randsmooth.noise import Gaussian, Stream, draw
from randsmooth.training.predictions import ModelProbe

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GradientNorms:
    """Gradient norms of N images.

    Attributes:
        p_a: (N,) share of noisy copies that are classified correctly.
        norms: (N,) L2 norm of the gradient of the image's loss with respect to all
            parameters.
    """

    p_a: Floats
    norms: Floats

    @property
    def easy(self) -> float:
        """Return the mean norm of images with p_A > 1/2; NaN if there are none."""
        return _mean(self.norms[self.p_a > 0.5])

    @property
    def hard(self) -> float:
        """Return the mean norm of images with p_A < 1/2; NaN if there are none."""
        return _mean(self.norms[self.p_a < 0.5])


def _mean(norms: Floats) -> float:
    """Return the mean of the norms; NaN of none."""
    # NumPy would warn of the mean of nothing.
    return float(np.mean(norms)) if len(norms) > 0 else np.nan


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
    """Return the norm of the gradient of the method's loss on each image alone.

    These are the norms of table 1 and figure 5 of Sun et al. 2025. The images are taken
    one at a time, in eval mode. Attacks inside a loss take gradients of their own, so
    per-image gradients of a whole batch cannot be vectorised; and no more memory is
    needed than for m noisy copies of one image.

    Args:
        model: gives logits (B, K); the `.grad` of its parameters is left alone.
        method: the method; its loss is taken, with m noises per image.
        images: a training split.
        indices: positions in it of the images to measure.
        sigma: standard deviation of the noise.
        noises: noisy copies of each image from which its p_A is estimated.
        attack: first attack every noise on its sphere, as this objective does.
        targets: (len(images), K) a teacher's predictions, for a method that has a
            teacher.
        seed: seed of all noise.

    Raises:
        Problem: `indices` is empty, or the method needs a teacher's predictions and
            `targets` is None.
    """
    if len(indices) == 0:
        raise MissingValue(
            "no image given: name at least one position in the training split",
            field="indices",
        )
    chosen = torch.as_tensor(indices)
    network = copy.deepcopy(model).eval()
    # At 0 for the estimate of p_A, at 1 for the noises whose gradients are taken.
    stream = Stream(seed, "gradients")
    probe = ModelProbe(
        model=network,
        images=images,
        noise=Gaussian(sigma),
        stream=stream.at(0),
        device=images.device,
    )
    right = probe(chosen, noises)

    norms = []
    for index in chosen:
        x, y = images.batch(index[None])
        stream_of_image = stream.at(1, int(index))
        noise = draw(
            (method.m, *x.shape), sigma, stream=stream_of_image, device=x.device
        )
        if attack is not None:
            noise = attack.walk(network, x, y, noise).points
        u = torch.rand(1, generator=stream_of_image.at(1).torch()).to(x.device)
        target = None
        if targets is not None:
            target = targets[index][None].to(images.device)
        inputs = LossInputs(u=u, target=target, sigma=sigma)
        loss = method.loss(network, x, y, noise, inputs)
        norms.append(_gradient_norm(network, loss.total))
    return GradientNorms(p_a=right.double().numpy() / noises, norms=np.array(norms))


def _gradient_norm(network: nn.Module, loss: Tensor) -> float:
    """Return the L2 norm of the gradient of `loss` with respect to all parameters."""
    gradients = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
    squares = [
        gradient.double().square().sum()
        for gradient in gradients
        if gradient is not None
    ]
    return float(torch.stack(squares).sum().sqrt())


def before_and_after(
    model: nn.Module,
    attack: Amplify,
    images: Images,
    indices: Sequence[int],
    sigma: float,
    *,
    seed: int = 0,
) -> tuple[GradientNorms, GradientNorms]:
    """Return the gradient norms of the Gaussian loss before and after an attack.

    The `attack` moves the noises, as for figure 5 of Sun et al. 2025.
    """
    plain = GaussianTraining(m=attack.m)
    before = gradient_norms(model, plain, images, indices, sigma, seed=seed)
    after = gradient_norms(
        model, plain, images, indices, sigma, attack=attack, seed=seed
    )
    return before, after
