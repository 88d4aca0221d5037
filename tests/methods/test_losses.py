"""Every loss against its slow derivation in NumPy: value, gradient and the layout of the m copies."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from noise import slow
from randsmooth import methods

IMAGES = 4
WALK = {"T": 3, "eps": 0.5}

# name -> hyperparameters, and where the slow derivation moves a noise: (theta, x, label, noise) -> noise
METHODS = {
    "gaussian, m=1": ("gaussian", {"m": 1}, lambda theta, x, label, noise: noise),
    "gaussian, m=3": ("gaussian", {"m": 3}, lambda theta, x, label, noise: noise),
    "amplify, m=1": ("amplify", {"m": 1} | WALK, lambda *given: slow.walk(*given, 3, 0.5)),
    "amplify, m=3": ("amplify", {"m": 3} | WALK, lambda *given: slow.walk(*given, 3, 0.5)),
    "amplify, one step": ("amplify", {"m": 2, "T": 1, "eps": 2.0}, lambda *given: slow.walk(*given, 1, 2.0)),
    "amplify, linf": ("amplify", {"m": 3, "norm": "linf"} | WALK, lambda *given: slow.walk(*given, 3, 0.5, "linf")),
}


def flat(images: Tensor) -> np.ndarray:
    return images.numpy().reshape(*images.shape[:-3], slow.PIXELS)


@pytest.mark.parametrize(("name", "hyper", "move"), METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("seed", [0, 1])
def test_value_and_gradient(name, hyper, move, seed: int) -> None:  # type: ignore[no-untyped-def]
    model = slow.TinyNet(seed, scale=0.7)
    x, y, noise = slow.batch(IMAGES, hyper["m"], seed, sigma=0.5)
    theta = slow.parameters(model)
    points = [  # the losses hold the attacked points fixed: gradients do not flow through the walk
        (flat(x)[i] + move(theta, flat(x)[i], int(y[i]), flat(noise)[j, i]), int(y[i]))
        for j in range(hyper["m"])
        for i in range(IMAGES)
    ]

    def mean_cross_entropy(weights: np.ndarray) -> float:
        return float(np.mean([slow.cross_entropy(weights, point, label) for point, label in points]))

    loss = methods.create(name, **hyper).loss(model, x, y, noise)
    loss.total.backward()
    slope = parameters_to_vector([p.grad for p in model.parameters()]).numpy()
    # Logits are brought to float32 before the cross-entropy, whatever the network's precision.
    assert loss.total.item() == pytest.approx(mean_cross_entropy(theta), rel=1e-6)
    np.testing.assert_allclose(slope, slow.gradient(mean_cross_entropy, theta), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("name", "hyper", "move"), METHODS.values(), ids=METHODS)
def test_terms_are_plain_scalars_that_add_up(name, hyper, move) -> None:  # type: ignore[no-untyped-def]
    loss = methods.create(name, **hyper).loss(slow.TinyNet(0), *slow.batch(IMAGES, hyper["m"], 0))
    assert loss.total.requires_grad and loss.total.shape == ()
    assert all(term.shape == () and not term.requires_grad for term in loss.terms.values())
    assert torch.equal(sum(loss.terms.values()), loss.total.detach())  # type: ignore[arg-type]


class Recorder(nn.Module):
    """Keeps what it is given; logits say class 1 whatever the image."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.tensor([0.0, 1.0]))
        self.given = torch.empty(0)

    def forward(self, x: Tensor) -> Tensor:
        self.given = x.detach().clone()
        return self.bias + 0.0 * x.flatten(1).sum(dim=1, keepdim=True)


@pytest.mark.parametrize("name", ["gaussian", "amplify"])
def test_noise_j_i_belongs_to_image_i(name: str) -> None:
    m, images = 3, 5
    x = torch.arange(images).view(images, 1, 1, 1).expand(images, *slow.SHAPE).float()
    noise = 100.0 * (1 + torch.arange(m * images)).view(m, images, 1, 1, 1).expand(m, images, *slow.SHAPE).float()
    model = Recorder()
    methods.create(name, m=m).loss(model, x, torch.zeros(images, dtype=torch.int64), noise)
    assert model.given.shape == (m * images, *slow.SHAPE)
    for j in range(m):
        for i in range(images):
            assert torch.equal(model.given[j * images + i], x[i] + noise[j, i])


def test_amplify_is_gaussian_where_every_noise_wins_already() -> None:
    model = slow.TinyNet(0)
    x, _, noise = slow.batch(8, 1, 0)
    y = (model(x + noise[0]).argmax(dim=1) + 1) % slow.CLASSES
    attacked = methods.create("amplify", m=1).loss(model, x, y, noise)
    assert torch.equal(attacked.total, methods.create("gaussian").loss(model, x, y, noise).total)


def test_the_attack_makes_the_loss_larger_and_leaves_the_network_training() -> None:
    model = slow.TinyNet(0).train()
    x, _, noise = slow.batch(16, 2, 0, sigma=0.25)
    y = model(x).argmax(dim=1)
    attacked = methods.create("amplify", m=2).loss(model, x, y, noise)
    assert attacked.total > methods.create("gaussian", m=2).loss(model, x, y, noise).total
    assert model.training and all(p.requires_grad and p.grad is None for p in model.parameters())
