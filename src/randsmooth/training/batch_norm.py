"""Batch normalisation by the statistics of the whole batch, where several ranks have a part of it each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm

from randsmooth.training.ranks import Ranks


def batch_norms(model: nn.Module) -> list[_BatchNorm]:
    """The modules of `model` that normalise by a batch's statistics."""
    return [module for module in model.modules() if isinstance(module, _BatchNorm)]


@contextmanager
def synchronised(model: nn.Module, ranks: Ranks) -> Iterator[None]:
    """Within the context, `model` in training mode normalises by the batches of all ranks taken together.

    torch.nn.SyncBatchNorm does this on GPUs alone, and would stay in the model.
    """
    modules = batch_norms(model)
    for module in modules:
        module.__dict__["forward"] = partial(_normalised, module, ranks)
    try:
        yield
    finally:
        for module in modules:
            del module.__dict__["forward"]


def _normalised(module: _BatchNorm, ranks: Ranks, x: Tensor) -> Tensor:
    """What `module` makes of its part `x` (B, C, ...) of the batch."""
    if not module.training:
        return type(module).forward(module, x)
    values = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
    mean, var, count = _moments(values, ranks)
    _track(module, mean.detach(), var.detach() * count / (count - 1))
    scale = (var + module.eps).rsqrt()
    scale = scale if module.weight is None else scale * module.weight
    shape = (1, -1, *(1,) * (x.dim() - 2))
    y = (values - mean.to(values.dtype).view(shape)) * scale.to(values.dtype).view(shape)
    return (y if module.bias is None else y + module.bias.view(shape)).to(x.dtype)


def _moments(values: Tensor, ranks: Ranks) -> tuple[Tensor, Tensor, Tensor]:
    """(C,) mean and variance of all ranks' values, in float64, and how many values each of them is of."""
    var, mean = torch.var_mean(values, dim=(0, *range(2, values.dim())), correction=0)
    mean, var = mean.double(), var.double()
    count = torch.tensor([0 if ranks.standing_in else values.numel() // len(mean)], device=values.device).double()
    own = torch.cat([count * mean, count * (var + mean.square()), count])
    sums: Tensor = _SumOverRanks.apply(own, ranks)  # type: ignore[no-untyped-call]
    total = sums[-1].detach()
    mean, square = (sums[:-1] / total).chunk(2)
    return mean, square - mean.square(), total


def _track(module: _BatchNorm, mean: Tensor, var: Tensor) -> None:
    """Move the running statistics towards those of a batch, as torch does."""
    if module.running_mean is None or module.running_var is None or module.num_batches_tracked is None:
        return
    module.num_batches_tracked.add_(1)
    share = 1.0 / float(module.num_batches_tracked) if module.momentum is None else module.momentum
    module.running_mean.lerp_(mean.to(module.running_mean.dtype), share)
    module.running_var.lerp_(var.to(module.running_var.dtype), share)


class _SumOverRanks(torch.autograd.Function):
    """The sum over all ranks. Each rank's loss depends on every rank's values, so gradients are summed, too."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, ranks: Ranks) -> Tensor:
        ctx.ranks = ranks
        return ranks.sum(values.clone())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.ranks.sum(gradient.clone()), None
