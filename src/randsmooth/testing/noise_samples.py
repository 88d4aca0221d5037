"""Many noisy copies of an input, and bounds on probabilities from them."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth import bounds
from randsmooth.attacks import Ball, ball_of
from randsmooth.noise import Noise, Stream

STREAM = Stream(0, "check noise")

# How many numbers are drawn for one probability, in at most how many copies, and how many
# copies are held at a time.
NUMBERS = 2**22
MOST_COPIES = 2**20
COPIES_AT_ONCE = 2**15

# The probability that a bound on one probability is wrong.
ALPHA = 1e-5

# How far within a claimed radius it is tried, as a factor: rounding may not decide.
JUST_WITHIN = 1.0 - 1e-6


def draw_copies(noise: Noise, x: Tensor) -> Iterator[Tensor]:
    """Draw many copies of `x`, flat, COPIES_AT_ONCE at a time."""
    copy_shape = noise.shape(x.shape)
    copies = min(MOST_COPIES, NUMBERS // math.prod(copy_shape))
    out = torch.empty(min(COPIES_AT_ONCE, copies), *copy_shape)
    for block in range(copies // len(out)):
        noise.draw(out, x, STREAM.at(block))
        yield out.flatten(1)


def probability_bounds(holds: NDArray[np.bool_]) -> tuple[float, float]:
    """Return a lower and an upper bound on a probability, each all but certain.

    Args:
        holds: (n,) of which samples the event held.
    """
    n = len(holds)
    hits = int(holds.sum())
    upper = float(bounds.q_upper(n - hits, n, ALPHA))
    upper_of_contrary = float(bounds.q_upper(hits, n, ALPHA))
    return 1.0 - upper_of_contrary, upper


def unit_of(noise: Noise) -> Tensor:
    """Return what a change of each coordinate is divided by in the noise's norm.

    It is 1 where the noise has no units of its own.
    """
    unit = getattr(noise, "unit", getattr(noise, "std", 1.0))
    return torch.tensor(unit, dtype=torch.float32)


def ball_around(noise: Noise) -> Ball:
    """Return the ball in which the noise's radii hold."""
    return ball_of(noise.norm, unit_of(noise))
