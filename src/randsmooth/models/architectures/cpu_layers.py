"""Layers with torch's values and gradients that CPUs compute faster than torch's own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Stem(nn.Conv2d):
    """nn.Conv2d without stride or padding, for the first layer: the same values, and gradients equal up to rounding.

    For inputs of one or three channels, torch's gradient by the input, which attacks need at every step, leaves most of
    a CPU's vector units idle: in LeNet it takes as long as the rest of the backward pass. It is one matrix product and
    a sum of overlapping windows here, which take a fifth of that time.
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
        return _by_input(grad, weight, x.shape[2:]) if by_x else None, by_weight, by_bias


def _by_input(grad: Tensor, weight: Tensor, sides: torch.Size) -> Tensor:
    """(N, C, H, W) from grad (N, O, H', W') and weight (O, C, k, k): what each place adds to its window, summed."""
    windows = weight.flatten(1).t() @ grad.flatten(2)  # (N, C k k, H' W')
    exact = windows.to(torch.promote_types(grad.dtype, torch.float32))
    return F.fold(exact, (sides[0], sides[1]), weight.shape[2:]).to(grad.dtype)


class MaxPool2x2(nn.Module):
    """nn.MaxPool2d(2), where torch's own kernel is slow in channels-last bfloat16: the same values and gradients."""

    def forward(self, x: Tensor) -> Tensor:
        trains = torch.is_grad_enabled() and x.requires_grad
        recorded = torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None
        if x.device.type != "cpu" or (trains and x.element_size() != 2) or recorded:  # compilers know torch's better
            return F.max_pool2d(x, 2)
        height, width = (side // 2 * 2 for side in x.shape[2:])  # an odd last row or column is in no window
        return _Pool.apply(x[:, :, :height, :width])  # type: ignore[no-any-return, no-untyped-call]


class _Pool(torch.autograd.Function):
    """The larger of every two columns, then of every two rows, in whole vectors and without storing indices."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        columns = torch.maximum(*_pairs(x, 3))
        out = torch.maximum(*_pairs(columns, 2))
        ctx.save_for_backward(x, columns, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x, columns, out = ctx.saved_tensors
        return _to_larger(_to_larger(grad, columns, out, 2), x, columns, 3)


def _pairs(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The even and the odd places along `dim`, as views."""
    even, odd = x.unflatten(dim, (-1, 2)).unbind(dim + 1)
    return even, odd


def _to_larger(grad: Tensor, x: Tensor, larger: Tensor, dim: int) -> Tensor:
    """`grad` at the larger of each pair of `x` along `dim`, at the first of two equal ones, and 0 at the other.

    It is computed on the bits of 16-bit numbers: comparing and masking bfloat16 takes several times as long.
    """
    out = torch.empty_like(x)
    first, second = (half.view(torch.int16) for half in _pairs(out, dim))
    bits = grad.view(torch.int16)
    unlike = larger.view(torch.int16) ^ _pairs(x, dim)[0].view(torch.int16)  # 0 where the first is the larger
    mask = unlike.neg().bitwise_or_(unlike).bitwise_right_shift_(15)  # all ones where the second is
    torch.bitwise_and(bits, mask, out=second)
    torch.bitwise_xor(bits, second, out=first)
    return out
