"""Residual networks: the CIFAR ResNets, ResNet-50 for ImageNet and the wide ResNets.

Parameter names are those of the networks that others released: locuslab/smoothing for
CIFAR (He et al. 2016), torchvision for ImageNet, xternalz/WideResNet-pytorch for the wide
ones (denoised smoothing's `cifar_wrn`, rs4a's 40-2).
"""

from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from randsmooth.errors import BadValue
from randsmooth.models.architectures.architecture import Architecture

# The most blocks of a stage, as in the deepest network of He et al., resnet1202.
MOST_BLOCKS = 200


class Block(nn.Module):
    """A residual block of convolutions.

    It maps (B, inputs, H, W) to (B, width * expansion, H / stride, W / stride). Each
    convolution is followed by batch norm and, but for the last, ReLU. The first 3x3
    convolution has the stride. The last ReLU follows the sum with the shortcut.

    Attributes:
        expansion: the channels of the outputs, as a multiple of `width`.
        kernels: the sides of the convolutions.
    """

    expansion: ClassVar[int]
    kernels: ClassVar[tuple[int, ...]]

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.downsample = shortcut(inputs, outputs, stride)
        self.relu = nn.ReLU(inplace=True)
        channels = [inputs, *[width] * (len(self.kernels) - 1), outputs]
        with_stride = self.kernels.index(3)
        for place, kernel in enumerate(self.kernels):
            conv = nn.Conv2d(
                channels[place],
                channels[place + 1],
                kernel,
                stride=stride if place == with_stride else 1,
                padding=kernel // 2,
                bias=False,
            )
            self.add_module(f"conv{place + 1}", conv)
            self.add_module(f"bn{place + 1}", nn.BatchNorm2d(channels[place + 1]))

    def forward(self, x: Tensor) -> Tensor:
        hidden = x
        last = len(self.kernels)
        for place in range(1, last + 1):
            conv = self.get_submodule(f"conv{place}")
            norm = self.get_submodule(f"bn{place}")
            hidden = norm(conv(hidden))
            if place < last:
                hidden = self.relu(hidden)
        # Added in place, which saves the memory of another tensor.
        hidden.add_(self.downsample(x))
        return self.relu(hidden)  # type: ignore[no-any-return]


class BasicBlock(Block):
    """Two 3x3 convolutions."""

    expansion = 1
    kernels = (3, 3)


class Bottleneck(Block):
    """1x1, 3x3, 1x1 convolutions; the 3x3 one has the stride (torchvision's "v1.5")."""

    expansion = 4
    kernels = (1, 3, 1)


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
    """Return a residual network of several stages of blocks.

    Each stage after the first has twice the channels and half the side.

    Args:
        block: the kind of block.
        depths: how many blocks each stage has: n, n, n for CIFAR's depth 6n + 2;
            3, 4, 6, 3 for ResNet-50.
        width: channels of the first stage.
        stem: the side of the first kernel: 3, or 7 with a stride of 2 and a pool, which
            divide sides by 4.
        in_channels: channels of the images.
        image_size: not used: every architecture is given one, but the logits are taken of a
            mean over each channel, whatever its sides are.
        num_classes: how many logits there are.
    """
    is_large = stem == 7
    pool = nn.MaxPool2d(3, stride=2, padding=1) if is_large else nn.Identity()
    layers = OrderedDict[str, nn.Module](
        conv1=nn.Conv2d(
            in_channels,
            width,
            stem,
            stride=2 if is_large else 1,
            padding=stem // 2,
            bias=False,
        ),
        bn1=nn.BatchNorm2d(width),
        relu=nn.ReLU(inplace=True),
        maxpool=pool,
    )
    inputs = width
    for place, depth in enumerate(depths):
        stage_width = width * 2**place
        stride = 1 if place == 0 else 2
        layers[f"layer{place + 1}"] = stage(block, inputs, stage_width, depth, stride)
        inputs = stage_width * block.expansion
    return classifying(layers, inputs, num_classes)


