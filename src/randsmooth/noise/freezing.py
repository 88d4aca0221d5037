"""A network that is only looked at: its state is lent to an attack and given back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def frozen(model: nn.Module) -> Iterator[nn.Module]:
    """The model in eval mode with parameters that take no gradient; both are as before afterwards, always."""
    modes = {module: module.training for module in model.modules()}
    wanted = {parameter: parameter.requires_grad for parameter in model.parameters()}
    model.eval().requires_grad_(False)
    try:
        yield model
    finally:
        for module, training in modes.items():
            module.training = training
        for parameter, requires_grad in wanted.items():
            parameter.requires_grad_(requires_grad)
