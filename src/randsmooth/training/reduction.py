"""One step of several ranks as one: gradients, statistics and what is logged are summed in one go."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from randsmooth.methods import Loss
from randsmooth.training.batch_norm import batch_norms
from randsmooth.training.ranks import Part, Ranks


def reduce_step(ranks: Ranks, model: nn.Module, loss: Loss, part: Part) -> dict[str, Tensor]:
    """What to log about the step: means over the whole batch. The gradients become those of the whole batch, too.

    DistributedDataParallel would do this during the backward pass, but it refuses the gradients by the input that
    attacks take.

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
    device = loss.total.device
    own = torch.tensor(part.weight, device=device)
    none = 1.0 if part.weight else 0.0
    return torch.stack([loss.counted[name].float() * none if name in loss.counted else own for name in logged])
