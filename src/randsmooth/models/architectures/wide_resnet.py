"""Wide ResNets for 32x32 images (Zagoruyko & Komodakis 2016): depth 6n + 4, k times the channels of a CIFAR ResNet.

Parameter names are those of xternalz/WideResNet-pytorch, from which the networks of denoised smoothing (`cifar_wrn`,
28-10) and of rs4a (40-2) come.
"""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from randsmooth.errors import InputError
from randsmooth.models.architectures.residual import he_normal
from randsmooth.models.registry import Architecture


class PreActivationBlock(nn.Module):
    """Batch norm, ReLU, 3x3 convolution, twice: (B, inputs, H, W) -> (B, outputs, H / stride, W / stride).

    Where the number of channels changes, the shortcut begins after the first ReLU.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.convShortcut = None if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        activated = self.relu(self.bn1(x))
        shortcut = x if self.convShortcut is None else self.convShortcut(activated)
        hidden = self.relu(self.bn2(self.conv1(activated)))
        return self.conv2(hidden).add_(shortcut)  # type: ignore[no-any-return]


class Group(nn.Module):
    """n blocks of one width; the first one changes the shape."""

    def __init__(self, n: int, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        rest = (PreActivationBlock(outputs, outputs, 1) for _ in range(n - 1))
        self.layer = nn.Sequential(PreActivationBlock(inputs, outputs, stride), *rest)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)  # type: ignore[no-any-return]


class WideResNet(nn.Module):
    """Three groups of n blocks with 16 k, 32 k and 64 k channels."""

    def __init__(self, n: int, k: int, *, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 16, 3, padding=1, bias=False)
        self.block1 = Group(n, 16, 16 * k, stride=1)
        self.block2 = Group(n, 16 * k, 32 * k, stride=2)
        self.block3 = Group(n, 32 * k, 64 * k, stride=2)
        self.bn1 = nn.BatchNorm2d(64 * k)
        self.relu = nn.ReLU(inplace=True)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(64 * k, num_classes)
        he_normal(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.block3(self.block2(self.block1(self.conv1(x))))
        return self.fc(self.avgpool(self.relu(self.bn1(x))).flatten(1))  # type: ignore[no-any-return]


def of_size(depth: int, k: int) -> Architecture:
    """The network of `depth` layers and width `k`. Raises InputError unless depth = 6n + 4 with n >= 1, and k >= 1."""
    n, rest = divmod(depth - 4, 6)
    if n < 1 or rest or k < 1:
        raise InputError(
            f"wrn{depth}-{k}: wide ResNets have depth 6n + 4, such as 28 or 40, and a width of 1 or more, as wrn28-10"
        )
    return Architecture(partial(_build, n, k), min_size=8)  # two halvings leave 2x2 pixels


def _build(n: int, k: int, *, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    return WideResNet(n, k, in_channels=in_channels, num_classes=num_classes)


WRN28_10, WRN40_2 = of_size(28, 10), of_size(40, 2)
