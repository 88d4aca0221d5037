"""Gradient norms of single images, against the gradient of a linear classifier written out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import special
from torch import nn

from randsmooth import data, methods
from randsmooth.data import Images
from randsmooth.errors import InputError
from randsmooth.methods.amplify import Amplify
from randsmooth.noise import Stream, draw
from randsmooth.training.gradients import GradientNorms, before_and_after, gradient_norms

SIGMA, INDICES = 0.3, [0, 5, 17, 40]


@pytest.fixture(scope="module")
def images() -> Images:
    return data.load("digits", "train")


@pytest.fixture
def linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).double()


class Widened(nn.Module):
    """A network of float64, or what its copies are brought to, for images of float32."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.network(x.to(next(self.parameters()).dtype))
        return logits


def by_hand(linear: nn.Module, images: Images, index: int, m: int, seed: int = 0) -> float:
    """|| mean over noises of (softmax - onehot) outer (x, 1) ||."""
    weight, bias = (p.detach().numpy() for p in linear.parameters())
    x, y = images.batch(torch.tensor([index]))
    noise = draw((m, *x.shape), SIGMA, stream=Stream(seed, "gradients").at(1, index), device=torch.device("cpu"))
    points = (x + noise).double().flatten(1).numpy()
    points = points.reshape(m, 64)
    error = special.softmax(points @ weight.T + bias, axis=1) - np.eye(10)[y.numpy()]
    gradient = error.T @ np.hstack([points, np.ones((m, 1))]) / m
    return float(np.linalg.norm(gradient))


def test_norms_are_those_written_out(linear: nn.Module, images: Images) -> None:
    method = methods.create("gaussian", m=3)
    norms = gradient_norms(Widened(linear), method, images, INDICES, SIGMA).norms
    assert norms == pytest.approx([by_hand(linear, images, i, m=3) for i in INDICES], rel=1e-5)


def test_an_images_norm_does_not_depend_on_the_others(linear: nn.Module, images: Images) -> None:
    method = methods.create("gaussian", m=2)
    whole = gradient_norms(Widened(linear), method, images, INDICES, SIGMA).norms
    alone = gradient_norms(Widened(linear), method, images, INDICES[2:3], SIGMA).norms
    assert alone[0] == whole[2]
    assert gradient_norms(Widened(linear), method, images, INDICES, SIGMA, seed=1).norms[0] != whole[0]


SOME = {"smoothadv": {"m": 2, "T": 1, "eps": 0.2}, "consistency": {"lbd": 5.0}, "macer": {"k": 4, "lbd": 1.0}}


@pytest.mark.parametrize("name", [n for n in sorted(methods.METHODS) if n != "gaussian"])
def test_every_method_gives_norms_and_leaves_the_model_alone(name: str, images: Images) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 10)).train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    settings = {"stability": {"lbd": 1.0}, "smoothmix": {}, "cat-rs": {}, "amplify": {}} | SOME
    result = gradient_norms(model, methods.create(name, **settings[name]), images, INDICES[:2], SIGMA, noises=20)
    assert np.all(np.isfinite(result.norms)) and np.all(result.norms > 0)
    assert all(module.training for module in model.modules())
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert all(p.requires_grad and p.grad is None for p in model.parameters())


def test_the_attack_raises_the_gradients_of_easy_images(images: Images) -> None:
    """A network that knows its digits pulls little at easy ones, until their noises are attacked."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    x, y = images.batch(torch.arange(500))
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(150):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x + 0.1 * torch.randn_like(x)), y).backward()
        optimiser.step()
    attack = Amplify(m=2, T=6, eps=0.25)
    plain, attacked = before_and_after(model, attack, images, list(range(60)), 0.1)
    assert np.array_equal(plain.p_a, attacked.p_a)
    easy = plain.p_a > 0.5
    assert easy.mean() > 0.8
    assert np.median(attacked.norms[easy]) > 3 * np.median(plain.norms[easy])


def test_easy_and_hard_are_split_at_one_half() -> None:
    norms = GradientNorms(np.array([0.9, 0.6, 0.5, 0.2]), np.array([1.0, 3.0, 100.0, 7.0]))
    assert (norms.easy, norms.hard) == (2.0, 7.0)
    assert np.isnan(GradientNorms(np.array([0.9]), np.array([1.0])).hard)


def test_a_student_learns_from_targets(images: Images) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    student = methods.create("cat-rs", variant="released", teacher="somewhere")
    targets = torch.full((len(images), 10), 0.1)
    assert gradient_norms(model, student, images, [0], SIGMA, targets=targets).norms[0] > 0
    with pytest.raises(InputError, match="target"):
        gradient_norms(model, student, images, [0], SIGMA)
    with pytest.raises(InputError, match="no image given"):
        gradient_norms(model, student, images, [], SIGMA)
