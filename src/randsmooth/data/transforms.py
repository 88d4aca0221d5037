"""The two ways in which photographs are brought to one size, on PIL images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from PIL import Image
from torch import Generator

from randsmooth.data.fitting import Sides

SCALE = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
ATTEMPTS = 10

# Uniform numbers that one random resized crop uses: area and ratio of each attempt, corner, flip.
DRAWS = 2 * ATTEMPTS + 3


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
