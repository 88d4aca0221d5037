"""Projected gradient ascent on SmoothAdv's objective, and the same without gradients, one image at a time."""

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attacks import slow
from randsmooth.attacks import gradient_free, pgd

IMAGES = 8


def one(
    x: Tensor, y: Tensor, noise: Tensor, i: int
) -> tuple[slow.Floats, int, slow.Floats]:
    return slow.flat(x)[i], int(y[i]), slow.flat(noise)[:, i]


def losses(model: slow.TinyNet, points: Tensor, y: Tensor, noise: Tensor) -> np.ndarray:
    theta = slow.parameters(model)
    return np.array(
        [slow.soft_loss(theta, *one(points, y, noise, i)) for i in range(len(points))]
    )


WALKS = [
    (1, 0.3, np.inf),
    (4, 0.1, np.inf),
    (4, 0.5, np.inf),
    (4, 0.2, 0.4),
    (10, 0.1, 0.5),
    (3, 2.0, 1.0),
]


def test_pgd_is_its_slow_version() -> None:
    for seed, m, (steps, step, eps) in itertools.product([0, 1], [1, 3], WALKS):
        model, x, y, noise = slow.problem(IMAGES, m, seed, 0.5, easy=False)
        points = pgd(model, x, y, noise, steps=steps, step=step, eps=eps).points
        theta = slow.parameters(model)
        expected = [
            slow.pgd(theta, *one(x, y, noise, i), steps, step, eps)
            for i in range(IMAGES)
        ]
        np.testing.assert_allclose(slow.flat(points), expected, rtol=0, atol=1e-6)


W3 = torch.tensor([[2.0, -1.0, 0.5, 0.0], [-1.0, 1.0, 0.2, 0.3], [0.0, 0.5, -1.0, 1.0]])


def test_the_direction_is_right_where_the_probability_rounds_to_one() -> None:
    """In float32 against float64 by logits: sum_i p_i slope_i, with 1 - p_i taken as it is, not from p_i."""
    for scale in [1.0, 8.0, 16.0, 25.0]:
        model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3, bias=False))
        model[1].weight.data = 2 * scale * W3
        x = torch.tensor([0.75, 0.25, 0.65, 0.4])
        noise = torch.tensor([[0.01, 0.0, 0.02, -0.02], [-0.02, 0.01, 0.0, 0.03]])
        w = 2 * scale * W3.numpy().astype(np.float64)
        slope = np.zeros(4)
        for delta in noise.numpy():
            z = w @ (x.numpy().astype(np.float64) + delta)
            others = np.exp(z[1:] - z[0]) / (
                1 + np.exp(z[1:] - z[0]).sum()
            )  # probabilities of classes 1 and 2
            slope += others @ (w[1:] - w[0])  # times p_0, which is 1 to all digits here
        given = model, x.view(1, 1, 2, 2), torch.tensor([0]), noise.view(2, 1, 1, 2, 2)
        found = pgd(*given, steps=1, step=0.1).points.flatten() - x
        if scale > 1:
            np.testing.assert_allclose(
                found.numpy(), 0.1 * slow.unit(slope), rtol=0, atol=1e-4
            )
        assert found.norm().item() == pytest.approx(0.1, rel=1e-4), scale


def test_an_image_goes_on_after_its_label_has_lost_all_probability() -> None:
    """In float32 as in float64, on logits so large that the label's probability falls far below 1e-20."""
    for m in [1, 3]:
        model, x, y, noise = slow.problem(IMAGES, m, 0, 0.5, easy=False)
        with torch.no_grad():
            model.second.weight.mul_(60.0)
        theta = slow.parameters(model)
        expected = np.array(
            [slow.pgd(theta, *one(x, y, noise, i), 6, 0.3) for i in range(IMAGES)]
        )
        last_but_one = np.array(
            [slow.pgd(theta, *one(x, y, noise, i), 5, 0.3) for i in range(IMAGES)]
        )
        lost = losses(
            model, torch.from_numpy(last_but_one).view_as(x), y, noise
        ) > -np.log(1e-20)
        points = pgd(
            model.float(), x.float(), y, noise.float(), steps=6, step=0.3
        ).points
        assert 3 <= lost.sum() < IMAGES, m
        np.testing.assert_allclose(
            slow.flat(points)[lost], expected[lost], rtol=0, atol=1e-4
        )


def test_gradient_free_is_its_slow_version() -> None:
    for seed, m, (steps, eps) in itertools.product(
        [0, 1], [2, 4], [(1, 0.3), (4, 0.5), (10, 1.0)]
    ):
        model, x, y, noise = slow.problem(IMAGES, m, seed, 0.5, easy=False)
        points = gradient_free(model, x, y, noise, steps=steps, eps=eps).points
        theta = slow.parameters(model)
        expected = [
            slow.gradient_free(theta, *one(x, y, noise, i), steps, eps)
            for i in range(IMAGES)
        ]
        np.testing.assert_allclose(slow.flat(points), expected, rtol=0, atol=1e-6)


def test_many_noises_make_the_gradient_free_direction_uphill() -> None:
    """E[p(x + delta) delta] is sigma^2 times the gradient of E[p] (Stein), so it climbs in the mean."""
    model, x, y, noise = slow.problem(IMAGES, 4000, 0, 0.5, easy=False)
    points = gradient_free(model, x, y, noise, steps=1, eps=0.02).points
    assert (losses(model, points, y, noise) > losses(model, x, y, noise)).mean() >= 0.75
