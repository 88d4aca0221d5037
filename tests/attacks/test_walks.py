"""Attacks that walk, an image or a noise at a time: DDN, Algorithm 1 of Sun et al. 2025, CAT-RS's walk in a ball."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attacks import slow
from randsmooth.attacks import ball_attack, ddn, sphere_attack

IMAGES, NOISES, FEW = 12, 40, 10
DDN_WALKS = [(1, 0.5), (2, 0.5), (5, 0.5), (10, 0.3), (10, 1.0), (20, 2.0)]


def expected(
    model: slow.TinyNet, x: Tensor, y: Tensor, noise: Tensor, *walk: float
) -> tuple[slow.Floats, list[list[bool]]]:
    theta = slow.parameters(model)
    noises = slow.flat(noise)
    found = [
        slow.ddn(theta, slow.flat(x)[i], int(y[i]), noises[:, i], *walk)
        for i in range(len(x))
    ]
    return np.array([point for point, _ in found]), [fooled for _, fooled in found]


def test_ddn_is_its_slow_version() -> None:
    for seed, m, (steps, eps) in itertools.product([0, 1], [1, 3], DDN_WALKS):
        model, x, y, noise = slow.problem(IMAGES, m, seed, 0.3)
        points, _ = expected(model, x, y, noise, steps, eps)
        found = ddn(model, x, y, noise, steps=steps, eps=eps).points
        np.testing.assert_allclose(slow.flat(found), points, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_as_released_it_votes_rounds_and_is_a_step_ahead() -> None:
    """Each changes some image: a vote another verdict, rounding the points, the lengths the path."""
    differ = {"vote": False, "points": False}
    for seed, m in itertools.product(range(4), (1, 2, 3)):
        model, x, y, noise = slow.problem(IMAGES, m, seed, 0.3)
        theta, noises = slow.parameters(model), slow.flat(noise)
        for steps, eps in DDN_WALKS:
            found = ddn(model, x, y, noise, steps=steps, eps=eps, released=True).points
            for i, image in enumerate(slow.flat(x)):
                given = (theta, image, int(y[i]), noises[:, i])
                point, fooled = slow.ddn(*given, steps, eps, released=True)
                np.testing.assert_allclose(
                    slow.flat(found)[i], point, rtol=0, atol=1e-6
                )
                steps_of_255 = 255 * (slow.flat(found)[i] - image)
                np.testing.assert_allclose(
                    steps_of_255, np.round(steps_of_255), rtol=0, atol=1e-6
                )
                plain, there = slow.ddn(*given, steps, eps)
                differ["vote"] |= (
                    fooled[0] != there[0]
                )  # at the image itself, where all else is alike
                differ["points"] |= not np.allclose(point, plain, atol=1e-3)
    assert differ == {"vote": True, "points": True}


def test_the_problem_has_images_of_every_fate() -> None:
    fates = [
        fooled
        for walk in DDN_WALKS
        for fooled in expected(*slow.problem(IMAGES, 3, 0, 0.3), *walk)[1]
    ]
    assert any(fooled[0] for fooled in fates)  # misclassified from the start
    assert any(not fooled[0] and any(fooled) for fooled in fates)  # won over on the way
    assert any(not any(fooled) for fooled in fates)  # never
    assert any(
        (True, False) in itertools.pairwise(fooled) for fooled in fates
    )  # lost as the norm shrank


def problem(seed: int) -> tuple[slow.TinyNet, Tensor, Tensor, Tensor]:
    """A network in training mode, images, labels that it mostly gives, and one noise an image."""
    model, x, y, noise = slow.problem(NOISES, 1, seed, 0.5)
    return model.train(), x, y, noise[0]


def test_on_the_sphere_it_is_algorithm_1_whose_steps_a_damped_gradient_makes_shorter() -> (
    None
):
    ways: list[dict[str, Any]] = [
        {"norm": "l2"},
        {"norm": "linf"},
        {"damp": 1e-8},
        {"damp": 0.05},
        {"damp": 1.0},
    ]
    walks = [(1, 0.25), (3, 0.25), (6, 0.25), (4, 0.5), (1, 2.0)]
    for seed, (steps, eps), how in itertools.product([0, 1], walks, ways):
        model, x, y, noise = problem(seed)
        attacked = sphere_attack(model, x, y, noise, steps=steps, eps=eps, **how).points
        given = zip(slow.flat(x), y.tolist(), slow.flat(noise), strict=True)
        expected = [
            slow.walk(slow.parameters(model), *one, steps, eps, **how) for one in given
        ]
        np.testing.assert_allclose(slow.flat(attacked), expected, rtol=0, atol=1e-6)


def linear(rows: Tensor) -> nn.Module:
    """Logits rows @ v of images v of four pixels."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, len(rows), bias=False))
    model[1].weight.data = rows
    return model


