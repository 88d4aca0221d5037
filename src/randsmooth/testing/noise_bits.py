"""The part of the contract of noises about what the bits of a copy's numbers tell.

A noise that hides numbers must also hide their signs, and whether they are infinite or NaN.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from randsmooth.errors import Problem
from randsmooth.noise import NORMS, Noise, Stream
from randsmooth.testing.contract import require
from randsmooth.testing.noise_samples import (
    COPIES_AT_ONCE,
    JUST_WITHIN,
    NUMBERS,
    STREAM,
    ball_around,
    probability_bounds,
)

# A NaN with another payload than math.nan has.
OTHER_NAN = float(np.uint32(0x7FC00123).view(np.float32))

BITS_OF_FLOAT32 = 32

# Pairs of values, before and after a change.
FINITE_VALUES = ((1.0, -1.0), (-1.0, 1.0), (0.0, 1.0), (1.0, 0.0))
VALUES_AT_ANY_DISTANCE = ((0.0, math.inf), (0.0, math.nan), (math.nan, OTHER_NAN))


def check_bits(noise: Noise, shape: tuple[int, ...]) -> None:
    """Check radii by a classifier that reads the bits of a copy's numbers.

    It looks at those bits that no copy of a first input changes. All numbers of the input
    that are to be changed have the same value before it, and another one after it.
    """
    for before, after in _values_to_hide(noise):
        x = torch.full(shape, before)
        constant, bits = _constant_bits(_bits_of_copies(noise, x, STREAM.at(0)))
        _, q = _chance_of_other_bits(noise, x, constant, bits)
        radius = float(noise.radius(q))
        if radius <= 0.0:
            continue

        changed = _changed(noise, x, after, radius * JUST_WITHIN)
        lost, _ = _chance_of_other_bits(noise, changed, constant, bits)
        require(
            lost <= 0.5,
            f"claims radius {radius:.4g} in {noise.norm} at q={q:.4g}, where the bits of "
            f"{lost:.4f} of copies change from {before:g} to {after:g}: choose what is "
            "seen (torch.where), do not multiply",
        )


def _values_to_hide(noise: Noise) -> Iterator[tuple[float, float]]:
    """Yield pairs of values that the noise takes.

    They differ in sign, in being finite or in the payload of a NaN.
    """
    pairs: tuple[tuple[float, float], ...] = FINITE_VALUES
    if NORMS[noise.norm].whole:
        # In the other norms no radius reaches so far.
        pairs = (*FINITE_VALUES, *VALUES_AT_ANY_DISTANCE)
    for before, after in pairs:
        try:
            noise.check(torch.tensor([before, after]))
        except Problem:
            continue
        yield before, after


def _changed(noise: Noise, x: Tensor, after: float, radius: float) -> Tensor:
    """Return `x` changed towards `after` by `radius`, in as few coordinates as possible.

    All numbers of `x` are equal.
    """
    if NORMS[noise.norm].whole:
        pixels = math.prod(x.shape[1:]) if x.dim() > 1 else x.numel()
        channels = x.clone().reshape(-1, pixels)
        channels[:, : math.ceil(radius)] = after
        return channels.view(x.shape)

    change_of_first = torch.zeros(x.shape)
    change_of_first.view(-1)[0] = after - float(x.view(-1)[0])
    length = ball_around(noise).length(change_of_first)
    return x + change_of_first * min(1.0, radius / length)


def _chance_of_other_bits(
    noise: Noise, x: Tensor, constant: Tensor, bits: Tensor
) -> tuple[float, float]:
    """Return bounds on the probability that a copy has other bits where `constant` is set.

    Args:
        noise: for inputs of the shape of `x`.
        x: an input, whose copies have d numbers.
        constant: (d,) masks of the bits that are looked at.
        bits: (d,) what these are expected to be.
    """
    other = (_bits_of_copies(noise, x, STREAM.at(1)) & constant) != bits
    return probability_bounds(other.any(dim=1).numpy())


def _bits_of_copies(noise: Noise, x: Tensor, stream: Stream) -> Tensor:
    """Return (n, d) the bits of all numbers in copies of `x`.

    Marks of what is seen are among them, which can tell as much.
    """
    copy_shape = noise.shape(x.shape)
    n = min(COPIES_AT_ONCE, NUMBERS // math.prod(copy_shape))
    copies = torch.empty(n, *copy_shape)
    noise.draw(copies, x, stream)
    return bits_of(copies.flatten(1))


def bits_of(numbers: Tensor) -> Tensor:
    """Return float32 `numbers` as int32: -0.0 differs from 0.0, and a NaN from another."""
    return numbers.contiguous().view(torch.int32)


def _constant_bits(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Return the bits that are the same in all rows of `numbers` (n, d) int32.

    Returns:
        constant: (d,) masks of these bits.
        bits: (d,) what they are; 0 elsewhere.
    """
    first = numbers[0]
    changing = torch.zeros_like(first)
    for place in range(BITS_OF_FLOAT32):
        # As int32, the highest bit alone is the most negative number.
        is_sign = place == BITS_OF_FLOAT32 - 1
        bit = torch.tensor(-(2**place) if is_sign else 2**place, dtype=torch.int32)
        changes = ((numbers ^ first) & bit).ne(0).any(dim=0)
        changing = torch.where(changes, changing | bit, changing)
    return ~changing, first & ~changing
