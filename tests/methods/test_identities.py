"""What the papers say the objectives reduce to, in value and in gradient; and the shares that a loss reports."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector

from attacks import slow
from attacks.slow import Floats
from methods import slow as slowly
from randsmooth import methods

IMAGES = 8


def gradient_of(model: nn.Module) -> Tensor:
    """All gradients in a row; every parameter has one."""
    return parameters_to_vector(
        [
            parameter.grad
            for parameter in model.parameters()
            if parameter.grad is not None
        ]
    )


def loss_and_gradient(
    method: methods.Method, seed: int, m: int | None = None
) -> tuple[Tensor, Tensor]:
    model, _, problem = slowly.problem(seed, IMAGES, m or method.m)
    loss = method.loss(model, *problem.tensors()).total
    loss.backward()
    return loss.detach(), gradient_of(model)


def agree(one: methods.Method, other: methods.Method, tolerance: float = 1e-12) -> None:
    for seed in range(3):
        found, expected = loss_and_gradient(one, seed), loss_and_gradient(other, seed)
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


create = methods.create

# Objectives that are Gaussian training with the same m.
GAUSSIAN: list[tuple[str, dict[str, Any], float]] = [
    ("smoothadv", {"m": 3, "eps": 1e-12}, 1e-9),
    ("smoothadv", {"m": 3, "eps": 1e-12, "attack": "ddn"}, 1e-9),
    ("smoothadv", {"m": 3, "eps": 1e-12, "attack": "gradient-free"}, 1e-9),
    ("macer", {"k": 1, "lbd": 0.0}, 1e-12),
    ("consistency", {"m": 2, "lbd": 0.0, "eta": 0.0}, 1e-12),
    ("consistency", {"m": 3, "lbd": 0.0, "eta": 0.0, "eps": 1e-12}, 1e-9),
    ("consistency", {"m": 3, "lbd": 0.0, "form": "xent"}, 1e-12),
    ("smoothmix", {"m": 3, "eta": 0.0}, 1e-12),
    ("cat-rs", {"m": 3, "p0": 1.0, "high": "off"}, 1e-12),
    ("cat-rs", {"m": 1, "high": "off"}, 1e-12),
    ("amplify", {"m": 3, "eps": 1e-12}, 1e-9),
]


def test_gaussian_training_in_disguise() -> None:
    for name, hyper, tolerance in GAUSSIAN:
        method = create(name, **hyper)
        agree(method, create("gaussian", m=method.m), tolerance)


def test_consistency_forms_meet_where_they_should() -> None:
    agree(
        create("consistency", m=3, lbd=3.0, eta=3.0),
        create("consistency", m=3, lbd=3.0, form="xent"),
    )
    agree(
        create("consistency", m=3, lbd=3.0, eta=0.0),
        create("consistency", m=3, lbd=3.0, form="kl"),
    )


def test_cat_rs_is_bottom_k_as_p0_goes_to_zero() -> None:
    released = create(
        "cat-rs", m=3, high="off", variant="released", teacher="models/gaussian"
    )
    agree(create("cat-rs", m=3, high="off", p0=1e-30), released)


class Told(nn.Module):
    """Two classes; the first pixel is the logit of class 1."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        score = self.scale * x.flatten(1)[:, 0]
        return torch.stack([torch.zeros_like(score), score], dim=1)


def told(*logits: list[float]) -> tuple[Tensor, Tensor]:
    """x (B, 1, 1, 2) of zeros, and noise that gives image i the logit logits[i][j] under noise j."""
    noise = torch.zeros(len(logits[0]), len(logits), 1, 1, 2, dtype=torch.float64)
    noise[..., 0] = torch.tensor(logits, dtype=torch.float64).T[:, :, None, None]
    return torch.zeros(len(logits), 1, 1, 2, dtype=torch.float64), noise


def kept(u: float, scores: list[float]) -> int:
    """How many noises of an image of class 1 count in full: losses apart by powers of ten tell."""
    x, noise = told(scores)
    method = create("cat-rs", m=len(scores), high="off", p0=1e-300)
    total = method.loss(
        Told(), x, torch.tensor([1]), noise, methods.LossInputs(u=torch.tensor([u]))
    ).total
    losses = F.softplus(
        -torch.tensor(scores, dtype=torch.float64)
    ).sort().values.cumsum(0) / len(scores)
    return int((losses - total).abs().argmin()) + 1


LAST = 1.0 - 2.0**-24  # the largest number below 1 in float32


def test_the_number_of_noises_that_count_is_the_binomial_quantile() -> None:
    scores = [2.0, 1.0, 0.5, -1.0]  # p-hat = 3/4
    edges = stats.binom.cdf(range(4), 4, 0.75)
    for number, edge in enumerate(
        edges
    ):  # at most `number` below the edge, at least one more above it
        assert kept(edge - 1e-4, scores) == max(1, number)
        assert kept(edge + 1e-4, scores) == number + 1
    assert kept(0.0, scores) == 1 and kept(LAST, scores) == 4


def test_macer_asks_its_sharpened_prediction_which_images_are_right() -> None:
    """As its own code does: the mean prediction says class 0, 58% to 42%, the sharpened one class 1, 2/3 to 1/3."""
    x, noise = told([-3.0, 0.42, 0.42], [-3.0, 0.42, 0.42])
    method, inputs = (
        create("macer", k=3, lbd=3.0, gamma=8.0, beta=1e3),
        methods.LossInputs(sigma=0.5),
    )
    assert (
        torch.softmax(torch.tensor([[0.0, s] for s in (-3.0, 0.42, 0.42)]), dim=1).mean(
            dim=0
        )[0]
        > 0.58
    )
    for label, robustness in (
        (0, 0.0),
        (1, 3.0 * 0.5 / 2 * (8.0 - 2 * stats.norm.ppf(2 / 3))),
    ):
        loss = method.loss(Told(), x, torch.tensor([label, label]), noise, inputs)
        assert loss.terms["robustness"].item() == pytest.approx(robustness, rel=1e-9)


# --- the shares that a loss reports beside its value, counted one noise at a time -------------------------------------

MANY = 12


def right(theta: Floats, p: slowly.Problem, x: Floats, noise: Floats) -> np.ndarray:
    """(m, B) whether each image carries its label under each noise."""
    return np.array(
        [
            [slow.logits(theta, x[i] + d[i]).argmax() == p.y[i] for i in range(MANY)]
            for d in noise
        ]
    )


def figures(
    name: str, seed: int, **hyper: Any
) -> tuple[dict[str, float], Floats, slowly.Problem]:
    method = methods.create(name, **hyper)
    model, theta, problem = slowly.problem(seed, MANY, method.m)
    loss = method.loss(model, *problem.tensors())
    return {key: value.item() for key, value in loss.figures.items()}, theta, problem


def test_easy_and_hard_images_by_their_share_of_right_noises() -> None:
    for name in methods.METHODS:
        found, theta, p = figures(
            name, 0, **({"k": 2} if name == "macer" else {"m": 2})
        )
        share = right(theta, p, p.x, p.noise).mean(axis=0)
        assert set(share) == {0.0, 0.5, 1.0}  # one half is neither
        assert found["easy_share"] == pytest.approx((share > 0.5).mean()), name
        assert found["hard_share"] == pytest.approx((share < 0.5).mean()), name
