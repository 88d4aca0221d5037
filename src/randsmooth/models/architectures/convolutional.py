"""Convolutional networks without residual blocks: LeNet, a small one for digits, and DenseNet-40."""

from collections import OrderedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.models.architectures.residual import he_normal
from randsmooth.models.registry import Architecture

GROWTH = 12  # channels that each layer of a DenseNet adds
LAYERS = 6  # of a dense block


def lenet(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """As MACER and CAT-RS use it on MNIST: convolutions 20@5x5 and 50@5x5, each pooled, then 500 hidden units."""
    pooled = ((image_size - 4) // 2 - 4) // 2  # an unpadded 5x5 convolution takes 4 pixels, a pool halves
    return nn.Sequential(
        nn.Conv2d(in_channels, 20, 5),
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


class DenseLayer(nn.Module):
    """(B, inputs, H, W) -> (B, inputs + GROWTH, H, W): new channels after those that came in."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.brc_1 = _norm_relu_conv(inputs, 4 * GROWTH, 1)
        self.brc_2 = _norm_relu_conv(4 * GROWTH, GROWTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.brc_2(self.brc_1(x))], 1)


def densenet40(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """DenseNet-40 with bottlenecks for 32x32 images (Huang et al. 2017), as jh-jeong/smoothing-consistency names it.

    A 3x3 stem with 24 channels and three blocks of 6 layers with 2x2 average pools, without a convolution, between.
    """
    channels = 2 * GROWTH
    layers = OrderedDict[str, nn.Module](conv0=nn.Conv2d(in_channels, channels, 3, padding=1, bias=False))
    for block in (1, 2, 3):
        dense = ((f"layer{i + 1}", DenseLayer(channels + i * GROWTH)) for i in range(LAYERS))
        layers[f"block{block}"] = nn.Sequential(OrderedDict(dense))
        channels += LAYERS * GROWTH
        if block < 3:
            layers[f"trans{block}"] = nn.AvgPool2d(2)
    layers |= {"norm_last": nn.BatchNorm2d(channels), "relu_last": nn.ReLU(inplace=True)}
    features = nn.Sequential(OrderedDict(layers, pool_last=nn.AdaptiveAvgPool2d(1), flatten=nn.Flatten(1)))
    return he_normal(nn.Sequential(OrderedDict(features=features, classifier=nn.Linear(channels, num_classes))))


def _norm_relu_conv(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(OrderedDict(norm=nn.BatchNorm2d(inputs), relu=nn.ReLU(inplace=True), conv=conv))


class MaxPool2x2(nn.Module):
    """nn.MaxPool2d(2): the same values, which a CPU computes several times as fast where no gradient is asked for."""

    def forward(self, x: Tensor) -> Tensor:
        recorded = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
        if x.device.type != "cpu" or (torch.is_grad_enabled() and x.requires_grad) or recorded:
            return F.max_pool2d(x, 2)  # which compilers know best
        for dim in (3, 2):  # the larger of every two columns, then of every two rows
            pairs = x.narrow(dim, 0, x.shape[dim] // 2 * 2).unflatten(dim, (-1, 2))  # an odd last one is in no window
            x = torch.maximum(*pairs.unbind(dim + 1))
        return x


LENET = Architecture(lenet, min_size=16)
SMALL_CNN = Architecture(small_cnn, min_size=2)
DENSENET40 = Architecture(densenet40, min_size=4)
