"""A network of two linear layers."""

from torch import nn

from randsmooth.models import Architecture


def two_layers(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """64 hidden units on all pixels."""
    pixels = in_channels * image_size**2
    return nn.Sequential(
        nn.Flatten(), nn.Linear(pixels, 64), nn.ReLU(), nn.Linear(64, num_classes)
    )


TWO_LAYERS = Architecture(two_layers, min_size=1)
