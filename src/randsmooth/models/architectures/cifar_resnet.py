"""The CIFAR ResNets of depth 6n + 2 (He et al. 2016, section 4.2), with projection shortcuts.

Parameter names are those of the released networks of Cohen et al. (locuslab/smoothing).
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from randsmooth.errors import InputError
from randsmooth.models.architectures.residual import Block, he_normal, stage
from randsmooth.models.registry import Architecture


class BasicBlock(Block):
    """Two 3x3 convolutions."""

    expansion: ClassVar[int] = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__(inputs, width, stride)
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def residual(self, x: Tensor) -> Tensor:
        hidden = self.relu(self.bn1(self.conv1(x)))
        return self.bn2(self.conv2(hidden))  # type: ignore[no-any-return]


class CifarResNet(nn.Module):
    """Three stages of n basic blocks with 16, 32 and 64 channels: depth 6n + 2."""

    def __init__(self, n: int, *, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = stage(BasicBlock, 16, 16, n, stride=1)
        self.layer2 = stage(BasicBlock, 16, 32, n, stride=2)
        self.layer3 = stage(BasicBlock, 32, 64, n, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(64, num_classes)
        he_normal(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(self.avgpool(x).flatten(1))  # type: ignore[no-any-return]


def of_depth(depth: int) -> Architecture:
    """The CIFAR ResNet of `depth` layers. Raises InputError unless depth = 6n + 2 with n >= 1."""
    n, rest = divmod(depth - 2, 6)
    if n < 1 or rest:
        raise InputError(f"resnet{depth}: CIFAR ResNets have depth 6n + 2; the nearest are {_nearest(depth)}")
    return Architecture(partial(_build, n), min_size=8)  # two halvings leave 2x2 pixels


def _build(n: int, *, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    return CifarResNet(n, in_channels=in_channels, num_classes=num_classes)


def _nearest(depth: int) -> str:
    """The two valid depths around `depth`, by name; 50 is the ImageNet network's, so it is passed over."""
    valid = [6 * n + 2 for n in range(1, depth // 6 + 3) if 6 * n + 2 != 50]
    below = [d for d in valid if d < depth][-1:]
    above = [d for d in valid if d > depth][:1]
    return " and ".join(f"resnet{d}" for d in below + above)


RESNET8, RESNET20, RESNET32, RESNET44, RESNET50, RESNET56, RESNET110 = map(of_depth, (8, 20, 32, 44, 50, 56, 110))
