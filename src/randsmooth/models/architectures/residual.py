"""Residual networks: the CIFAR ResNets (He et al. 2016), ResNet-50 for ImageNet and the wide ResNets.

Parameter names are those of the networks that others released: locuslab/smoothing for CIFAR, torchvision for ImageNet,
xternalz/WideResNet-pytorch for the wide ones (denoised smoothing's `cifar_wrn`, rs4a's 40-2).
"""

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from randsmooth.errors import BadValue
from randsmooth.models.architectures.architecture import Architecture

MOST_BLOCKS = 200  # of a stage, as in the deepest network of He et al., resnet1202


class Block(nn.Module):
    """A residual block, (B, inputs, H, W) -> (B, width * expansion, H / stride, W / stride).

    Each convolution is followed by batch norm and, but for the last, ReLU. The first 3x3 one has the stride.
    """

    expansion: ClassVar[int]
    kernels: ClassVar[tuple[int, ...]]

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.downsample = shortcut(inputs, outputs, stride)
        self.relu = nn.ReLU(inplace=True)
        sizes = [inputs, *[width] * (len(self.kernels) - 1), outputs]
        for place, kernel in enumerate(self.kernels):
            steps, padding = (
                stride if place == self.kernels.index(3) else 1,
                kernel // 2,
            )
            conv = nn.Conv2d(
                sizes[place], sizes[place + 1], kernel, steps, padding, bias=False
            )
            self.add_module(f"conv{place + 1}", conv)
            self.add_module(f"bn{place + 1}", nn.BatchNorm2d(sizes[place + 1]))

    def forward(self, x: Tensor) -> Tensor:
        hidden, last = x, len(self.kernels)
        for place in range(1, last + 1):
            hidden = self.get_submodule(f"bn{place}")(
                self.get_submodule(f"conv{place}")(hidden)
            )
            hidden = hidden if place == last else self.relu(hidden)
        return self.relu(hidden.add_(self.downsample(x)))  # type: ignore[no-any-return]


class BasicBlock(Block):
    """Two 3x3 convolutions."""

    expansion, kernels = 1, (3, 3)


class Bottleneck(Block):
    """1x1, 3x3, 1x1 convolutions; the 3x3 one has the stride ("v1.5", as torchvision)."""

    expansion, kernels = 4, (1, 3, 1)


def residual(
    block: type[Block],
    depths: Sequence[int],
    width: int,
    stem: int,
    *,
    in_channels: int,
    image_size: int,
    num_classes: int,
) -> nn.Module:
    """Stages of blocks, each after the first with twice the channels and half the side.

    Args:
        block: of the stages.
        depths: how many blocks each stage has: n, n, n for CIFAR's depth 6n + 2; 3, 4, 6, 3 for ResNet-50.
        width: channels of the first stage.
        stem: the side of the first kernel: 3, or 7 with a stride of 2 and a pool, which divide sides by 4.
    """
    layers = OrderedDict[str, nn.Module](
        conv1=nn.Conv2d(
            in_channels,
            width,
            stem,
            stride=2 if stem == 7 else 1,
            padding=stem // 2,
            bias=False,
        ),
        bn1=nn.BatchNorm2d(width),
        relu=nn.ReLU(inplace=True),
        maxpool=nn.MaxPool2d(3, stride=2, padding=1) if stem == 7 else nn.Identity(),
    )
    inputs = width
    for place, depth in enumerate(depths):
        layers[f"layer{place + 1}"] = stage(
            block, inputs, width * 2**place, depth, stride=2 if place else 1
        )
        inputs = width * 2**place * block.expansion
    return classifying(layers, inputs, num_classes)


class PreActivationBlock(nn.Module):
    """Batch norm, ReLU, 3x3 convolution, twice: (B, inputs, H, W) -> (B, outputs, H / stride, W / stride).

    Where the number of channels changes, the shortcut begins after the first ReLU.
    """

    expansion: ClassVar[int] = 1

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.convShortcut = (
            None
            if inputs == outputs
            else nn.Conv2d(inputs, outputs, 1, stride, bias=False)
        )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        activated = self.relu(self.bn1(x))
        shortcut = x if self.convShortcut is None else self.convShortcut(activated)
        hidden = self.relu(self.bn2(self.conv1(activated)))
        return self.conv2(hidden).add_(shortcut)  # type: ignore[no-any-return]


