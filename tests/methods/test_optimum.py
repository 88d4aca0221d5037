"""Balanced toy data on which the best linear model is known: every method finds it, from wherever it starts.

Two classes lie at 0.5 + mu and 0.5 - mu, so that by symmetry the best weights point along mu whatever the objective
that knows only the margin. How long they are is known in closed form where the objective is the likelihood of some
pair of Gaussians, and by numerical integration over the noise along mu for two others.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import optimize, special
from torch import Tensor, nn

from randsmooth import methods

MU = torch.tensor([0.16, 0.12], dtype=torch.float64)
FAR, SIGMA, IMAGES = 0.2, 0.2, 512  # FAR is the length of mu


class Score(nn.Module):
    """Logits (-s/2, s/2) of the score s = w . (v - 0.5) / sigma."""

    def __init__(self, w: list[float]) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor(w, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        score = (x.flatten(1) - 0.5) / SIGMA @ self.w
        return torch.stack([-score / 2, score / 2], dim=1)


def trained(method: methods.Method, start: list[float], steps: int = 120) -> Tensor:
    """The mean weights over the second half of a short run with falling steps."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(IMAGES) % 2
    x = (0.5 + (2 * y - 1)[:, None] * MU).view(IMAGES, 1, 1, 2)
    model = Score(start)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    path = []
    for _ in range(steps):
        noise = SIGMA * torch.randn(method.m, *x.shape, generator=generator, dtype=torch.float64)
        u = torch.rand(IMAGES, generator=generator, dtype=torch.float64)
        optimizer.zero_grad()
        method.loss(model, x, y, noise, methods.LossInputs(u=u, sigma=SIGMA)).total.backward()
        optimizer.step()
        schedule.step()
        path.append(model.w.detach().clone())
    return torch.stack(path[steps // 2 :]).mean(dim=0)


# Numbers g and their weights, so that the mean over a standard normal is a weighted sum.
NODES, MASS = np.polynomial.hermite_e.hermegauss(60)
MASS = MASS / MASS.sum()


def softplus(z: Any) -> Any:
    """log(1 + exp(z)) of a number or an array."""
    return np.logaddexp(0.0, z)


def stability(length: float) -> float:
    """lbd = 2. The score of an image of class 1 is length * FAR / sigma, and length * g more under noise."""
    clean = length * FAR / SIGMA
    p = 1 / (1 + np.exp(-clean))
    noisy = clean + length * NODES
    return float(softplus(-clean) + 2.0 * MASS @ (p * softplus(-noisy) + (1 - p) * softplus(noisy)))


def consistency(length: float) -> float:
    """m = 2, lbd = 5, eta = 0.5."""
    score = length * FAR / SIGMA + length * NODES
    p = 1 / (1 + np.exp(-score))
    mean = (p[:, None] + p[None, :]) / 2  # over pairs of noises
    cross = mean * (softplus(-score)[:, None] + softplus(-score)[None, :]) / 2
    cross += (1 - mean) * (softplus(score)[:, None] + softplus(score)[None, :]) / 2
    entropy = special.entr(mean) + special.entr(1 - mean)
    return float(MASS @ softplus(-score) + MASS @ (5.0 * (cross - entropy) + 0.5 * entropy) @ MASS)


def best(expected: Callable[[float], float]) -> float:
    return float(optimize.minimize_scalar(expected, bounds=(0.01, 10.0), method="bounded").x)


# name -> hyperparameters, and the length of the best weights where it is known.
# The log odds of N(mu, sigma^2) against N(-mu, sigma^2) at v are 2 mu . v / sigma^2: 2 FAR / SIGMA in units of sigma.
# An adversary of size eps moves both means eps towards each other, whatever the weights' direction.
METHODS: dict[str, tuple[dict[str, Any], float | None]] = {
    "gaussian": ({"m": 4}, 2 * FAR / SIGMA),
    "stability": ({"m": 4, "lbd": 2.0}, best(stability)),
    "smoothadv": ({"m": 4, "eps": 0.1, "T": 2}, 2 * (FAR - 0.1) / SIGMA),
    "macer": ({"k": 8}, None),
    "consistency": ({"m": 2, "lbd": 5.0, "eta": 0.5}, best(consistency)),
    "smoothmix": ({"m": 4, "T": 2, "alpha": 0.05}, None),
    "cat-rs": ({"m": 4, "T": 2, "eps": 0.1}, None),
    "amplify": ({"m": 4, "T": 2, "eps": 0.05}, None),
}


def test_every_method_is_here() -> None:
    assert sorted(METHODS) == sorted(methods.METHODS)


@pytest.mark.parametrize(
    "start", [[-1.0, 0.5], *(pytest.param(start, marks=pytest.mark.slow) for start in ([1.0, -2.0], [0.01, 0.01]))]
)
@pytest.mark.parametrize("name", METHODS)
def test_the_known_optimum_is_reached(name: str, start: list[float]) -> None:
    hyper, length = METHODS[name]
    w = trained(methods.create(name, **hyper), start)
    angle = math.atan2(w[1], w[0]) - math.atan2(MU[1], MU[0])
    assert abs(angle) < 0.03
    if length is not None:
        assert w.norm().item() == pytest.approx(length, rel=0.05)
