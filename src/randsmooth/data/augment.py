"""Training augmentation of a whole batch at once, on its device."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

PADDING = 4


class Place(NamedTuple):
    """Where the images of a part stand in their batch: from `first` on, of `total`.

    Random numbers are drawn for the whole batch, so an image's do not depend on how the batch is divided.
    """

    first: int
    total: int


def augmented(x: Tensor, kind: str, generator: Generator, place: Place | None = None) -> Tensor:
    """The batch `x` (B, C, H, W) after the augmentation `kind` of a data set, in the same shape and dtype.

    "random-resized-crop-flip" is done while images are decoded (see transforms.py); here it leaves `x` as it is.
    `place`: that of `x` in the batch, where it is only a part of one.
    """
    if kind in ("crop", "crop-flip"):
        x = random_crop(x, generator, place)
    if kind == "crop-flip":
        x = random_flip(x, generator, place)
    return x


def random_crop(x: Tensor, generator: Generator, place: Place | None = None) -> Tensor:
    """Pad each image of `x` (B, C, H, W) with 4 black pixels a side, then cut H x W at a random place."""
    batch, _, height, width = x.shape
    first, total = place or Place(0, batch)
    corner = torch.randint(0, 2 * PADDING + 1, (2, total, 1), generator=generator, device=generator.device)
    top, left = corner[:, first : first + batch].to(x.device)
    rows = top + torch.arange(height, device=x.device)  # (B, H)
    columns = left + torch.arange(width, device=x.device)  # (B, W)
    image = torch.arange(batch, device=x.device)[:, None, None]
    padded = pad(x, (PADDING, PADDING, PADDING, PADDING))
    # The indices around the channel slice put the channels last: (B, H, W, C).
    cut = padded[image, :, rows[:, :, None], columns[:, None, :]]
    return cut.permute(0, 3, 1, 2).contiguous()


def random_flip(x: Tensor, generator: Generator, place: Place | None = None) -> Tensor:
    """Mirror each image of `x` (B, C, H, W) left to right with probability 1/2."""
    first, total = place or Place(0, len(x))
    mirrored = torch.rand(total, generator=generator, device=generator.device)[first : first + len(x)] < 0.5
    return torch.where(mirrored.to(x.device)[:, None, None, None], x.flip(-1), x)
