"""How images are scaled, cut and varied: batches on their device, and photographs while they are decoded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from PIL import Image
from torch import Generator, Tensor
from torch.nn.functional import pad

from randsmooth.data.dataset_spec import Sides

PADDING = 4
SCALE = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
ATTEMPTS = 10

# Uniform numbers that one random resized crop uses: area and ratio of each attempt, corner, flip.
DRAWS = 2 * ATTEMPTS + 3


class Place(NamedTuple):
    """Where the images of a part stand in their batch: from `first` on, of `total`.

    Random numbers are drawn for the whole batch, so an image's do not depend on how the batch is divided.
    """

    first: int
    total: int


def augmented(x: Tensor, kind: str, generator: Generator, place: Place | None = None) -> Tensor:
    """The batch `x` (B, C, H, W) after the augmentation `kind` of a data set, in the same shape and dtype.

    "random-resized-crop-flip" is done while images are decoded (`random_resized_crop`); here it leaves `x` as it is.
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


def crop_draws(batch: int, generator: Generator) -> list[list[float]]:
    """The uniform numbers of `batch` random crops, drawn together so that they do not depend on the threads."""
    return torch.rand((batch, DRAWS), generator=generator, device=generator.device).tolist()


def scaled(image: Image.Image, sides: Sides) -> Image.Image:
    """The whole image at another height and width (bilinear, antialiased)."""
    height, width = sides
    return image if image.size == (width, height) else image.resize((width, height), Image.Resampling.BILINEAR)


def cut_centre(image: Image.Image, sides: Sides) -> Image.Image:
    """Its central window of height and width `sides`, which must not be larger than the image."""
    height, width = sides
    left, top = round((image.width - width) / 2), round((image.height - height) / 2)
    return image.crop((left, top, left + width, top + height))


def random_resized_crop(image: Image.Image, draws: Sequence[float], sides: Sides) -> Image.Image:
    """Cut a random window, scale it to height and width `sides`, and mirror it with probability 1/2.

    `draws` are DRAWS uniform numbers in [0, 1), one row of `crop_draws`.
    """
    width, height = _window(image.size, draws)
    *_, across, down, mirror = draws
    left, top = int(across * (image.width - width + 1)), int(down * (image.height - height + 1))
    image = image.crop((left, top, left + width, top + height))
    image = image.resize(sides[::-1], Image.Resampling.BILINEAR)
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirror < 0.5 else image


def _window(size: tuple[int, int], draws: Sequence[float]) -> tuple[int, int]:
    """Width and height, in pixels, of the first drawn window that fits, else of the largest allowed one."""
    full_width, full_height = size
    for attempt in range(ATTEMPTS):
        area = full_width * full_height * _between(SCALE, draws[2 * attempt])
        ratio = math.exp(_between((math.log(RATIO[0]), math.log(RATIO[1])), draws[2 * attempt + 1]))
        width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < width <= full_width and 0 < height <= full_height:
            return width, height
    widest = max(1, min(full_width, round(full_height * RATIO[1])))
    return widest, max(1, min(full_height, round(widest / RATIO[0])))


def _between(limits: tuple[float, float], u: float) -> float:
    return limits[0] + u * (limits[1] - limits[0])
