"""The cross-entropy from which most methods learn the labels."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def label_loss(logits: Tensor, y: Tensor) -> Tensor:
    """(m, B) cross-entropies of logits (m, B, K) with labels (B,)."""
    m, images = logits.shape[:2]
    return F.cross_entropy(logits.flatten(0, 1), y.repeat(m), reduction="none").view(m, images)
