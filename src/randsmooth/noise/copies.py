"""Noisy copies that are to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from randsmooth.noise.streams import Stream


@dataclass(frozen=True)
class Copies:
    """Noisy copies of one input that are to be drawn.

    Attributes:
        x: the input (*shape).
        stream: the stream that the noise comes from.
        samples: the number of copies.

    Example:
        >>> import torch
        >>> from randsmooth.noise import Gaussian, Stream
        >>> x = torch.zeros(1, 2, 2)
        >>> groups = [Copies(x, Stream(seed, "mine"), 3) for seed in (0, 1)]
        >>> noisy = torch.empty(6, 1, 2, 2)
        >>> Gaussian(0.5).draw_together(noisy, groups)
        >>> torch.equal(noisy[:3], noisy[3:])
        False
    """

    x: Tensor
    stream: Stream
    samples: int
