"""CAT-RS's attack on noises, one noise at a time."""

import numpy as np
import torch
from torch import Tensor

from attacks import slow
from randsmooth.attacks import ball_attack

NOISES = 10
WALKS = [(1, 0.5), (2, 0.25), (4, 1.0), (4, 0.1), (10, 2.0)]


def problem(seed: int) -> tuple[slow.TinyNet, Tensor, Tensor, Tensor]:
    x, y, noise = slow.batch(NOISES, 1, seed, sigma=0.5)
    return slow.TinyNet(seed), x, y, noise[0]


def soft_targets(seed: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(slow.CLASSES), NOISES))


def expected(model: slow.TinyNet, x: Tensor, targets: Tensor, noise: Tensor, *walk: float) -> list[slow.Floats]:
    theta, images, noises = slow.parameters(model), slow.flat(x), slow.flat(noise)
    return [slow.ball(theta, images[i], targets[i].numpy(), noises[i], *walk) for i in range(NOISES)]


def test_up_the_cross_entropy() -> None:
    for seed in [0, 1, 2]:
        for steps, eps in WALKS:
            model, x, y, noise = problem(seed)
            found = ball_attack(model, x, y, noise, steps=steps, eps=eps).points
            one_hot = torch.nn.functional.one_hot(y, slow.CLASSES).double()
            np.testing.assert_allclose(
                slow.flat(found), expected(model, x, one_hot, noise, steps, eps), rtol=0, atol=1e-6
            )


def test_damped_gradients_and_root_mean_squares() -> None:
    for seed in [0, 1]:
        for damp, rms in [(0.0, True), (0.05, False), (4e-8, True)]:
            model, x, _, noise = problem(seed)
            targets = soft_targets(seed)
            found = ball_attack(model, x, targets, noise, steps=4, eps=1.0, damp=damp, rms=rms).points
            theta, images, noises = slow.parameters(model), slow.flat(x), slow.flat(noise)
            like = [
                slow.ball(theta, images[i], targets[i].numpy(), noises[i], 4, 1.0, damp, rms) for i in range(NOISES)
            ]
            np.testing.assert_allclose(slow.flat(found), like, rtol=0, atol=1e-6)
            assert not torch.allclose(found, ball_attack(model, x, targets, noise, steps=4, eps=1.0).points)


def test_the_divergence_counts_as_right_what_the_target_says() -> None:
    model, x, _, noise = problem(0)
    targets = soft_targets(0)
    with torch.no_grad():
        agrees = model(x + noise).argmax(dim=1) == targets.argmax(dim=1)
    assert agrees.any() and not agrees.all()
    assert torch.equal(ball_attack(model, x, targets, noise, steps=4, eps=0.5).right, agrees)