def test_noises_of_a_large_margin_walk_on_but_hardly_move_damped() -> None:
    """A step that may turn the noise by 0.25 at most; damped by 4e-8, as the authors' code is at m = 4."""
    for margin, share in [(5.0, 1.0), (15.0, 0.88), (20.0, 0.046), (30.0, 0.0)]:
        x = torch.zeros(1, 1, 2, 2)
        noise = torch.tensor([1.0, 0.0, 0.0, 0.0]).view(1, 1, 2, 2) * margin
        label, model = (
            torch.tensor([1]),
            linear(torch.tensor([[-0.5] * 4, [0.5] * 4])),
        )  # the margin is the pixels' sum
        walk = partial(
            sphere_attack, model, x, label, noise, steps=1, eps=0.25 * margin
        )
        turns = [
            (walk(damp=damp).points - noise).norm().item() / margin
            for damp in (0.0, 4e-8)
        ]
        assert turns[0] == pytest.approx(0.24, abs=0.01), (margin, share)
        assert turns[1] == pytest.approx(share * turns[0], abs=0.02), (margin, share)


def test_the_model_sees_only_the_noises_still_walking() -> None:
    model, x, y, noise = problem(0)
    walking = [NOISES]
    for steps in range(5):
        points = (
            sphere_attack(model, x, y, noise, steps=steps, eps=0.25).points
            if steps
            else noise
        )
        with torch.no_grad():
            walking.append(int((model(x + points).argmax(dim=1) == y).sum()))
    model.seen.clear()
    sphere_attack(model, x, y, noise, steps=6, eps=0.25)
    assert model.seen == walking
    assert walking[-1] < walking[1] < walking[0]


BALL_WALKS = [(1, 0.5), (2, 0.25), (4, 1.0), (4, 0.1), (10, 2.0)]


def soft_targets(seed: int) -> Tensor:
    return torch.from_numpy(
        np.random.default_rng(seed).dirichlet(np.ones(slow.CLASSES), FEW)
    )


def test_in_a_ball_it_is_its_slow_version() -> None:
    """Up the cross-entropy with labels or the divergence from targets, damped or not, by either measure of spread."""
    damped = [(4, 1.0, 0.0, True), (4, 1.0, 0.05, False), (4, 1.0, 4e-8, True)]
    for seed, (steps, eps, damp, rms) in itertools.product(
        [0, 1], [*((*walk, 0.0, False) for walk in BALL_WALKS), *damped]
    ):
        model, x, y, noise = slow.problem(FEW, 1, seed, 0.5, easy=False)
        theta, images, noises = (
            slow.parameters(model),
            slow.flat(x),
            slow.flat(noise[0]),
        )
        for given, targets in (
            (y, torch.nn.functional.one_hot(y, slow.CLASSES)),
            (soft_targets(seed),) * 2,
        ):
            found = ball_attack(
                model, x, given, noise[0], steps=steps, eps=eps, damp=damp, rms=rms
            ).points
            walks = zip(images, targets.numpy(), noises, strict=True)
            like = [slow.ball(theta, *walk, steps, eps, damp, rms) for walk in walks]
            np.testing.assert_allclose(slow.flat(found), like, rtol=0, atol=1e-6)
            plain = ball_attack(model, x, given, noise[0], steps=steps, eps=eps).points
            assert torch.allclose(found, plain) == (not damp and not rms)


def test_the_divergence_counts_as_right_what_the_target_says() -> None:
    model, x, _, noises = slow.problem(FEW, 1, 0, 0.5)
    noise, targets = noises[0], soft_targets(0)
    with torch.no_grad():
        agrees = model(x + noise).argmax(dim=1) == targets.argmax(dim=1)
    assert agrees.any() and not agrees.all()
    assert torch.equal(
        ball_attack(model, x, targets, noise, steps=4, eps=0.5).right, agrees
    )
