"""The losses that attacks increase, written so that their gradients keep their direction on easy images."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def at_least_float32(logits: Tensor) -> Tensor:
    """`logits` as float32 where they are bfloat16 or float16; others as they are.

    Example:
        >>> at_least_float32(torch.zeros(2, 3, dtype=torch.bfloat16)).dtype
        torch.float32
    """
    return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits


def noisy_logits(model: nn.Module, x: Tensor, noise: Tensor) -> Tensor:
    """(m, B, K) logits of the images x (B, C, H, W) under each of the noises (m, B, C, H, W), in at least float32.

    Example:
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
        >>> noisy_logits(model, torch.rand(5, 1, 2, 2), torch.randn(2, 5, 1, 2, 2)).shape
        torch.Size([2, 5, 3])
    """
    m, images = noise.shape[:2]
    noisy = (x[None] + noise).flatten(0, 1)  # (m*B, C, H, W)
    return at_least_float32(model(noisy)).view(m, images, -1)


def odds_against(logits: Tensor, y: Tensor) -> Tensor:
    """(...,) log((1 - p_y) / p_y) of logits (..., K) and labels y, broadcast to (...,)."""
    own = y.expand(logits.shape[:-1])[..., None]
    others = logits.scatter(-1, own, -torch.inf).logsumexp(dim=-1)
    return others - logits.gather(-1, own)[..., 0]


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """(...,) cross-entropy of logits (..., K), written as log(1 + exp(odds against y)).

    Where the label's probability rounds to 1, the gradient of the usual form loses its part for the label. The
    gradient of this form keeps its direction, and such images are the ones that an attack is for.
    """
    return F.softplus(odds_against(logits, y))


def mean_cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """(B,) -log of the mean over m noises of the label's probability, from logits (m, B, K).

    It is the logarithm of a sum of logarithms' exponentials, so that it grows, and has a gradient, however small the
    probability is. Source: Salman et al. 2019, eq. 6 (mean first, then the logarithm).
    """
    return math.log(len(logits)) - (-cross_entropy(logits, y)).logsumexp(dim=0)


def divergence(target: Tensor, logits: Tensor) -> Tensor:
    """(...,) KL(target || softmax(logits)) of target and logits (..., K), with gradients through both.

    Example:
        >>> divergence(torch.tensor([0.5, 0.5]), torch.zeros(2))
        tensor(0.)
    """
    return F.kl_div(logits.log_softmax(dim=-1), target, reduction="none").sum(dim=-1)