def wide_residual(
    n: int, k: int, *, in_channels: int, image_size: int, num_classes: int
) -> nn.Module:
    """Three groups of n blocks with 16 k, 32 k and 64 k channels: depth 6n + 4 (Zagoruyko & Komodakis 2016)."""
    layers = OrderedDict[str, nn.Module](
        conv1=nn.Conv2d(in_channels, 16, 3, padding=1, bias=False)
    )
    for group, (inputs, outputs) in enumerate(
        ((16, 16 * k), (16 * k, 32 * k), (32 * k, 64 * k))
    ):
        blocks = stage(PreActivationBlock, inputs, outputs, n, stride=2 if group else 1)
        layers[f"block{group + 1}"] = nn.Sequential(OrderedDict(layer=blocks))
    layers |= {"bn1": nn.BatchNorm2d(64 * k), "relu": nn.ReLU(inplace=True)}
    return classifying(layers, 64 * k, num_classes)


def classifying(
    layers: OrderedDict[str, nn.Module], channels: int, num_classes: int
) -> nn.Module:
    """`layers`, and logits of the mean of each of their `channels`."""
    end = {
        "avgpool": nn.AdaptiveAvgPool2d(1),
        "flatten": nn.Flatten(1),
        "fc": nn.Linear(channels, num_classes),
    }
    return he_normal(nn.Sequential(OrderedDict(layers | end)))


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    """The identity, or a 1x1 convolution and batch norm where the shape changes (He et al. 2016, B)."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
    )


def stage(
    block: type[Block | PreActivationBlock],
    inputs: int,
    width: int,
    depth: int,
    stride: int,
) -> nn.Sequential:
    """`depth` blocks of one width; the first one changes the shape."""
    outputs = width * block.expansion
    return nn.Sequential(
        block(inputs, width, stride),
        *(block(outputs, width, 1) for _ in range(depth - 1)),
    )


def he_normal(network: nn.Module) -> nn.Module:
    """`network`, with convolutions ~ N(0, 2 / fan_out), fan_out = k * k * output channels (He et al. 2015)."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network


def resnet(depth: int) -> Architecture:
    """The CIFAR ResNet of `depth` layers. Raises Problem unless depth = 6n + 2 with n >= 1."""
    n, rest = divmod(depth - 2, 6)
    if not 1 <= n <= MOST_BLOCKS or rest:
        raise BadValue(
            f"resnet{depth}: CIFAR ResNets have depth 6n + 2, such as resnet20, resnet56 or resnet110"
        )
    return Architecture(
        partial(residual, BasicBlock, (n, n, n), 16, 3), min_size=8
    )  # two halvings leave 2x2 pixels


def wide_resnet(depth: int, k: int) -> Architecture:
    """The network of `depth` layers and width `k`. Raises Problem unless depth = 6n + 4 with n >= 1, and k >= 1."""
    n, rest = divmod(depth - 4, 6)
    if not 1 <= n <= MOST_BLOCKS or rest or k < 1:
        raise BadValue(
            f"wrn{depth}-{k}: wide ResNets have depth 6n + 4 and a width of 1 or more, such as wrn28-10"
        )
    return Architecture(partial(wide_residual, n, k), min_size=8)


RESNET8, RESNET20, RESNET32, RESNET44, RESNET56, RESNET110 = map(
    resnet, (8, 20, 32, 44, 56, 110)
)
CIFAR_RESNET50 = resnet(50)
RESNET50 = Architecture(partial(residual, Bottleneck, (3, 4, 6, 3), 64, 7), min_size=32)
WRN28_10, WRN40_2 = wide_resnet(28, 10), wide_resnet(40, 2)
