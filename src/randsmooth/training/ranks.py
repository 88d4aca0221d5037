"""The processes that train one run together: which images each takes, and how they come to one result."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

import torch
import torch.distributed
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm

from randsmooth.data.images import Place
from randsmooth.errors import InputError, setting
from randsmooth.methods import Loss

T = TypeVar("T")


class RankLost(RuntimeError):
    """Another process of the run ended before its work was done.

    Example:
        >>> raise RankLost("rank 1 of 2 on node-7 was killed by SIGKILL")
        Traceback (most recent call last):
        randsmooth.training.ranks.RankLost: rank 1 of 2 on node-7 was killed by SIGKILL
    """


class Part(NamedTuple):
    """The images of a batch that one rank takes: those from `first` up to `last`, of `total`.

    `weight` is their share of the batch; 0 for a rank that has none, because there are fewer images than ranks. It
    takes an image of another rank, so that it goes through the same steps as the others; this image counts nothing.
    """

    first: int
    last: int
    total: int
    weight: float

    @property
    def rows(self) -> slice:
        return slice(self.first, self.last)

    @property
    def place(self) -> Place:
        return Place(self.first, self.total)


def part_of(rank: int, number: int, total: int) -> Part:
    """The part of a batch of `total` images that one of `number` ranks takes.

    Example:
        >>> [part_of(rank, 3, 8)[:2] for rank in range(3)]
        [(0, 2), (2, 5), (5, 8)]
        >>> [part_of(rank, 2, 1).weight for rank in range(2)]
        [0.0, 1.0]
    """
    first, last = rank * total // number, (rank + 1) * total // number
    if first == last:
        first = min(first, total - 1)
        return Part(first, first + 1, total, 0.0)
    return Part(first, last, total, (last - first) / total)


class Ranks:
    """The processes of a run, of which this one has the number `rank`: the first, 0, alone writes and reports."""

    def __init__(self, rank: int = 0, number: int = 1, device: torch.device | str = "cpu") -> None:
        self.rank, self.number, self.device = rank, number, torch.device(device)
        self.standing_in = False  # this rank has no image in the present step

    @property
    def alone(self) -> bool:
        return self.number == 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def part(self, total: int) -> Part:
        """Which images of a batch of `total` this rank takes."""
        return part_of(self.rank, self.number, total)

    def sum(self, values: Tensor) -> Tensor:
        """The sum of the `values` of all ranks, on the device. They may be overwritten."""
        if self.alone:
            return values
        there = values.to(self.device)
        _together(lambda: torch.distributed.all_reduce(there))
        return there

    @torch.no_grad()
    def sum_in_place(self, pieces: Sequence[Tensor]) -> None:
        """Make each of the `pieces`, float32 on the device, its sum over all ranks."""
        flat = self.sum(torch.cat([piece.flatten() for piece in pieces]))
        for piece, summed in zip(pieces, flat.split([piece.numel() for piece in pieces]), strict=True):
            piece.copy_(summed.view_as(piece))

    def first(self, act: Callable[[], T]) -> T:
        """What `act` gives to the first rank, which alone calls it, for all ranks; its error is raised by all of them.

        Before the others have joined, this is `act` itself.
        """
        if self.alone or not torch.distributed.is_initialized():
            return act()
        told: list[tuple[T | None, Exception | None]] = [(None, None)]
        if self.is_first:
            try:
                told = [(act(), None)]
            except Exception as error:
                told = [(None, error if isinstance(error, InputError | OSError) else RuntimeError(str(error)))]
        _together(lambda: torch.distributed.broadcast_object_list(told, src=0))
        result, failed = told[0]
        if failed is not None:
            raise failed
        return cast(T, result)

    def check_alike(self, facts: Mapping[str, str]) -> None:
        """Raise InputError, on all ranks, unless they agree on `facts`, by name: a version, a hash."""
        if self.alone:
            return
        told: list[tuple[str, Mapping[str, str]]] = [("", {})] * self.number
        _together(lambda: torch.distributed.all_gather_object(told, (socket.gethostname(), dict(facts))))
        first_host, expected = told[0]
        for rank, (host, theirs) in enumerate(told):
            for name, first in expected.items():
                if theirs.get(name) != first:
                    raise InputError(
                        f"rank {rank} on {host} has {name} {theirs.get(name)}, and rank 0 on {first_host} has {first}: "
                        "ranks of one run need the same"
                    )


ALONE = Ranks()


def _together(act: Callable[[], object]) -> None:
    """Do what all ranks do at once. Raises RankLost if one of them is gone."""
    try:
        act()
    except (RuntimeError, ValueError) as error:
        raise RankLost(ended("another rank", "lost")) from error


def ended(who: str, how: str) -> str:
    """The sentence for the end of a run whose rank `who` ended early."""
    return f"{who} was {how}, and the run ended with it; to go on after its last checkpoint: {setting(resume=True)}"


def reduce_step(ranks: Ranks, model: nn.Module, loss: Loss, part: Part) -> dict[str, Tensor]:
    """What to log about a step: means over the whole batch. The gradients become those of the whole batch, too.

    Gradients, running statistics and figures are summed in one go. DistributedDataParallel would do this during the
    backward pass, but it refuses the gradients by the input that attacks take.

    Args:
        ranks: that take the step together.
        model: with gradients of the loss on `part` multiplied by `part.weight`. Running statistics of batch
            normalisation become their weighted mean, so that all ranks have the same.
        loss: on `part`.
        part: the images of this rank.
    """
    logged = {name: value.float() for name, value in (loss.terms | loss.figures).items()}
    if ranks.alone:
        return logged
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    both = [each for module in batch_norms(model) for each in (module.running_mean, module.running_var)]
    statistics = [each for each in both if each is not None]
    weights = _weights(logged, loss, part)
    sums = torch.stack([*logged.values()]) * weights
    for each in statistics:
        each.mul_(part.weight)
    ranks.sum_in_place([*gradients, *statistics, sums, weights])
    return dict(zip(logged, sums / torch.where(weights > 0, weights, 1.0), strict=True))


def _weights(logged: dict[str, Tensor], loss: Loss, part: Part) -> Tensor:
    """(names,) how much the figures of this rank count: by its images, or by the samples that a figure is about."""
    own = torch.tensor(part.weight, device=loss.total.device)
    none = 1.0 if part.weight else 0.0
    return torch.stack([loss.counted[name].float() * none if name in loss.counted else own for name in logged])


def batch_norms(model: nn.Module) -> list[_BatchNorm]:
    """The modules of `model` that normalise by a batch's statistics."""
    return [module for module in model.modules() if isinstance(module, _BatchNorm)]


@contextmanager
def synchronised(model: nn.Module, ranks: Ranks) -> Iterator[None]:
    """Within the context, `model` in training mode normalises by the batches of all ranks taken together.

    torch.nn.SyncBatchNorm does this on GPUs alone, counts the image of a rank that stands in, and would stay in the
    model; these sums are the same on every device.
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
