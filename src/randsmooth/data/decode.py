"""From compressed bytes to pixels: the one decoder behind every data set and behind single image files."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from randsmooth.data.encoded import Encoded
from randsmooth.data.spec import DatasetSpec
from randsmooth.data.transforms import central_crop, random_resized_crop
from randsmooth.errors import InputError

# PIL's image mode for a number of channels.
MODES = {1: "L", 3: "RGB"}

# What ImageNet holds besides RGB.
TO_RGB = ("L", "P", "RGBA", "CMYK")

# What PIL raises for bytes that are no image, are cut off, or claim an absurd size.
BROKEN = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)

# Images a thread decodes before it asks for more: large enough that small PNGs hide the asking.
CHUNK = 16


def read_image(path: str | Path, spec: DatasetSpec) -> Tensor:
    """One image file in evaluation form: (C, H, W) float32 in [0, 1].

    Raises InputError if the file is missing, is no image, or has not the size or channels of `spec`.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"no image file at {path}")
    with path.open("rb") as stream:
        return torch.tensor(decode(stream, spec, str(path))).float() / 255


def decode_many(
    encoded: Encoded, indices: Tensor, spec: DatasetSpec, draws: Sequence[Sequence[float]] | None = None
) -> Tensor:
    """The images at `indices` (B,), decoded by a pool of threads: (B, C, H, W) uint8.

    `draws` holds the uniform numbers of a random resized crop for each image; None: the evaluation form.
    Raises InputError, naming its index, for the first image that cannot be used.
    """
    wanted = indices.tolist()
    out = np.empty((len(wanted), *spec.shape), dtype=np.uint8)

    def fill(start: int) -> None:
        for row, index in enumerate(wanted[start : start + CHUNK], start):
            with encoded.open(index) as stream:
                out[row] = decode(stream, spec, encoded.where(index), draws[row] if draws else None)

    with ThreadPoolExecutor() as pool:
        for _ in pool.map(fill, range(0, len(wanted), CHUNK)):
            pass  # map() raises here what a thread raised, and drops the chunks not yet begun
    return torch.from_numpy(out)


def decode(stream: IO[bytes], spec: DatasetSpec, where: str, draws: Sequence[float] | None = None) -> NDArray[np.uint8]:
    """One image as `spec` wants it: (C, H, W) uint8. `where` names it in the InputError for a bad one."""
    try:
        with Image.open(stream) as image:
            pixels = np.asarray(_fitted(image, spec, where, draws))
    except InputError:
        raise
    except BROKEN as error:
        raise InputError(f"{where} cannot be decoded: {error}") from error
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def form(stream: IO[bytes], where: str) -> tuple[str, int, int]:
    """PIL mode, height and width of one image, from its header alone. Raises InputError if it has none."""
    try:
        with Image.open(stream) as image:
            return image.mode, image.height, image.width
    except BROKEN as error:
        raise InputError(f"{where} cannot be decoded: {error}") from error


def _fitted(image: Image.Image, spec: DatasetSpec, where: str, draws: Sequence[float] | None) -> Image.Image:
    """`image` in the mode and size of `spec`: cropped if the spec resizes, checked if it does not."""
    channels, height, width = spec.shape
    if spec.resize is None:
        if (image.mode, image.height, image.width) != (MODES[channels], height, width):
            raise InputError(_mismatch(image, spec, where))
        return image
    if image.mode in TO_RGB and channels == 3:
        image = image.convert("RGB")
    if image.mode != MODES[channels]:
        raise InputError(_mismatch(image, spec, where))
    if draws is None:
        return central_crop(image, spec.resize, height)
    return random_resized_crop(image, draws, height)


def _mismatch(image: Image.Image, spec: DatasetSpec, where: str) -> str:
    channels, height, width = spec.shape
    return (
        f"{where} is {image.height}x{image.width} with {_channels(len(image.getbands()))} (mode {image.mode}); "
        f"{spec.name} needs {height}x{width} with {_channels(channels)} (mode {MODES[channels]}): convert it"
    )


def _channels(count: int) -> str:
    return "1 channel" if count == 1 else f"{count} channels"
