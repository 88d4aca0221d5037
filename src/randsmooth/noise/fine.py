"""Noise that is much finer than the copies it makes.

So copies tell no more of an input than their law allows. In float32, uniform numbers
are multiples of 2^-24. x + noise then lies on a grid through x, and a classifier that
reads the grid tells x from any other input, however near.

Here noise is drawn and added in float64, and the sum is rounded to a grid that does not
depend on x: as if the classifier rounded its input first, which the proofs allow any
classifier to do. A step of that grid holds at least 2^29 values of the noise. So the
probability of a copy differs from that of rounded real numbers by less than one part in
10^8, in each coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from randsmooth.noise.base import in_place
from randsmooth.noise.streams import Stream, filled_by

if TYPE_CHECKING:
    from torch import Tensor

# The width of a noise has at least two to the power of this many steps of the grid.
GRID_BITS = 20

# Numbers that are drawn at a time, on a CPU and on a GPU: on a CPU about as many as its
# caches hold.
NUMBERS_AT_A_TIME_CPU = 2**17
NUMBERS_AT_A_TIME_GPU = 2**24


def in_parts(out: Tensor, stream: Stream, law: str) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield rows of `out`, some at a time, and float64 numbers of `stream` like them.

    On the CPU the first rows get the same numbers however many follow.

    Args:
        out: (n, ...)
        law: the distribution of the numbers, one of `streams.LAWS`.
    """
    import torch

    numbers_at_a_time = NUMBERS_AT_A_TIME_GPU
    if out.device.type == "cpu":
        numbers_at_a_time = NUMBERS_AT_A_TIME_CPU
    numbers_of_row = math.prod(out.shape[1:])
    fill = filled_by(stream, law, out.device)
    for rows in out.split(max(1, numbers_at_a_time // numbers_of_row)):
        numbers = torch.empty(rows.shape, dtype=torch.float64, device=out.device)
        fill(numbers)
        yield rows, numbers


def add_and_round(rows: Tensor, noise: Tensor, x: Tensor, width: float) -> None:
    """Set `rows` to x + noise, rounded to a grid for noise of this `width`.

    Args:
        rows: (n, ...), float32.
        noise: (n, ...), float64; it is changed.
        x: (...)

    Example:
        >>> import torch
        >>> rows = torch.empty(1, 2)
        >>> noise = torch.tensor([[0.1, -0.2]], dtype=torch.float64)
        >>> add_and_round(rows, noise, torch.tensor([0.5, 0.5]), 0.6)
        >>> steps = rows * grid(0.6)
        >>> torch.equal(steps, steps.round()), rows
        (True, tensor([[0.6000, 0.3000]]))
    """
    noisy: Any = in_place(noise)
    noisy += in_place(x.to(noise.dtype))
    noisy *= grid(width)
    if isinstance(noisy, np.ndarray):
        np.rint(noisy, out=noisy)
    else:
        noisy.round_()
    noisy /= grid(width)
    in_place(rows)[...] = noisy


def grid(width: float) -> float:
    """Return how many steps of the grid make 1 for noise of this width.

    It is a power of two, so that no product is rounded.

    Example:
        >>> grid(0.6) == 2**20, grid(2.5) == 2**18
        (True, True)
    """
    return 2.0 ** (GRID_BITS - math.ceil(math.log2(width)))
