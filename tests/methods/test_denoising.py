"""The objectives of denoisers against slow derivations in NumPy: value and gradient, and what stays as it is."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from attacks import slow
from attacks.slow import PIXELS, SHAPE, Floats
from randsmooth.errors import BadValue
from randsmooth.methods import LossInputs
from randsmooth.methods.denoising import OBJECTIVES
from values import refused

IMAGES = 5


class Linear(nn.Module):
    """A denoiser v -> W v in float64."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        weight = np.eye(PIXELS) + 0.3 * np.random.default_rng(seed).standard_normal(
            (PIXELS, PIXELS)
        )
        self.weight = nn.Parameter(torch.from_numpy(weight))

    def forward(self, noisy: Tensor) -> Tensor:
        return (noisy.flatten(1) @ self.weight.T).view(-1, *SHAPE)


def slow_loss(
    objective: str, weights: Floats, theta: Floats, x: Floats, noise: Floats
) -> float:
    """The objective of a denoiser's weights, by a loop over noises and images."""
    matrix, total = weights.reshape(PIXELS, PIXELS), 0.0
    for delta in noise:
        for i, image in enumerate(x):
            denoised = matrix @ (image + delta[i])
            if objective == "mse":
                total += float(((denoised - image) ** 2).sum()) / PIXELS
            else:
                own = int(slow.logits(theta, image).argmax())
                total += float(-np.log(slow.softmax(slow.logits(theta, denoised))[own]))
    return total / (len(noise) * len(x))


def test_value_and_gradient_are_those_of_the_definition() -> None:
    for objective in OBJECTIVES:
        for seed, m in itertools.product((0, 1, 2), (1, 3)):
            denoiser, classifier = (
                Linear(seed),
                slow.TinyNet(seed, scale=0.8).requires_grad_(False),
            )
            x, y, noise = slow.batch(IMAGES, m, seed, sigma=0.5)
            method, inputs = (
                OBJECTIVES[objective](m=m),
                LossInputs(classifier=classifier),
            )
            loss = method.loss(denoiser, x, y, noise, inputs)
            loss.total.backward()
            facts = slow.parameters(classifier), slow.flat(x), slow.flat(noise)
            at = parameters_to_vector(denoiser.parameters()).detach().numpy().copy()
            assert float(loss.total.detach()) == pytest.approx(
                slow_loss(objective, at, *facts), rel=1e-12
            )
            slope = slow.gradient(
                partial(
                    slow_loss, objective, theta=facts[0], x=facts[1], noise=facts[2]
                ),
                at,
            )
            assert denoiser.weight.grad is not None
            np.testing.assert_allclose(
                denoiser.weight.grad.flatten().numpy(), slope, rtol=1e-6, atol=1e-8
            )
            assert all(parameter.grad is None for parameter in classifier.parameters())
            assert torch.equal(
                loss.total.detach(), sum(loss.terms.values(), torch.tensor(0.0))
            )
            assert torch.equal(
                method.loss(denoiser, x, 2 - y, noise, inputs).total, loss.total
            )  # labels do not matter


def test_stability_without_a_classifier_is_refused() -> None:
    x, y, noise = slow.batch(IMAGES, 1, 0)
    with refused(BadValue):
        OBJECTIVES["stability"]().loss(Linear(0), x, y, noise)
