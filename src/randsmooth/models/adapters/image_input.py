"""How the input of a file's graph takes a batch of images, and the images in that form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from randsmooth.documents import shown
from randsmooth.errors import InputError, unknown

LAYOUTS = ("NCHW", "NHWC")
CHANNELS = (1, 3, 4)  # an axis of this length, and no other, is taken for the one of the channels
UINT8 = (
    "the base classifier takes 8-bit images: it rounds each noisy pixel to the nearest of k/255 and clips it to [0, 1] "
    "first; noise is added before that, to the image in [0, 1]"
)


@dataclass(frozen=True)
class ImageInput:
    """An input for images.

    Attributes:
        name: in the graph.
        dtype: "float32", "float16", "float64" or "uint8".
        layout: "NCHW" or "NHWC", the order of its axes.
        batch: N where the file fixes it, else None.
        shape: (C, H, W) of an image.

    Example:
        >>> images = np.full((1, 3, 2, 2), 0.5, np.float32)
        >>> ImageInput("x", "uint8", "NHWC", None, (3, 2, 2)).prepared(images)[0, 0]
        array([[128, 128, 128],
               [128, 128, 128]], dtype=uint8)
    """

    name: str
    dtype: str
    layout: str
    batch: int | None
    shape: tuple[int, int, int]

    @classmethod
    def of_axes(
        cls, name: str, dtype: str, axes: Sequence[int | str | None], where: str, layout: str | None
    ) -> ImageInput:
        """The input whose `axes` have these lengths, in a `layout` or, without one, in that which its channels show.

        Raises:
            InputError: they are not those of a batch of images; `where` names the file.
        """
        if layout is not None and layout not in LAYOUTS:
            raise unknown("layout", layout, LAYOUTS)
        if len(axes) != 4:
            raise InputError(
                f"{where} takes input of shape {shown([*axes])}, without a batch axis: expected (N, C, H, W); export "
                "it again with a batch of images as example"
            )
        batch, *image = axes
        sides = [int(side) for side in image if isinstance(side, int) and side > 0]
        if len(sides) != 3:
            raise InputError(f"{where} takes input of shape {shown([*axes])}: C, H and W must be fixed numbers")
        last = sides[2] in CHANNELS and sides[0] not in CHANNELS
        layout = layout or ("NHWC" if last else "NCHW")
        channels, height, width = sides if layout == "NCHW" else (sides[2], sides[0], sides[1])
        return cls(name, dtype, layout, batch if isinstance(batch, int) else None, (channels, height, width))

    def prepared(self, images: NDArray[np.float32]) -> np.ndarray:
        """Images (B, C, H, W) float32 as the graph takes them."""
        if self.layout == "NHWC":
            images = images.transpose(0, 2, 3, 1)
        if self.dtype == "uint8":
            return np.ascontiguousarray(np.rint(np.clip(images, 0.0, 1.0) * 255.0).astype(np.uint8))
        return np.ascontiguousarray(images.astype(self.dtype, copy=False))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a certificate should say about it."""
        return (UINT8,) if self.dtype == "uint8" else ()
