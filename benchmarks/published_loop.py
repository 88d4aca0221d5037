"""The sampling loop as randomized smoothing first published it: one image, batches of 1000, float32, NumPy counts."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

BATCH = 1000


@torch.no_grad()
def count(model: nn.Module, x: Tensor, sigma: float, n: int, classes: int) -> np.ndarray:
    """Class counts (classes,) of n noisy copies of one image x (C, H, W)."""
    counts = np.zeros(classes, dtype=int)
    while n > 0:
        size = min(BATCH, n)
        n -= size
        batch = x.repeat((size, 1, 1, 1))
        noise = torch.randn_like(batch) * sigma
        for prediction in model(batch + noise).argmax(1).cpu().numpy():
            counts[prediction] += 1
    return counts
