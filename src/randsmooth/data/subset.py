"""A choice of images of a split: evenly spread, or every k-th."""

from __future__ import annotations

import torch
from torch import Tensor

from randsmooth.errors import InputError


def take(total: int, n: int) -> Tensor:
    """`n` indices spread evenly over 0..total-1: floor(i * total / n), (n,) int64.

    Raises:
        InputError: unless 1 <= n <= total.

    Example:
        >>> take(10, 4).tolist()
        [0, 2, 5, 7]
    """
    if not 1 <= n <= total:
        raise InputError(f"cannot take {n} of {total} images: give a number from 1 to {total}")
    return torch.arange(n) * total // n


def skip(total: int, every: int) -> Tensor:
    """The indices 0, every, 2 * every, ... below `total`, int64; the literature certifies every 20th CIFAR-10 image.

    Raises:
        InputError: unless every >= 1.

    Example:
        >>> skip(10, 4).tolist()
        [0, 4, 8]
    """
    if every < 1:
        raise InputError(f"cannot keep every {every}-th image: give a step of 1 or more")
    return torch.arange(0, total, every)
