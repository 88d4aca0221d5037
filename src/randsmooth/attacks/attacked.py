"""What every attack returns, and the checks that they share."""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor

from randsmooth.errors import InputError


class Attacked(NamedTuple):
    """The points that an attack found, and which samples were classified correctly before it.

    Attributes:
        points: the attacked images or noises, in the shape of what was attacked.
        right: whether each sample was correct before the attack; (m, B) for images (B, ...) under m noises each,
            (N,) for noises (N, ...).

    Example:
        >>> import torch
        >>> from randsmooth.attacks import sphere_attack
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2))
        >>> x, noise = torch.rand(3, 1, 2, 2), torch.randn(3, 1, 2, 2)
        >>> attacked = sphere_attack(model, x, torch.tensor([0, 1, 0]), noise, steps=2, eps=0.1)
        >>> attacked.points.shape, attacked.right.shape
        (torch.Size([3, 1, 2, 2]), torch.Size([3]))
    """

    points: Tensor
    right: Tensor


def check_attack(steps: int, **lengths: float) -> None:
    """Raise InputError unless the attack takes at least one step and every length is finite and above 0."""
    if steps < 1:
        raise InputError(f"steps={steps}: an attack takes at least 1")
    for name, length in lengths.items():
        if not 0.0 < length < math.inf:
            raise InputError(f"{name}={length} must be a finite length above 0")
