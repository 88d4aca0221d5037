"""A classifier whose smoothed answer is known exactly, and images at given distances from where it changes."""

import numpy as np
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
    return torch.stack(
        [torch.full((3, 2, 2), 0.5 + distance / D**0.5) for distance in distances]
    )


def beside(
    distance: float | np.ndarray, images: int, step: float = 2.0**-12
) -> torch.Tensor:
    """(images, 3, 2, 2) different images at these distances from the plane: what one pixel gains another loses."""
    x, steps = (
        at_distance(np.broadcast_to(distance, images).tolist()),
        torch.arange(images) * step,
    )
    x[:, 0, 0, 0] += steps
    x[:, 2, 1, 1] -= steps
    return x
