"""What an architecture is, as the entry point of a package names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Architecture:
    """An architecture, as the entry point of a package names it.

    Attributes:
        builder: called with in_channels, image_size and num_classes, it makes a freshly
            initialised network (B, in_channels, image_size, image_size) -> logits
            (B, num_classes); under `torch.device("meta")`, too.
        min_size: the smallest image side, in pixels, that it accepts.

    Example:
        >>> from torch import nn
        >>> def linear(*, in_channels, image_size, num_classes):
        ...     pixels = in_channels * image_size**2
        ...     return nn.Sequential(nn.Flatten(), nn.Linear(pixels, num_classes))
        >>> network = Architecture(linear, min_size=1).builder(
        ...     in_channels=3, image_size=4, num_classes=10
        ... )
        >>> network[1]
        Linear(in_features=48, out_features=10, bias=True)
    """

    builder: Callable[..., nn.Module]
    min_size: int
