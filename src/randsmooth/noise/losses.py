"""What attacks climb: losses whose gradient keeps its direction on the images that are easy."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

LOG_FLOOR = math.log(1e-20)


def at_least_float32(logits: Tensor) -> Tensor:
    """Logits in at least float32, whatever the precision of the network."""
    return logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits


def noisy_logits(model: nn.Module, x: Tensor, noise: Tensor) -> Tensor:
    """(m, B, K) logits of x (B, C, H, W) under each of noise (m, B, C, H, W), in at least float32."""
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

    Where the label's probability rounds to 1, the gradient of the usual form loses its part for the label;
    this one keeps its direction, and those are the images that an attack is for.
    """
    return F.softplus(odds_against(logits, y))


def mean_cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """(B,) -log of the mean over m noises of the label's probability, from logits (m, B, K).

    The probability is held above 1e-20. Source: Salman et al. 2019, eq. 6 (mean first, then the logarithm).
    """
    log_mean = (-cross_entropy(logits, y)).logsumexp(dim=0) - math.log(len(logits))
    return -log_mean.clamp_min(LOG_FLOOR)


def divergence(target: Tensor, logits: Tensor) -> Tensor:
    """(...,) KL(target || softmax(logits)) of target and logits (..., K), with gradients through both."""
    return F.kl_div(logits.log_softmax(dim=-1), target, reduction="none").sum(dim=-1)
