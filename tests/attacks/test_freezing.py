"""`frozen`: eval mode without parameter gradients inside, everything as before outside."""

import itertools
import random

import pytest
import torch
from torch import nn

from randsmooth.attacks import frozen

Flags = tuple[dict[str, bool], dict[str, bool]]


def network() -> nn.Sequential:
    inner = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    return nn.Sequential(nn.Linear(4, 4), inner, nn.Linear(4, 2))


def flags(model: nn.Module) -> Flags:
    modes = {name: module.training for name, module in model.named_modules()}
    return modes, {name: parameter.requires_grad for name, parameter in model.named_parameters()}


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
        with pytest.raises(RuntimeError, match="inside") if raises else frozen(network()), frozen(model) as inside:
            assert inside is model, (seed, raises)
            modes, wanted = flags(model)
            assert not any(modes.values()) and not any(wanted.values()), (seed, raises)
            if raises:
                raise RuntimeError("inside")
        assert flags(model) == before, (seed, raises)


def test_statistics_and_gradients_are_untouched() -> None:
    model = network().train()
    model(torch.randn(8, 4)).sum().backward()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    gradients = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    x = torch.randn(8, 4, requires_grad=True)
    with frozen(model):
        assert torch.equal(model(x), model(x))  # no dropout
        model(x).sum().backward()
    assert x.grad is not None and x.grad.abs().sum() > 0
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert all(
        p.grad is not None and torch.equal(p.grad, g) for p, g in zip(model.parameters(), gradients, strict=True)
    )