class PreActivationBlock(nn.Module):
    """Batch norm, ReLU, 3x3 convolution, twice.

    It maps (B, inputs, H, W) to (B, outputs, H / stride, W / stride). Where the number
    of channels changes, the shortcut begins after the first ReLU.
    """

    # `stage` asks blocks of both kinds for it.
    expansion: ClassVar[int] = 1

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        # Its name, too, is that in the released weights.
        self.convShortcut: nn.Conv2d | None = None
        if inputs != outputs:
            self.convShortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        activated = self.relu(self.bn1(x))
        shortcut = x if self.convShortcut is None else self.convShortcut(activated)
        hidden = self.relu(self.bn2(self.conv1(activated)))
        # Added in place, which saves the memory of another tensor.
        return self.conv2(hidden).add_(shortcut)  # type: ignore[no-any-return]


def wide_residual(
    n: int, k: int, *, in_channels: int, image_size: int, num_classes: int
) -> nn.Module:
    """Return three groups of n blocks with 16 k, 32 k and 64 k channels: depth 6n + 4.

    Source: Zagoruyko & Komodakis 2016.
    """
    channels = (16, 16 * k, 32 * k, 64 * k)
    layers = OrderedDict[str, nn.Module](
        conv1=nn.Conv2d(in_channels, channels[0], 3, padding=1, bias=False)
    )
    for group in (1, 2, 3):
        inputs = channels[group - 1]
        stride = 1 if group == 1 else 2
        blocks = stage(PreActivationBlock, inputs, channels[group], n, stride)
        # Released weights have the part "layer" in their names: block1.layer.0.conv1.
        layers[f"block{group}"] = nn.Sequential(OrderedDict(layer=blocks))
    layers["bn1"] = nn.BatchNorm2d(channels[-1])
    layers["relu"] = nn.ReLU(inplace=True)
    return classifying(layers, channels[-1], num_classes)


def classifying(
    layers: OrderedDict[str, nn.Module], channels: int, num_classes: int
) -> nn.Module:
    """Return a network of `layers`, a mean over each channel, and logits of the means.

    Args:
        channels: how many the last layer has.
    """
    layers["avgpool"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten(1)
    layers["fc"] = nn.Linear(channels, num_classes)
    return he_normal(nn.Sequential(layers))


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Return the identity, or a 1x1 convolution and batch norm where the shape changes.

    Source: He et al. 2016, option B.
    """
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
    """Return `depth` blocks of one width; the first one changes the shape."""
    blocks = [block(inputs, width, stride)]
    outputs = width * block.expansion
    for _ in range(depth - 1):
        blocks.append(block(outputs, width, 1))
    return nn.Sequential(*blocks)


def he_normal(network: nn.Module) -> nn.Module:
    """Return `network`, with convolutions ~ N(0, 2 / fan_out).

    fan_out = k * k * output channels (He et al. 2015).
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network


def resnet(depth: int) -> Architecture:
    """Return the CIFAR ResNet of `depth` layers.

    Raises:
        BadValue: depth is not 6n + 2 with n >= 1.
    """
    n, rest = divmod(depth - 2, 6)
    if not 1 <= n <= MOST_BLOCKS or rest != 0:
        raise BadValue(
            f"resnet{depth}: CIFAR ResNets have depth 6n + 2, such as resnet20, "
            "resnet56 or resnet110"
        )
    # Two halvings leave 2x2 pixels.
    builder = partial(residual, block=BasicBlock, depths=(n, n, n), width=16, stem=3)
    return Architecture(builder, min_size=8)


def wide_resnet(depth: int, k: int) -> Architecture:
    """Return the wide ResNet of `depth` layers and width `k`.

    Raises:
        BadValue: depth is not 6n + 4 with n >= 1, or k is 0.
    """
    n, rest = divmod(depth - 4, 6)
    if not 1 <= n <= MOST_BLOCKS or rest != 0 or k < 1:
        raise BadValue(
            f"wrn{depth}-{k}: wide ResNets have depth 6n + 4 and a width of 1 or more, "
            "such as wrn28-10"
        )
    # Two halvings leave 2x2 pixels.
    return Architecture(partial(wide_residual, n=n, k=k), min_size=8)


RESNET8 = resnet(8)
RESNET20 = resnet(20)
RESNET32 = resnet(32)
RESNET44 = resnet(44)
RESNET56 = resnet(56)
RESNET110 = resnet(110)
CIFAR_RESNET50 = resnet(50)
RESNET50 = Architecture(
    partial(residual, block=Bottleneck, depths=(3, 4, 6, 3), width=64, stem=7),
    # The stem divides the sides by 4, and each of the last three stages by 2.
    min_size=32,
)
WRN28_10 = wide_resnet(28, 10)
WRN40_2 = wide_resnet(40, 2)
