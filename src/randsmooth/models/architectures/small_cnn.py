"""A small network for 8x8 digits."""

from __future__ import annotations

from torch import nn

from randsmooth.models.architectures.pool import MaxPool2x2
from randsmooth.models.registry import Architecture


def small_cnn(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """Two 3x3 convolutions with a pool between, one linear layer: 29,066 parameters for 1x8x8 images and 10 classes."""
    pooled = image_size // 2
    return nn.Sequential(
        nn.Conv2d(in_channels, 32, 3, padding=1),
        MaxPool2x2(),  # before the second convolution and the ReLU, which cost a quarter then
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(1),
        nn.Linear(64 * pooled * pooled, num_classes),
    )


SMALL_CNN = Architecture(small_cnn, min_size=2)
