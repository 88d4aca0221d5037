"""Attacks whose first layer sees the noises once, against those whose network sees every noisy image as a whole."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from randsmooth.attacks import Attacked, ddn, gradient_free, pgd
from randsmooth.attacks.shared import FixedNoise
from randsmooth.models import Classifier

STEPS, M, B = 3, 4, 5
ATTACKS: dict[str, Callable[..., Attacked]] = {
    "pgd": partial(pgd, steps=STEPS, step=0.3, eps=0.5),
    "pgd without a ball": partial(pgd, steps=STEPS, step=0.5),
    "ddn": partial(ddn, steps=STEPS, eps=0.5),
    "gradient-free": partial(gradient_free, steps=STEPS, eps=0.5),
}


class Whole(nn.Module):
    """A classifier of which only the logits are seen."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x)  # type: ignore[no-any-return]


def classifier(arch: str = "lenet", side: int = 28, **fields: list[float]) -> Classifier:
    torch.manual_seed(0)
    model = Classifier(arch=arch, classes=["a", "b", "c"], shape=(1, side, side), **fields)  # type: ignore[arg-type]
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def batch(side: int = 28, m: int = M) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x, y = torch.rand(B, 1, side, side, generator=generator), torch.arange(B) % 3
    return x, y, 0.5 * torch.randn(m, B, 1, side, side, generator=generator)


def test_the_attacks_find_what_they_find_on_the_whole_network() -> None:
    for (arch, side), attack in itertools.product([("lenet", 28), ("small-cnn", 8)], ATTACKS):
        model, (x, y, noise) = classifier(arch, side).double(), batch(side)
        x, noise = x.double(), noise.double()
        found, expected = (ATTACKS[attack](of, x, y, noise) for of in (model, Whole(model)))
        assert (expected.points - x).abs().amax() > 0.01 or attack == "ddn", (arch, side, attack)
        torch.testing.assert_close(found.points, expected.points, rtol=0, atol=1e-9)
        assert torch.equal(found.right, expected.right), (arch, side, attack)


def test_it_is_left_alone_where_it_is_not_the_same_or_does_not_pay() -> None:
    _, _, noise = batch()
    assert FixedNoise(classifier(), noise).parts is not None
    assert FixedNoise(classifier(), noise[:1]).parts is None  # nothing is shared by a single noise
    assert FixedNoise(classifier(mean=[0.1], std=[0.3]), noise).parts is None
    assert FixedNoise(classifier("resnet8"), noise).parts is None
    assert FixedNoise(Whole(classifier()), noise).parts is None
