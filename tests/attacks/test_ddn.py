"""The DDN attack as SmoothAdv uses it, one image at a time."""

import itertools

import numpy as np
import pytest
from torch import Tensor

from attacks import slow
from randsmooth.attacks import ddn

IMAGES = 12
WALKS = [(1, 0.5), (2, 0.5), (5, 0.5), (10, 0.3), (10, 1.0), (20, 2.0)]


def expected(
    model: slow.TinyNet, x: Tensor, y: Tensor, noise: Tensor, *walk: float
) -> tuple[slow.Floats, list[list[bool]]]:
    theta = slow.parameters(model)
    noises = slow.flat(noise)
    found = [slow.ddn(theta, slow.flat(x)[i], int(y[i]), noises[:, i], *walk) for i in range(len(x))]
    return np.array([point for point, _ in found]), [fooled for _, fooled in found]


def test_it_is_its_slow_version() -> None:
    for seed, m, (steps, eps) in itertools.product([0, 1], [1, 3], WALKS):
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
        for steps, eps in WALKS:
            found = ddn(model, x, y, noise, steps=steps, eps=eps, released=True).points
            for i, image in enumerate(slow.flat(x)):
                given = (theta, image, int(y[i]), noises[:, i])
                point, fooled = slow.ddn(*given, steps, eps, released=True)
                np.testing.assert_allclose(slow.flat(found)[i], point, rtol=0, atol=1e-6)
                steps_of_255 = 255 * (slow.flat(found)[i] - image)
                np.testing.assert_allclose(steps_of_255, np.round(steps_of_255), rtol=0, atol=1e-6)
                plain, there = slow.ddn(*given, steps, eps)
                differ["vote"] |= fooled[0] != there[0]  # at the image itself, where all else is alike
                differ["points"] |= not np.allclose(point, plain, atol=1e-3)
    assert differ == {"vote": True, "points": True}


def test_the_problem_has_images_of_every_fate() -> None:
    fates = [fooled for walk in WALKS for fooled in expected(*slow.problem(IMAGES, 3, 0, 0.3), *walk)[1]]
    assert any(fooled[0] for fooled in fates)  # misclassified from the start
    assert any(not fooled[0] and any(fooled) for fooled in fates)  # won over on the way
    assert any(not any(fooled) for fooled in fates)  # never
    assert any((True, False) in itertools.pairwise(fooled) for fooled in fates)  # lost as the norm shrank
