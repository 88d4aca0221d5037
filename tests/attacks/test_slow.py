"""The slow versions themselves: the network is torch's, and the gradients by hand are those of finite differences."""

from functools import partial

import numpy as np

from attacks import slow


def test_gradients_by_hand() -> None:
    x, y, noise = slow.batch(3, 3, 0, sigma=0.5)
    target = np.array([0.2, 0.7, 0.1])
    for theta, v, label, noises in zip(
        (slow.parameters(slow.TinyNet(seed)) for seed in range(3)),
        slow.flat(x),
        map(int, y),
        slow.flat(noise).swapaxes(0, 1),
        strict=True,
    ):
        slopes = {
            "hard": (slow.hard_slope(theta, v, target), partial(slow_divergence, theta, target)),
            "plain": (slow.hard_slope(theta, v, slow.one_hot(label)), partial(slow.cross_entropy, theta, label=label)),
            "soft": (
                slow.soft_slope(theta, v, label, noises),
                partial(slow.soft_loss, theta, label=label, noises=noises),
            ),
        }
        for name, (by_hand, loss) in slopes.items():
            np.testing.assert_allclose(by_hand, slow.gradient(loss, v), rtol=0, atol=1e-8, err_msg=name)


def slow_divergence(theta: slow.Floats, target: slow.Floats, at: slow.Floats) -> float:
    return slow.divergence(target, slow.probabilities(theta, at))
