"""Gaussian noise from addressed streams, the same whatever the batch size, the order or the thread."""

from __future__ import annotations

import numpy as np
import torch

from randsmooth.noise.stream import Stream


def fill(out: torch.Tensor, stream: Stream) -> None:
    """Fill `out`, contiguous float32 of any shape, with standard normal numbers of `stream`.

    On the CPU the numbers come from NumPy, which lets other threads draw meanwhile; there, a shorter `out`
    holds the first numbers of a longer one.
    """
    if out.device.type == "cpu":
        stream.numpy().standard_normal(out=out.numpy(), dtype=np.float32)
    else:
        out.normal_(generator=stream.torch(out.device))


def draw(shape: tuple[int, ...], sigma: float, *, stream: Stream, device: torch.device | str = "cpu") -> torch.Tensor:
    """Noise of N(0, sigma^2) as float32 of `shape` on `device`."""
    noise = torch.empty(shape, device=device)
    fill(noise, stream)
    return noise.mul_(sigma)


def perturb(out: torch.Tensor, x: torch.Tensor, sigma: float, *, stream: Stream) -> None:
    """Set `out` (n, C, H, W), contiguous float32, to `x` (C, H, W) + N(0, sigma^2 I) of `stream`.

    On the CPU this leaves torch's own threads alone, so that several may draw at once.
    """
    fill(out, stream)
    if out.device.type == "cpu":
        samples = out.numpy()
        samples *= sigma
        samples += x.numpy()
    else:
        out.mul_(sigma).add_(x)
