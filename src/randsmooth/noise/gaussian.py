"""Gaussian noise from addressed streams, the same whatever the batch size, the order or the thread."""

from __future__ import annotations

import numpy as np
import torch

from randsmooth.errors import InputError
from randsmooth.noise.stream import Stream


def fill(out: torch.Tensor, stream: Stream) -> None:
    """Fill `out`, contiguous float32 of any shape, with standard normal numbers of `stream`.

    On the CPU the numbers come from NumPy, which lets other threads draw at the same time. There, a shorter `out`
    holds the first numbers of a longer one.

    Example:
        >>> long, short = torch.empty(6), torch.empty(2)
        >>> fill(long, Stream(0, "example"))
        >>> fill(short, Stream(0, "example"))
        >>> torch.equal(short, long[:2])
        True
    """
    if out.device.type == "cpu":
        stream.numpy().standard_normal(out=out.numpy(), dtype=np.float32)
    else:
        out.normal_(generator=stream.torch(out.device))


def draw(shape: tuple[int, ...], sigma: float, *, stream: Stream, device: torch.device | str = "cpu") -> torch.Tensor:
    """Gaussian noise N(0, sigma^2) of `shape`, float32 on `device`.

    Raises:
        InputError: `stream` is not a `Stream`, such as the number of a seed.

    Example:
        >>> noise = draw((100, 1, 8, 8), 0.5, stream=Stream(0, "example"))
        >>> noise.shape, round(float(noise.std()), 1)
        (torch.Size([100, 1, 8, 8]), 0.5)
    """
    if not isinstance(stream, Stream):
        raise InputError(f"stream={stream!r}: give a Stream, such as Stream(0, 'my noise')")
    noise = torch.empty(shape, device=device)
    fill(noise, stream)
    return noise.mul_(sigma)


def perturb(out: torch.Tensor, x: torch.Tensor, sigma: float, *, stream: Stream) -> None:
    """Set `out` (n, C, H, W), contiguous float32, to `x` (C, H, W) + N(0, sigma^2 I) of `stream`.

    On the CPU this does not use torch's own threads, so that several threads may draw at the same time.

    Example:
        >>> x, noisy = torch.full((1, 4, 4), 0.5), torch.empty(3, 1, 4, 4)
        >>> perturb(noisy, x, 0.25, stream=Stream(0, "example"))
        >>> torch.allclose(noisy, x + draw((3, 1, 4, 4), 0.25, stream=Stream(0, "example")))
        True
    """
    fill(out, stream)
    if out.device.type == "cpu":
        samples = out.numpy()
        samples *= sigma
        samples += x.numpy()
    else:
        out.mul_(sigma).add_(x)
