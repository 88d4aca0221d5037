"""How strongly each training image changes the weights: the norm of its own gradient."""

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
from randsmooth.training.predictions import make_probe

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GradientNorms:
    """Gradient norms of N images.

    Attributes:
        p_a: (N,) share of noisy copies that are classified correctly.
        norms: (N,) L2 norm of the gradient of the image's loss with respect to all parameters.
    """

    p_a: Floats
    norms: Floats

    @property
    def easy(self) -> float:
        """Mean norm of images with p_A > 1/2; NaN if there are none."""
        return (
            float(np.mean(easy)) if len(easy := self.norms[self.p_a > 0.5]) else np.nan
        )

    @property
    def hard(self) -> float:
        """Mean norm of images with p_A < 1/2; NaN if there are none."""
        return (
            float(np.mean(hard)) if len(hard := self.norms[self.p_a < 0.5]) else np.nan
        )


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
    """The norm of the gradient of the method's loss on each image alone (Sun et al. 2025, table 1 and figure 5).

    The images are taken one at a time, in eval mode. Attacks inside a loss take gradients of their own, so per-image
    gradients of a whole batch cannot be vectorised; and no more memory is needed than for m noisy copies of one image.

    Args:
        model: gives logits (B, K); the `.grad` of its parameters is left alone.
        method: whose loss is taken, with m noises per image.
        images: a training split.
        indices: positions in it of the images to measure.
        sigma: standard deviation of the noise.
        noises: noisy copies of each image from which its p_A is estimated.
        attack: first attack every noise on its sphere, as this objective does.
        targets: (len(images), K) a teacher's predictions, for a method that has a teacher.
        seed: seed of all noise.

    Raises:
        Problem: `indices` is empty, or the method needs a teacher's predictions and `targets` is None.
    """
    if not len(indices):
        raise MissingValue(
            "no image given: name at least one position in the training split"
        )
    chosen, network, stream = (
        torch.as_tensor(indices),
        copy.deepcopy(model).eval(),
        Stream(seed, "gradients"),
    )
    p_a = make_probe(network, images, Gaussian(sigma), stream.at(0), images.device)(
        chosen, noises
    )
    norms = []
    for index in chosen:
        x, y = images.batch(index[None])
        own = stream.at(1, int(index))
        noise = draw((method.m, *x.shape), sigma, stream=own, device=x.device)
        if attack is not None:
            noise = attack.walk(network, x, y, noise).points
        u = torch.rand(1, generator=own.at(1).torch()).to(x.device)
        target = None if targets is None else targets[index][None].to(images.device)
        loss = method.loss(
            network, x, y, noise, LossInputs(u=u, target=target, sigma=sigma)
        ).total
        gradients = torch.autograd.grad(
            loss, [*network.parameters()], allow_unused=True
        )
        norms.append(
            float(
                torch.stack(
                    [g.double().square().sum() for g in gradients if g is not None]
                )
                .sum()
                .sqrt()
            )
        )
    return GradientNorms(p_a.double().numpy() / noises, np.array(norms))


def before_and_after(
    model: nn.Module,
    attack: Amplify,
    images: Images,
    indices: Sequence[int],
    sigma: float,
    *,
    seed: int = 0,
) -> tuple[GradientNorms, GradientNorms]:
    """Norms of the Gaussian loss's gradient, before and after the noises are attacked (Sun et al. 2025, figure 5)."""
    plain = GaussianTraining(m=attack.m)
    before = gradient_norms(model, plain, images, indices, sigma, seed=seed)
    return before, gradient_norms(
        model, plain, images, indices, sigma, attack=attack, seed=seed
    )
