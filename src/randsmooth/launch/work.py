"""How often a training method asks its network about an image: counted, on a small problem of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import nn

from randsmooth.methods import LossInputs, Method

IMAGES, SHAPE, CLASSES = 6, (1, 4, 4), 3


class Work(NamedTuple):
    """How many noisy copies of an image pass the network in a step: without a gradient, and there and back."""

    forward: float
    both: float


@lru_cache(maxsize=1024)
def work_of(method: Method) -> Work:
    """The work of a training step for each image of the batch, the attack and the weights' gradient included.

    Example:
        >>> from randsmooth import methods
        >>> work_of(methods.create("gaussian", m=2))
        Work(forward=0.0, both=2.0)
        >>> work_of(methods.create("smoothadv", m=2, T=4)).both > 8
        True
    """
    torch_state = torch.get_rng_state()
    model = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, CLASSES))
    passed = {"forward": 0, "both": 0}

    def count(module: nn.Module, given: Any, logits: torch.Tensor) -> None:
        passed["forward"] += len(logits)
        if logits.requires_grad:
            logits.register_hook(lambda gradient: passed.update(both=passed["both"] + len(gradient)))

    model.register_forward_hook(count)
    x, y = torch.rand(IMAGES, *SHAPE), torch.arange(IMAGES) % CLASSES
    noise = 0.5 * torch.randn(method.m, IMAGES, *SHAPE)
    target = torch.rand(IMAGES, CLASSES).softmax(dim=1)
    loss = method.loss(model, x, y, noise, LossInputs(u=torch.rand(IMAGES), target=target, sigma=0.5))
    loss.total.backward()
    torch.set_rng_state(torch_state)
    return Work((passed["forward"] - passed["both"]) / IMAGES, passed["both"] / IMAGES)
