"""A classifier whose edge is known: mid-grey."""

import torch
from torch import Tensor, nn


class Brightness(nn.Module):
    """Class 1 for images brighter than mid-grey; with the sign -1 for darker ones."""

    def __init__(self, sign: float = 1.0) -> None:
        super().__init__()
        self.sign = nn.Parameter(torch.tensor(sign))

    def forward(self, x: Tensor) -> Tensor:
        mean = self.sign * (x.flatten(1).mean(dim=1) - 0.5)
        return torch.stack([-mean, mean], dim=1)
