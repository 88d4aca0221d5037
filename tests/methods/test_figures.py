"""The shares that a loss reports beside its value, counted one noise at a time."""

from typing import Any

import numpy as np
import pytest

from attacks import slow
from attacks.slow import Floats
from methods import slow as slowly
from randsmooth import methods

IMAGES, EPS, T = 12, 0.6, 3
Problem = slowly.Problem


def right(theta: Floats, p: Problem, x: Floats, noise: Floats) -> np.ndarray:
    """(m, B) whether each image carries its label under each noise."""
    return np.array([[slow.logits(theta, x[i] + d[i]).argmax() == p.y[i] for i in range(IMAGES)] for d in noise])


def of_noises(attack: Any, p: Problem) -> Floats:
    return np.array([[attack(i, d[i]) for i in range(IMAGES)] for d in p.noise])


def after(name: str, theta: Floats, p: Problem) -> np.ndarray:
    """As `right`, after the attack."""
    if name in ("smoothadv", "consistency"):
        return right(theta, p, slowly.attacked_images(theta, p, "pgd", EPS, T), p.noise)
    if name == "cat-rs":
        targets = [slow.one_hot(label) for label in p.y]
        return right(theta, p, p.x, of_noises(lambda i, d: slow.ball(theta, p.x[i], targets[i], d, T, EPS), p))
    return right(theta, p, p.x, of_noises(lambda i, d: slow.walk(theta, p.x[i], p.y[i], d, T, EPS), p))


def figures(name: str, seed: int, **hyper: Any) -> tuple[dict[str, float], Floats, Problem]:
    method = methods.create(name, **hyper)
    model, theta, problem = slowly.problem(seed, IMAGES, method.m)
    loss = method.loss(model, *problem.tensors())
    return {key: value.item() for key, value in loss.figures.items()}, theta, problem


def test_easy_and_hard_images_by_their_share_of_right_noises() -> None:
    for name in methods.METHODS:
        found, theta, p = figures(name, 0, **({"k": 2} if name == "macer" else {"m": 2}))
        share = right(theta, p, p.x, p.noise).mean(axis=0)
        assert set(share) == {0.0, 0.5, 1.0}  # one half is neither
        assert found["easy_share"] == pytest.approx((share > 0.5).mean()), name
        assert found["hard_share"] == pytest.approx((share < 0.5).mean()), name


def test_success_is_the_share_of_right_noises_that_an_attack_turns() -> None:
    for name in ("smoothadv", "consistency", "cat-rs", "amplify"):
        for seed in (0, 1):
            found, theta, p = figures(name, seed, m=3, eps=EPS, T=T)
            before = right(theta, p, p.x, p.noise)
            turned = before & ~after(name, theta, p)
            assert 0 < turned.sum() < before.sum() < before.size
            assert found["attack_success"] == pytest.approx(turned.sum() / before.sum()), (name, seed)
