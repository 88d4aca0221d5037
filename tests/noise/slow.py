"""Slow, obvious NumPy versions of losses and attacks, on a network small enough for finite differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

Floats = NDArray[np.float64]

SHAPE = (1, 2, 3)  # C, H, W of an image
PIXELS, HIDDEN, CLASSES = 6, 5, 3


class TinyNet(nn.Module):
    """W2 tanh(W1 v + b1) + b2 in float64, drawn from `seed`; `seen` lists the samples of each forward pass."""

    def __init__(self, seed: int, scale: float = 1.0) -> None:
        super().__init__()
        self.first = nn.Linear(PIXELS, HIDDEN, dtype=torch.float64)
        self.second = nn.Linear(HIDDEN, CLASSES, dtype=torch.float64)
        self.seen: list[int] = []
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.normal_(generator=generator).mul_(scale)

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(len(x))
        return self.second(torch.tanh(self.first(x.flatten(1))))


def parameters(model: TinyNet) -> Floats:
    """All weights in the order of `parameters()`."""
    return parameters_to_vector(model.parameters()).detach().numpy().copy()


def logits(theta: Floats, v: Floats) -> Floats:
    """(K,) logits of one image `v` (PIXELS,)."""
    cuts = np.cumsum([HIDDEN * PIXELS, HIDDEN, CLASSES * HIDDEN])
    w1, b1, w2, b2 = np.split(theta, cuts)
    hidden = np.tanh(w1.reshape(HIDDEN, PIXELS) @ v + b1)
    return w2.reshape(CLASSES, HIDDEN) @ hidden + b2


def cross_entropy(theta: Floats, v: Floats, label: int) -> float:
    """-log softmax(logits)[label]."""
    z = logits(theta, v)
    return float(np.log(np.exp(z).sum()) - z[label])


def gradient(f: Callable[[Floats], float], at: Floats, h: float = 1e-6) -> Floats:
    """Central finite differences."""
    slope = np.zeros_like(at)
    for i in range(len(at)):
        step = np.zeros_like(at)
        step[i] = h
        slope[i] = (f(at + step) - f(at - step)) / (2 * h)
    return slope


def walk(theta: Floats, x: Floats, label: int, noise: Floats, steps: int, eps: float, norm: str = "l2") -> Floats:
    """Algorithm 1 of Sun et al. 2025, line by line, for one noise."""
    moved = noise
    for _ in range(steps):
        if logits(theta, x + moved).argmax() != label:
            break
        g = gradient(lambda delta: cross_entropy(theta, x + delta, label), moved)
        step = g / np.linalg.norm(g) if norm == "l2" else np.sign(g) / np.sqrt(len(g))
        moved = moved + eps * step
        moved = np.linalg.norm(noise) * moved / np.linalg.norm(moved)
    return moved


def batch(images: int, m: int, seed: int, sigma: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """x (B, C, H, W), y (B,) and noise (m, B, C, H, W) in float64."""
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.random((images, *SHAPE)))
    y = torch.from_numpy(rng.integers(0, CLASSES, images))
    return x, y, torch.from_numpy(sigma * rng.standard_normal((m, images, *SHAPE)))
