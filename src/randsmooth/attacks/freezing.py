"""A network that an attack may use without changing it: modes and gradients are restored afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def frozen(model: nn.Module) -> Iterator[nn.Module]:
    """A context in which the model is in eval mode and its parameters take no gradient.

    Afterwards both are as they were before, for each module and parameter, also where an exception ends the context.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> with frozen(model):
        ...     model.training, model.weight.requires_grad
        (False, False)
        >>> model.training, model.weight.requires_grad
        (True, True)
    """
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
