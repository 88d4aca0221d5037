"""CAT-RS's attack on noises, one noise at a time."""

import itertools

import numpy as np
import torch
from torch import Tensor

from attacks import slow
from randsmooth.attacks import ball_attack

NOISES = 10
WALKS = [(1, 0.5), (2, 0.25), (4, 1.0), (4, 0.1), (10, 2.0)]


def soft_targets(seed: int) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).dirichlet(np.ones(slow.CLASSES), NOISES))


def test_it_is_its_slow_version() -> None:
    """Up the cross-entropy with labels or the divergence from targets, damped or not, by either measure of spread."""
    damped = [(4, 1.0, 0.0, True), (4, 1.0, 0.05, False), (4, 1.0, 4e-8, True)]
    for seed, (steps, eps, damp, rms) in itertools.product([0, 1], [*((*walk, 0.0, False) for walk in WALKS), *damped]):
        model, x, y, noise = slow.problem(NOISES, 1, seed, 0.5, easy=False)
        theta, images, noises = slow.parameters(model), slow.flat(x), slow.flat(noise[0])
        for given, targets in ((y, torch.nn.functional.one_hot(y, slow.CLASSES)), (soft_targets(seed),) * 2):
            found = ball_attack(model, x, given, noise[0], steps=steps, eps=eps, damp=damp, rms=rms).points
            walks = zip(images, targets.numpy(), noises, strict=True)
            like = [slow.ball(theta, *walk, steps, eps, damp, rms) for walk in walks]
            np.testing.assert_allclose(slow.flat(found), like, rtol=0, atol=1e-6)
            plain = ball_attack(model, x, given, noise[0], steps=steps, eps=eps).points
            assert torch.allclose(found, plain) == (not damp and not rms)


def test_the_divergence_counts_as_right_what_the_target_says() -> None:
    model, x, _, noises = slow.problem(NOISES, 1, 0, 0.5)
    noise, targets = noises[0], soft_targets(0)
    with torch.no_grad():
        agrees = model(x + noise).argmax(dim=1) == targets.argmax(dim=1)
    assert agrees.any() and not agrees.all()
    assert torch.equal(ball_attack(model, x, targets, noise, steps=4, eps=0.5).right, agrees)
