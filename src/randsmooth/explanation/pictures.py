"""Images as pictures that a page holds in itself."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SMALL = 2**14  # values of an image up to which PNG is small enough, whatever it shows
LONGEST_SIDE = 320  # pixels of a picture on the page


@dataclass(frozen=True)
class Picture:
    """One picture.

    Attributes:
        uri: its content as a `data:` URI.
        alt: what it shows, for those who do not see it.
        pixelated: whether its pixels are to be seen as squares.
        scaled: whether it was scaled down.
    """

    uri: str
    alt: str
    pixelated: bool
    scaled: bool


def picture(pixels: NDArray[np.float32], alt: str) -> Picture:
    """`pixels` (C, H, W), cut off at 0 and 1, as PNG; as JPEG where that would be large.

    One channel is grey, three are colours; of any other number the mean is shown.

    Example:
        >>> picture(np.zeros((1, 8, 8), np.float32), "black").uri[:22]
        'data:image/png;base64,'
    """
    shown = pixels if pixels.shape[0] in (1, 3) else pixels.mean(axis=0, keepdims=True)
    levels = (np.clip(np.nan_to_num(shown), 0.0, 1.0) * 255.0).round().astype(np.uint8)
    image = Image.fromarray(levels[0] if len(levels) == 1 else levels.transpose(1, 2, 0))
    scaled = max(image.size) > LONGEST_SIDE
    if scaled:
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    kind = "png" if levels.size <= SMALL else "jpeg"
    file = io.BytesIO()
    image.save(file, kind, **({} if kind == "png" else {"quality": 85}))
    content = base64.b64encode(file.getvalue()).decode()
    return Picture(f"data:image/{kind};base64,{content}", alt, max(image.size) < 128, scaled)


def amplified(change: NDArray[np.float32]) -> tuple[NDArray[np.float32], int]:
    """A change (C, H, W) of an image around mid-grey, and how many times it is amplified so that it can be seen.

    Example:
        >>> shown, times = amplified(np.full((1, 2, 2), -0.04, np.float32))
        >>> times, shown.round(2).max()
        (12, np.float32(0.02))
    """
    largest = float(np.abs(change).max())
    times = max(1, int(0.5 / largest)) if largest > 0.0 else 1
    return (0.5 + times * change).astype(np.float32), times
