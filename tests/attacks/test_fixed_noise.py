"""Attacks on one model for many noises: its first layer asked once, frozen inside and as before outside."""

import itertools
import random
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from randsmooth.attacks import Attacked, ddn, frozen, gradient_free, pgd
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


def classifier(
    arch: str = "lenet", side: int = 28, **fields: list[float]
) -> Classifier:
    torch.manual_seed(0)
    model = Classifier(
        arch=arch,
        classes=["a", "b", "c"],
        shape=(1, side, side),
        **fields,  # type: ignore[arg-type]
    )
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def batch(side: int = 28, m: int = M) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    x, y = torch.rand(B, 1, side, side, generator=generator), torch.arange(B) % 3
    return x, y, 0.5 * torch.randn(m, B, 1, side, side, generator=generator)


def test_the_attacks_find_what_they_find_on_the_whole_network() -> None:
    for (arch, side), attack in itertools.product(
        [("lenet", 28), ("small-cnn", 8)], ATTACKS
    ):
        model, (x, y, noise) = classifier(arch, side).double(), batch(side)
        x, noise = x.double(), noise.double()
        found, expected = (
            ATTACKS[attack](of, x, y, noise) for of in (model, Whole(model))
        )
        assert (expected.points - x).abs().amax() > 0.01 or attack == "ddn", (
            arch,
            side,
            attack,
        )
        torch.testing.assert_close(found.points, expected.points, rtol=0, atol=1e-9)
        assert torch.equal(found.right, expected.right), (arch, side, attack)


Flags = tuple[dict[str, bool], dict[str, bool]]


def network() -> nn.Sequential:
    inner = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    return nn.Sequential(nn.Linear(4, 4), inner, nn.Linear(4, 2))


def flags(model: nn.Module) -> Flags:
    modes = {name: module.training for name, module in model.named_modules()}
    return modes, {
        name: parameter.requires_grad for name, parameter in model.named_parameters()
    }


def scattered(seed: int) -> nn.Sequential:
    """A network whose modules train or not, and whose parameters want gradients or not, at random."""
    model, rng = network(), random.Random(seed)
    for module in model.modules():
        module.training = rng.random() < 0.5
    for parameter in model.parameters():
        parameter.requires_grad_(rng.random() < 0.5)
    return model


def test_every_flag_is_given_back() -> None:
    for seed, raises in itertools.product(range(8), [False, True]):
        model = scattered(seed)
        before = flags(model)
        with (
            pytest.raises(RuntimeError, match="inside")
            if raises
            else frozen(network()),
            frozen(model) as inside,
        ):
            assert inside is model, (seed, raises)
            modes, wanted = flags(model)
            assert not any(modes.values()) and not any(wanted.values()), (seed, raises)
            if raises:
                raise RuntimeError("inside")
        assert flags(model) == before, (seed, raises)
