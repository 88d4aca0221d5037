"""DenseNet-40 with bottlenecks for 32x32 images (Huang et al. 2017), as consistency regularisation uses it.

Parameter names are those of jh-jeong/smoothing-consistency: 12 channels a layer, 6 layers in each of three blocks, and
transitions that pool without a convolution.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn

from randsmooth.models.architectures.residual import he_normal
from randsmooth.models.registry import Architecture

GROWTH = 12  # channels that each layer adds
LAYERS = 6  # of a block


def _convolution(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    """Batch norm, ReLU, convolution."""
    layers: list[tuple[str, nn.Module]] = [
        ("norm", nn.BatchNorm2d(inputs)),
        ("relu", nn.ReLU(inplace=True)),
        ("conv", nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)),
    ]
    return nn.Sequential(OrderedDict(layers))


class DenseLayer(nn.Module):
    """(B, inputs, H, W) -> (B, inputs + GROWTH, H, W): new channels after those that came in."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.brc_1 = _convolution(inputs, 4 * GROWTH, 1)
        self.brc_2 = _convolution(4 * GROWTH, GROWTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.brc_2(self.brc_1(x))], 1)


def _block(inputs: int) -> nn.Sequential:
    return nn.Sequential(OrderedDict((f"layer{i + 1}", DenseLayer(inputs + i * GROWTH)) for i in range(LAYERS)))


class DenseNet40(nn.Module):
    """A 3x3 stem with 24 channels and three dense blocks with 2x2 average pools between them."""

    def __init__(self, *, in_channels: int, num_classes: int) -> None:
        super().__init__()
        channels = 2 * GROWTH
        layers: list[tuple[str, nn.Module]] = [("conv0", nn.Conv2d(in_channels, channels, 3, padding=1, bias=False))]
        for block in (1, 2, 3):
            layers.append((f"block{block}", _block(channels)))
            channels += LAYERS * GROWTH
            if block < 3:
                layers.append((f"trans{block}", nn.AvgPool2d(2)))
        layers += [("norm_last", nn.BatchNorm2d(channels)), ("relu_last", nn.ReLU(inplace=True))]
        self.features = nn.Sequential(OrderedDict([*layers, ("pool_last", nn.AdaptiveAvgPool2d(1))]))
        self.classifier = nn.Linear(channels, num_classes)
        he_normal(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).flatten(1))  # type: ignore[no-any-return]


def densenet40(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """The network for square images of any side from 4 pixels."""
    return DenseNet40(in_channels=in_channels, num_classes=num_classes)


DENSENET40 = Architecture(densenet40, min_size=4)
