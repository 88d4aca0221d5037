"""Scaling and cutting of PIL images: the whole, the centre, or a random window."""

import math
from collections.abc import Sequence

import torch
from PIL import Image
from torch import Generator

from randsmooth.data.image_size import Sides

# A random resized crop takes a window of this share of the area, with this ratio of
# width to height, as training on ImageNet does. At most ATTEMPTS windows are drawn
# until one fits into the image.
SHARE_OF_AREA = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
ATTEMPTS = 10

# How many uniform numbers one random crop takes: two for each attempt (share and ratio), two
# for the place of the corner (across and down), and one for mirroring.
DRAWS = 2 * ATTEMPTS + 3


def scaled(image: Image.Image, sides: Sides) -> Image.Image:
    """Return the whole image at another height and width (bilinear, antialiased)."""
    height, width = sides
    if image.size == (width, height):
        return image
    return image.resize((width, height), Image.Resampling.BILINEAR)


def cut_centre(image: Image.Image, sides: Sides) -> Image.Image:
    """Return the central window of height and width `sides` of a larger image."""
    height, width = sides
    left = round((image.width - width) / 2)
    top = round((image.height - height) / 2)
    return image.crop((left, top, left + width, top + height))


def crop_draws(batch: int, generator: Generator) -> list[list[float]]:
    """Return the uniform numbers of `batch` random crops.

    They are drawn together, so that they do not depend on the threads that crop.
    """
    shape = (batch, DRAWS)
    draws = torch.rand(shape, generator=generator, device=generator.device)
    return draws.tolist()


def random_resized_crop(
    image: Image.Image, draws: Sequence[float], sides: Sides
) -> Image.Image:
    """Cut a random window, scale it to `sides`, and mirror it with probability 1/2.

    Args:
        image: an image of any size.
        draws: DRAWS uniform numbers in [0, 1), one row of `crop_draws`.
        sides: height and width to scale to.
    """
    # The first 2 * ATTEMPTS numbers are those of `_window`.
    *_, across, down, mirror = draws
    width, height = _window(image.size, draws)
    left = int(across * (image.width - width + 1))
    top = int(down * (image.height - height + 1))
    window = image.crop((left, top, left + width, top + height))

    new_height, new_width = sides
    window = window.resize((new_width, new_height), Image.Resampling.BILINEAR)
    if mirror < 0.5:
        return window.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return window


def _window(size: tuple[int, int], draws: Sequence[float]) -> tuple[int, int]:
    """Return width and height, in pixels, of the first drawn window that fits into an image.

    If no window fits, the answer is the largest one with a ratio within RATIO.

    Args:
        size: width and height of the image.
        draws: as in `random_resized_crop`; the share and the ratio of attempt k are the
            numbers at 2 k and 2 k + 1.
    """
    full_width, full_height = size
    least_ratio, most_ratio = RATIO
    # The logarithm is uniform, so that as many windows are wide as are tall.
    logs_of_ratio = (math.log(least_ratio), math.log(most_ratio))

    for attempt in range(ATTEMPTS):
        share = _between(SHARE_OF_AREA, draws[2 * attempt])
        area = full_width * full_height * share
        ratio = math.exp(_between(logs_of_ratio, draws[2 * attempt + 1]))
        width = round(math.sqrt(area * ratio))
        height = round(math.sqrt(area / ratio))
        if 0 < width <= full_width and 0 < height <= full_height:
            return width, height

    # This happens for images that are much longer than wide, or wider than long.
    widest = max(1, min(full_width, round(full_height * most_ratio)))
    tallest = max(1, min(full_height, round(widest / least_ratio)))
    return widest, tallest


def _between(limits: tuple[float, float], uniform: float) -> float:
    """Return the number that lies between two limits as `uniform` lies between 0 and 1."""
    low, high = limits
    return low + uniform * (high - low)
