"""How images of any mode become 8-bit grey or RGB: the table of docs/data.md, in code."""

from __future__ import annotations

import numpy as np
from PIL import Image

from randsmooth.errors import InputError

# Modes of PIL by what they hold. What is in none of them is refused by name.
SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")
GREY = ("1", "L", "LA", "La", *SIXTEEN_BITS)
COLOUR = ("P", "PA", "RGB", "RGBA", "RGBX", "CMYK")

# A 16-bit image all of whose values are smaller holds fewer bits than its file: 12, say, of a camera's sensor.
FEWER_BITS = 2**12

ORIENTATION = 0x0112  # the EXIF tag
# What undoes each orientation but 1; those from 5 on exchange height and width.
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

WRONG_CHANNELS = {
    1: "is in colour (mode {mode}), and the data set is grey: convert it to grey, or the others to RGB",
    3: "has mode {mode}: convert it to RGB or grey with 8 bits, or give the pixels as a float array in [0, 1]",
}


def channels_of(modes: set[str]) -> int | None:
    """1 if images of all these modes are grey, 3 if some are in colour; None if one of them is neither."""
    if not modes <= {*GREY, *COLOUR}:
        return None
    return 1 if modes <= set(GREY) else 3


def upright(image: Image.Image) -> Image.Image:
    """The image as its EXIF orientation says that it was seen."""
    turn = TURNS.get(_orientation(image))
    return image if turn is None else image.transpose(turn)


def lies_on_its_side(image: Image.Image) -> bool:
    """Whether `upright` exchanges height and width."""
    return 5 <= _orientation(image) <= 8


def _orientation(image: Image.Image) -> int:
    if image.format == "PNG" and "exif" not in image.info:  # PIL would decode all of it to look for more
        return 1
    return int(image.getexif().get(ORIENTATION, 1))


def converted(image: Image.Image, channels: int, where: str) -> Image.Image:
    """`image` as 8-bit grey (`channels` 1) or RGB (3). Raises InputError for what is not converted."""
    if image.mode not in (*GREY, *COLOUR) or (channels == 1 and image.mode not in GREY):
        raise InputError(f"{where} {WRONG_CHANNELS[channels].format(mode=image.mode)}")
    if image.mode in SIXTEEN_BITS:
        image = _eight_bits(image, where)
    return _opaque(image, where).convert("L" if channels == 1 else "RGB")


def _eight_bits(image: Image.Image, where: str) -> Image.Image:
    """The upper 8 of 16 bits: v becomes v // 256."""
    values = np.asarray(image).astype(np.uint32)
    if 0 < values.max(initial=0) < FEWER_BITS:
        raise InputError(
            f"{where} has 16 bits a pixel and no value above {values.max()}, so that its upper 8 bits are almost "
            "black; scale it to 0..65535, or give the pixels as a float array in [0, 1]"
        )
    return Image.fromarray((values >> 8).astype(np.uint8))


def _opaque(image: Image.Image, where: str) -> Image.Image:
    """`image`, of whose alpha channel, if any, nothing is lost. Raises InputError where a pixel is transparent."""
    if not image.has_transparency_data:
        return image
    image = image.convert("RGBA")
    lowest, _ = image.getchannel("A").getextrema()
    if lowest != 255:
        raise InputError(
            f"{where} has transparent pixels, whose colour is undefined: put it on a background first, such as white, "
            "and save it without an alpha channel"
        )
    return image.convert("RGB")
