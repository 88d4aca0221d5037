"""Lengths and projections, image by image: rows of v (B, ...)."""

from __future__ import annotations

import torch
from torch import Tensor

TINY = 1e-12
DAMP = 1e-8  # what the released codes of CAT-RS and Sun et al. add to the norm of a gradient, of a loss divided by m


def norms(v: Tensor) -> Tensor:
    """L2 norm of each row, shaped (B, 1, ..., 1) to scale `v` (B, ...) by."""
    return v.flatten(1).norm(dim=1).view(-1, *(1,) * (v.dim() - 1))  # type: ignore[no-any-return]


def unit(v: Tensor, damp: float = 0.0) -> Tensor:
    """Each row of `v` (B, ...) scaled to L2 norm 1, however short it is; a row of zeros stays as it is.

    `damp` is added to the norm that a row is divided by, so that rows shorter than `damp` stay short.
    """
    if damp:
        return v / (norms(v) + damp)
    largest = v.flatten(1).abs().amax(dim=1).view(-1, *(1,) * (v.dim() - 1))
    v = v / largest.clamp_min(torch.finfo(v.dtype).tiny)  # first, so that no square underflows
    return v / norms(v).clamp_min(TINY)


def within_ball(v: Tensor, eps: float) -> Tensor:
    """Each row of `v` (B, ...) shortened to L2 norm eps where it is longer.

    Example:
        >>> within_ball(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    return v * (eps / norms(v).clamp_min(TINY)).clamp_max(1.0)


def with_moments_of(v: Tensor, model: Tensor, *, rms: bool = False) -> Tensor:
    """Each row of `v` (B, ...) shifted and scaled to the mean and standard deviation of that row of `model`.

    `rms`: scaled by the ratio of the two rows' root mean squares instead of their standard deviations.
    """
    dims = tuple(range(1, v.dim()))
    (std, mean), (std0, mean0) = (torch.std_mean(w, dim=dims, correction=0, keepdim=True) for w in (v, model))
    if rms:
        std, std0 = (w.square().mean(dim=dims, keepdim=True).sqrt() for w in (v, model))
    return (v - mean) * (std0 / std.clamp_min(TINY)) + mean0
