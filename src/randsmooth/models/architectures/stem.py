"""A first convolution with a fast gradient by the image on CPUs, which attacks compute at every step."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

STRETCH = 12  # columns of a row at most that one matrix product takes: half a row of LeNet's


class Stem(nn.Conv2d):
    """nn.Conv2d without stride or padding: the same values, and the same gradients up to rounding.

    For inputs of one or three channels, torch's gradient by the input leaves most of a CPU's vector units idle: in
    LeNet it takes as long as the rest of the backward pass. As matrix products it takes a fifth of that time.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__(inputs, outputs, kernel)

    def forward(self, x: Tensor) -> Tensor:
        attacked = x.requires_grad and torch.is_grad_enabled()
        if x.device.type != "cpu" or not attacked or torch.compiler.is_compiling():
            return super().forward(x)
        dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else x.dtype
        tensors = (x.to(dtype), self.weight.to(dtype), None if self.bias is None else self.bias.to(dtype))
        return _Convolution.apply(*tensors)  # type: ignore[no-any-return, no-untyped-call]


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return F.conv2d(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        by_x, *others = ctx.needs_input_grad
        by_weight = by_bias = None
        if any(others):
            _, by_weight, by_bias = torch.ops.aten.convolution_backward(
                grad, x, weight, [len(weight)], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [False, *others]
            )
        return _by_input(grad, weight) if by_x else None, by_weight, by_bias


def _by_input(grad: Tensor, weight: Tensor) -> Tensor:
    """(N, C, H, W) from grad (N, O, H', W') and weight (O, C, k, k).

    A stretch of a row of `grad` contributes to k rows of the image. These contributions are the product of that stretch
    with one matrix: the weights, shifted by one column for each place in the stretch. Then they are summed. The longer
    the stretch, the more of the matrix is zeros; the shorter, the more there is to sum.
    """
    n, outputs, height, width = grad.shape
    _, channels, k, _ = weight.shape
    stretch = next((columns for columns in range(STRETCH, k - 1, -1) if width % columns == 0), width)
    full = stretch + k - 1
    shifted = weight.new_zeros(stretch, outputs, k, channels, full)
    places = (shifted.stride(0) + 1, *shifted.stride()[1:])  # the columns move with the place
    shifted.as_strided((stretch, outputs, k, channels, k), places).copy_(weight.transpose(1, 2))
    rows = grad.permute(0, 2, 3, 1).reshape(-1, stretch * outputs)
    shares = (rows @ shifted.view(stretch * outputs, -1)).view(n, height, -1, k, channels, full)
    dtype = torch.promote_types(grad.dtype, torch.float32)
    image = torch.zeros(n, height + k - 1, channels, width + k - 1, dtype=dtype)
    for i, j in itertools.product(range(k), range(width // stretch)):
        image[:, i : i + height, :, j * stretch : j * stretch + full] += shares[:, :, j, i]
    return image.permute(0, 2, 1, 3).to(grad.dtype)
