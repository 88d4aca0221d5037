"""A classifier whose smoothed answer is known exactly, and images at given distances from where it changes."""

from __future__ import annotations

import torch
from torch import nn

D = 12


class HalfSpace(nn.Module):
    """Class 1 where the pixels' mean direction exceeds 1/2: p_A = Phi(distance / sigma), the radius is the distance."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        distance = (x.flatten(1) - 0.5).sum(dim=1) / D**0.5
        return torch.stack([-distance, distance], dim=1)


def at_distance(distances: list[float]) -> torch.Tensor:
    """(B, 3, 2, 2) images at these signed distances from the plane."""
    return torch.stack([torch.full((3, 2, 2), 0.5 + distance / D**0.5) for distance in distances])


def beside(distance: float, images: int) -> torch.Tensor:
    """(images, 3, 2, 2) different images at one distance from the plane: what one pixel gains another loses."""
    x = at_distance([distance]).repeat(images, 1, 1, 1)
    step = torch.arange(images) / 2**12
    x[:, 0, 0, 0] += step
    x[:, 2, 1, 1] -= step
    return x
