"""Gradient norms of single images, against the gradient of a linear classifier written out."""

import numpy as np
import pytest
import torch
from scipy import special
from torch import nn

from randsmooth import data, methods
from randsmooth.data import Images
from randsmooth.errors import BadValue, MissingValue
from randsmooth.methods.amplify import Amplify
from randsmooth.noise import Stream, draw
from randsmooth.training.gradients import (
    GradientNorms,
    before_and_after,
    gradient_norms,
)
from values import refused

SIGMA, INDICES = 0.3, [0, 5, 17, 40]


@pytest.fixture(scope="module")
def images() -> Images:
    return data.load("digits", "train")


def by_hand(linear: nn.Module, images: Images, index: int, m: int) -> float:
    """|| mean over noises of (softmax - onehot) outer (x, 1) ||."""
    weight, bias = (p.detach().double().numpy() for p in linear.parameters())
    x, y = images.batch(torch.tensor([index]))
    noise = draw(
        (m, *x.shape),
        SIGMA,
        stream=Stream(0, "gradients").at(1, index),
        device=torch.device("cpu"),
    )
    points = (x + noise).double().numpy().reshape(m, 64)
    error = special.softmax(points @ weight.T + bias, axis=1) - np.eye(10)[y.numpy()]
    return float(np.linalg.norm(error.T @ np.hstack([points, np.ones((m, 1))]) / m))


def test_norms_are_those_written_out_whatever_the_other_images(images: Images) -> None:
    torch.manual_seed(0)
    linear = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    method = methods.create("gaussian", m=3)
    norms = gradient_norms(linear, method, images, INDICES, SIGMA).norms
    assert norms == pytest.approx(
        [by_hand(linear, images, i, m=3) for i in INDICES], rel=1e-4
    )
    assert (
        gradient_norms(linear, method, images, INDICES[2:3], SIGMA).norms[0] == norms[2]
    )
    assert (
        gradient_norms(linear, method, images, INDICES, SIGMA, seed=1).norms[0]
        != norms[0]
    )


def test_easy_and_hard_are_split_at_one_half_and_a_student_learns_from_targets(
    images: Images,
) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    plain, attacked = before_and_after(
        model, Amplify(m=2, T=2, eps=0.25), images, [*range(40)], 0.1
    )
    assert np.array_equal(plain.p_a, attacked.p_a) and np.any(
        plain.norms != attacked.norms
    )
    norms = GradientNorms(
        np.array([0.9, 0.6, 0.5, 0.2]), np.array([1.0, 3.0, 100.0, 7.0])
    )
    assert (norms.easy, norms.hard) == (2.0, 7.0)
    assert np.isnan(GradientNorms(np.array([0.9]), np.array([1.0])).hard)
    student = methods.create("cat-rs", variant="released", teacher="somewhere")
    targets = torch.full((len(images), 10), 0.1)
    assert (
        gradient_norms(model, student, images, [0], SIGMA, targets=targets).norms[0] > 0
    )
    for chosen, kind in (([0], BadValue), ([], MissingValue)):
        with refused(kind):
            gradient_norms(model, student, images, chosen, SIGMA)
