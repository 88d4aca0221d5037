"""Random changes of training images.

Those of an image do not depend on how a batch is divided among devices.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

# The width, in pixels, of the black border that an image gets on each side. A random crop
# may contain parts of it.
PADDING = 4


class Draws(NamedTuple):
    """The random numbers of an augmentation.

    A batch may be divided among devices, so that only some of its images are at hand. The
    numbers are always drawn for the whole batch. So those of an image do not depend on how
    the batch is divided.

    Attributes:
        generator: the generator of the numbers.
        first: the index in the whole batch of the first image at hand.
        total: the number of images in the whole batch; None: all of them are at hand.

    Example:
        >>> from randsmooth.data import load
        >>> images, draws = load("digits"), Draws(torch.Generator().manual_seed(0))
        >>> images.batch([0, 1], draws)[0].shape
        torch.Size([2, 1, 8, 8])
    """

    generator: Generator
    first: int = 0
    total: int | None = None

    def of(self, batch: int) -> tuple[int, slice]:
        """Return for how many images to draw, and which of the drawn numbers to use.

        Args:
            batch: the number of images at hand.
        """
        return self.total or batch, slice(self.first, self.first + batch)


def augmented(x: Tensor, kind: str, draws: Draws) -> Tensor:
    """Return the batch `x` (B, C, H, W) after an augmentation, in the same dtype.

    "random-resized-crop-flip" is done while images are decoded (`random_resized_crop`):
    it leaves `x` as it is.

    Args:
        x: the images.
        kind: the augmentation of their data set, `DatasetSpec.augment`.
        draws: the random numbers.
    """
    if kind == "crop":
        return random_crop(x, draws)
    if kind == "crop-flip":
        return random_flip(random_crop(x, draws), draws)
    return x


def random_crop(x: Tensor, draws: Draws) -> Tensor:
    """Pad images (B, C, H, W) with black pixels, then cut H x W at a random place."""
    batch, _, height, width = x.shape
    total, at_hand = draws.of(batch)
    generator = draws.generator
    # The upper left corner of each window, in the padded image.
    corners = torch.randint(
        low=0,
        high=2 * PADDING + 1,
        size=(2, total),
        generator=generator,
        device=generator.device,
    )
    top, left = corners[:, at_hand].to(x.device)

    # All windows of an image, as a view: (B, C, 9, 9, H, W).
    padded = pad(x, (PADDING, PADDING, PADDING, PADDING))
    windows = padded.unfold(2, height, step=1).unfold(3, width, step=1)
    # One window for each image.
    images = torch.arange(batch, device=x.device)
    return windows[images, :, top, left].contiguous()


def random_flip(x: Tensor, draws: Draws) -> Tensor:
    """Mirror images (B, C, H, W) left to right, each with probability 1/2."""
    total, at_hand = draws.of(len(x))
    generator = draws.generator
    uniform = torch.rand(total, generator=generator, device=generator.device)
    mirrored = (uniform[at_hand] < 0.5).to(x.device)
    return torch.where(mirrored[:, None, None, None], x.flip(-1), x)
