"""Max pooling of 2x2 windows for CPUs, where torch's own kernel is slow in channels-last bfloat16."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class MaxPool2x2(nn.Module):
    """nn.MaxPool2d(2): the same values and gradients."""

    def forward(self, x: Tensor) -> Tensor:
        trains = torch.is_grad_enabled() and x.requires_grad
        if x.device.type != "cpu" or (trains and x.element_size() != 2) or _is_recorded():
            return F.max_pool2d(x, 2)
        height, width = (side // 2 * 2 for side in x.shape[2:])  # an odd last row or column is in no window
        return _Pool.apply(x[:, :, :height, :width])  # type: ignore[no-any-return, no-untyped-call]


def _is_recorded() -> bool:
    """Whether the model is being compiled or exported: compilers know the usual operator better than this one."""
    return torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None


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
