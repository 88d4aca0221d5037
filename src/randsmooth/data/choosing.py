"""Which of the inputs of a split are chosen, by their indices."""

import torch
from torch import Tensor

from randsmooth.errors import BadValue


def take(total: int, n: int) -> Tensor:
    """Return `n` indices spread evenly over 0..total-1: floor(i * total / n), i = 0..n-1.

    Returns:
        (n,) int64, ascending.

    Raises:
        BadValue: unless 1 <= n <= total.

    Example:
        >>> take(10, 4).tolist()
        [0, 2, 5, 7]
    """
    if not 1 <= n <= total:
        raise BadValue(
            f"cannot take {n} of {total} inputs",
            field="take",
            value=n,
            fix=f"give a number from 1 to {total}",
        )
    return torch.arange(n) * total // n


def sample(total: int, most: int) -> list[int]:
    """Return the indices of `most` inputs of `total`, spread evenly, or of all if fewer.

    Example:
        >>> sample(10, 4), sample(3, 4)
        ([0, 2, 5, 7], [0, 1, 2])
    """
    indices: list[int] = take(total, min(most, total)).tolist()
    return indices


def skip(total: int, every: int) -> Tensor:
    """Return the indices 0, every, 2 * every, ... below `total`, int64.

    The literature certifies every 20th image of CIFAR-10.

    Raises:
        BadValue: unless every >= 1.

    Example:
        >>> skip(10, 4).tolist()
        [0, 4, 8]
    """
    if every < 1:
        raise BadValue(
            f"cannot keep every {every}-th input",
            field="skip",
            value=every,
            fix="give a step of 1 or more",
        )
    return torch.arange(0, total, every)
