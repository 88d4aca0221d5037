"""Convolutional networks without residual blocks: LeNet, one for digits, and DenseNet-40.

Stem and MaxPool2x2 are layers with torch's values and gradients that CPUs compute faster
than torch's own.
"""

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from randsmooth.models.architectures.architecture import Architecture
from randsmooth.models.architectures.residual import he_normal

# How many channels each layer of DenseNet-40 adds.
GROWTH = 12
# How many layers each of its blocks has.
LAYERS_OF_A_BLOCK = 6


def lenet(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """Return LeNet as MACER and CAT-RS use it on MNIST.

    It has two convolutions, 20@5x5 and 50@5x5, each with a pool, and 500 hidden units.
    """
    # An unpadded 5x5 convolution takes 4 pixels, a pool halves.
    pooled_once = (image_size - 4) // 2
    pooled = (pooled_once - 4) // 2
    return nn.Sequential(
        Stem(in_channels, 20, 5),
        # Each pool stands before the ReLU, which it commutes with: a quarter of the work.
        MaxPool2x2(),
        nn.ReLU(),
        nn.Conv2d(20, 50, 5),
        MaxPool2x2(),
        nn.ReLU(),
        nn.Flatten(1),
        nn.Linear(50 * pooled * pooled, 500),
        nn.ReLU(),
        nn.Linear(500, num_classes),
    )


def small_cnn(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """Return a network of two 3x3 convolutions, a pool between, and a linear layer.

    It has 29,066 parameters for 1x8x8 images and 10 classes.
    """
    pooled = image_size // 2
    return nn.Sequential(
        nn.Conv2d(in_channels, 32, 3, padding=1),
        # The ReLU and the second convolution have a quarter of the places after it.
        MaxPool2x2(),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(1),
        nn.Linear(64 * pooled * pooled, num_classes),
    )


class DenseLayer(nn.Module):
    """Two convolutions, whose channels are put after those that came in.

    It maps (B, inputs, H, W) to (B, inputs + GROWTH, H, W).
    """

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.brc_1 = _norm_relu_conv(inputs, 4 * GROWTH, 1)
        self.brc_2 = _norm_relu_conv(4 * GROWTH, GROWTH, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.brc_2(self.brc_1(x))], 1)


def densenet40(*, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """Return DenseNet-40 with bottlenecks for 32x32 images (Huang et al. 2017).

    It has a 3x3 stem with 24 channels, and three blocks of 6 layers. Between two blocks
    there is a 2x2 average pool. As in jh-jeong/smoothing-consistency, no convolution
    compresses the channels before the pool. Layers have the names that they have in that
    repository, so that its weights can be loaded.
    """
    channels = 2 * GROWTH
    layers = OrderedDict[str, nn.Module](
        conv0=nn.Conv2d(in_channels, channels, 3, padding=1, bias=False)
    )
    for block in (1, 2, 3):
        dense = OrderedDict[str, nn.Module]()
        for layer in range(1, LAYERS_OF_A_BLOCK + 1):
            dense[f"layer{layer}"] = DenseLayer(channels)
            channels += GROWTH
        layers[f"block{block}"] = nn.Sequential(dense)
        # The last block is followed by the mean over each channel.
        if block < 3:
            layers[f"trans{block}"] = nn.AvgPool2d(2)
    layers["norm_last"] = nn.BatchNorm2d(channels)
    layers["relu_last"] = nn.ReLU(inplace=True)
    layers["pool_last"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten(1)
    network = OrderedDict[str, nn.Module](
        features=nn.Sequential(layers), classifier=nn.Linear(channels, num_classes)
    )
    return he_normal(nn.Sequential(network))


def _norm_relu_conv(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    """Return batch norm, ReLU and a convolution that keeps the sides."""
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(
        OrderedDict(norm=nn.BatchNorm2d(inputs), relu=nn.ReLU(inplace=True), conv=conv)
    )


class Stem(nn.Conv2d):
    """nn.Conv2d without stride or padding, for the first layer.

    Its values are the same, and gradients equal up to rounding. For inputs of one or three
    channels, torch's gradient by the input, which attacks need at every step, leaves most
    of a CPU's vector units idle: in LeNet it takes as long as the rest of the backward
    pass. It is one matrix product and a sum of overlapping windows here, which take a fifth
    of that time.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__(inputs, outputs, kernel)

    def forward(self, x: Tensor) -> Tensor:
        # Only an attack needs the gradient by the input of the first layer.
        attacked = x.requires_grad and torch.is_grad_enabled()
        if x.device.type != "cpu" or not attacked or torch.compiler.is_compiling():
            return super().forward(x)
        # `_Convolution` has no autocast of its own: the type is changed here, so that the
        # gradient is computed in it too.
        dtype = x.dtype
        if torch.is_autocast_enabled("cpu"):
            dtype = torch.get_autocast_dtype("cpu")
        weight = self.weight.to(dtype)
        bias = None if self.bias is None else self.bias.to(dtype)
        return _Convolution.apply(x.to(dtype), weight, bias)  # type: ignore[no-any-return, no-untyped-call]


class _Convolution(torch.autograd.Function):
    """A convolution without stride or padding, with a gradient by the input of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return F.conv2d(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        # Whether the gradient by x is needed, and those by the weight and the bias.
        needs_x, *needs_others = ctx.needs_input_grad
        by_x: Tensor | None = None
        by_weight: Tensor | None = None
        by_bias: Tensor | None = None
        if needs_x:
            by_x = _by_input(grad, weight, x.shape[2:])
        if any(needs_others):
            _, by_weight, by_bias = torch.ops.aten.convolution_backward(
                grad,
                x,
                weight,
                bias_sizes=[len(weight)],
                stride=[1, 1],
                padding=[0, 0],
                dilation=[1, 1],
                transposed=False,
                output_padding=[0, 0],
                groups=1,
                output_mask=[False, *needs_others],
            )
        return by_x, by_weight, by_bias


def _by_input(grad: Tensor, weight: Tensor, sides: torch.Size) -> Tensor:
    """Return the gradient (N, C, H, W) by the input: what each place adds to its window.

    Args:
        grad: (N, O, H', W') by the output.
        weight: (O, C, k, k) of the convolution.
        sides: H and W.
    """
    windows = weight.flatten(1).t() @ grad.flatten(2)  # (N, C k k, H' W')
    # A sum of many windows in bfloat16 would lose digits.
    exact = windows.to(torch.promote_types(grad.dtype, torch.float32))
    summed = F.fold(exact, (sides[0], sides[1]), weight.shape[2:])  # (N, C, H, W)
    return summed.to(grad.dtype)


def is_traced() -> bool:
    """Return whether torch records what is computed, as for an ONNX file."""
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]


class MaxPool2x2(nn.Module):
    """nn.MaxPool2d(2) with the same values and gradients, faster on a CPU.

    Its values are faster than torch's in floats of 16, 32 and 64 bits. Its gradient is
    for 16-bit numbers alone: where others need one, torch's pool computes both.
    """

    def forward(self, x: Tensor) -> Tensor:
        # Compilers and writers of graph files know torch's own pool better than this.
        is_recorded = torch.compiler.is_compiling() or is_traced()
        # The gradient of `_Pool` works on the bits of 16-bit numbers, and on no others. Its
        # forward pass takes all types.
        has_16_bits = x.element_size() == 2
        needs_gradient = torch.is_grad_enabled() and x.requires_grad
        lacks_gradient = needs_gradient and not has_16_bits
        if x.device.type != "cpu" or is_recorded or lacks_gradient:
            return F.max_pool2d(x, 2)
        # An odd last row or column is in no window.
        height = x.shape[2] // 2 * 2
        width = x.shape[3] // 2 * 2
        return _Pool.apply(x[:, :, :height, :width])  # type: ignore[no-any-return, no-untyped-call]


class _Pool(torch.autograd.Function):
    """A pool of 2x2 places: the larger of every two columns, then of every two rows.

    It works in whole vectors of the CPU, and stores no indices.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        columns = torch.maximum(*_pairs(x, dim=3))
        out = torch.maximum(*_pairs(columns, dim=2))
        ctx.save_for_backward(x, columns, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, columns, out = ctx.saved_tensors
        by_columns = _to_larger(grad, columns, out, dim=2)
        return _to_larger(by_columns, x, columns, dim=3)


def _pairs(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return the even and the odd places along `dim`, as views."""
    even, odd = x.unflatten(dim, (-1, 2)).unbind(dim + 1)
    return even, odd


def _to_larger(grad: Tensor, x: Tensor, larger: Tensor, dim: int) -> Tensor:
    """Return `grad` at the larger of each pair of `x` along `dim`, and 0 at the other.

    Where both are equal, the first gets it. This is computed on the bits of 16-bit numbers,
    since comparing and masking bfloat16 takes several times as long.

    Args:
        grad: the gradient by `larger`.
        x: the pairs, in 16-bit numbers.
        larger: the larger one of each pair.
        dim: the axis along which two neighbours make a pair.
    """
    out = torch.empty_like(x)
    first, second = (half.view(torch.int16) for half in _pairs(out, dim))
    first_of_x, _ = _pairs(x, dim)
    bits = grad.view(torch.int16)
    # `unlike` is 0 where the first is the larger. Of any other number, it or its negative
    # has the sign bit, which the shift spreads over all 16: the mask is all ones there.
    unlike = larger.view(torch.int16) ^ first_of_x.view(torch.int16)
    mask = unlike.neg().bitwise_or_(unlike).bitwise_right_shift_(15)
    torch.bitwise_and(bits, mask, out=second)
    # Where the second has the gradient, the first has none.
    torch.bitwise_xor(bits, second, out=first)
    return out


LENET = Architecture(lenet, min_size=16)
SMALL_CNN = Architecture(small_cnn, min_size=2)
DENSENET40 = Architecture(densenet40, min_size=4)
