"""LeNet as the MNIST tables of MACER and CAT-RS use it."""

from __future__ import annotations

from torch import nn

from randsmooth.models.architectures.pool import MaxPool2x2
from randsmooth.models.architectures.stem import Stem
from randsmooth.models.registry import Architecture


def lenet(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """Convolutions 20@5x5 and 50@5x5, each pooled, then 500 hidden units; 431,080 parameters for MNIST."""
    pooled = ((image_size - 4) // 2 - 4) // 2  # an unpadded 5x5 convolution takes 4 pixels, a pool halves
    return nn.Sequential(
        Stem(in_channels, 20, 5),
        MaxPool2x2(),
        nn.ReLU(),  # after the pool, which it commutes with: a quarter of the work
        nn.Conv2d(20, 50, 5),
        MaxPool2x2(),
        nn.ReLU(),
        nn.Flatten(1),
        nn.Linear(50 * pooled * pooled, 500),
        nn.ReLU(),
        nn.Linear(500, num_classes),
    )


LENET = Architecture(lenet, min_size=16)
