"""What every attack returns."""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor

from randsmooth.errors import InputError


class Attacked(NamedTuple):
    """The points that an attack found, and which samples were classified right before it.

    Attributes:
        points: the attacked images or noises, of the shape of what was attacked.
        right: bool; (m, B) for images (B, ...) that m noises share, (N,) for noises (N, ...).
    """

    points: Tensor
    right: Tensor


def check_attack(steps: int, **lengths: float) -> None:
    """Raise InputError unless the attack takes a step at all, and every length is finite and above 0."""
    if steps < 1:
        raise InputError(f"steps={steps}: an attack takes at least 1")
    for name, length in lengths.items():
        if not 0.0 < length < math.inf:
            raise InputError(f"{name}={length} must be a finite length above 0")
