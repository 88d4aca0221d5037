"""Noise that is much finer than the copies it makes, so that copies tell no more of an input than their law allows.

In float32, uniform numbers are multiples of 2^-24. x + noise then lies on a grid through x, and a classifier that reads
the grid tells x from any other input, however near. Here noise is drawn and added in float64, and the sum is rounded to
a grid that does not depend on x: as if the classifier rounded its input first, which the proofs allow any classifier to
do. A step of that grid holds at least 2^29 values of the noise. So the probability of a copy differs from that of
rounded real numbers by less than one part in 10^8, in each coordinate.
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

STEPS = 20  # bits: how many steps of the grid, at least, the width of a noise has
TOGETHER = (
    2**17,
    2**24,
)  # numbers that are drawn at a time on a CPU, about as many as its caches hold; on a GPU


def in_parts(out: Tensor, stream: Stream, law: str) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows of `out` (n, ...), some at a time, and as many float64 numbers of `stream` that have one of LAWS.

    On the CPU the first rows get the same numbers however many follow.
    """
    import torch

    each = math.prod(out.shape[1:])
    together = TOGETHER[out.device.type != "cpu"]
    fill = filled_by(stream, law, out.device)
    for rows in out.split(max(1, together // each)):
        numbers = torch.empty(rows.shape, dtype=torch.float64, device=out.device)
        fill(numbers)
        yield rows, numbers


def add_and_round(rows: Tensor, noise: Tensor, x: Tensor, width: float) -> None:
    """Set `rows` (n, ...), float32, to x (...) + noise (n, ...), float64, rounded to a grid for noise of this width.

    `noise` is changed.

    Example:
        >>> import torch
        >>> rows, noise = torch.empty(1, 2), torch.tensor([[0.1, -0.2]], dtype=torch.float64)
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
    """How many steps of the grid make 1 for noise of this width: a power of two, so that no product is rounded.

    Example:
        >>> grid(0.6) == 2**20, grid(2.5) == 2**18
        (True, True)
    """
    return 2.0 ** (STEPS - math.ceil(math.log2(width)))
