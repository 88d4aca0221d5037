"""The slow versions themselves: the network is torch's, and the gradients by hand are those of finite differences."""

import numpy as np
import pytest

from attacks import slow


@pytest.mark.parametrize("seed", range(3))
def test_the_network_is_the_same(seed: int) -> None:
    model = slow.TinyNet(seed)
    x, _, _ = slow.batch(4, 1, seed)
    theta = slow.parameters(model)
    expected = [slow.logits(theta, v) for v in slow.flat(x)]
    np.testing.assert_allclose(model(x).detach().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_by_hand(seed: int) -> None:
    theta = slow.parameters(slow.TinyNet(seed))
    x, y, noise = slow.batch(1, 3, seed, sigma=0.5)
    v, label, noises = slow.flat(x)[0], int(y[0]), slow.flat(noise)[:, 0]
    target = np.array([0.2, 0.7, 0.1])
    hard = slow.gradient(lambda at: slow.divergence(target, slow.probabilities(theta, at)), v)
    np.testing.assert_allclose(slow.hard_slope(theta, v, target), hard, rtol=0, atol=1e-8)
    plain = slow.gradient(lambda at: slow.cross_entropy(theta, at, label), v)
    np.testing.assert_allclose(slow.hard_slope(theta, v, slow.one_hot(label)), plain, rtol=0, atol=1e-8)
    soft = slow.gradient(lambda at: slow.soft_loss(theta, at, label, noises), v)
    np.testing.assert_allclose(slow.soft_slope(theta, v, label, noises), soft, rtol=0, atol=1e-8)
