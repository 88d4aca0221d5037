"""Which of PIL's image modes are grey or in colour, and how others become 8 bits.

docs/data.md has the table.
"""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from randsmooth.errors import WrongData

# The number of channels -> PIL's mode of 8-bit images.
MODES = {1: "L", 3: "RGB"}

# PIL's modes of grey images and of images in colour. An image in any other mode is refused.
SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")
GREY = ("1", "L", "LA", "La", *SIXTEEN_BITS)
COLOUR = ("P", "PA", "RGB", "RGBA", "RGBX", "CMYK")

# If all values of a 16-bit image are smaller than this, they have only 12 bits, as those of a
# camera's sensor: white is not 65,535.
LEAST_WHITE_OF_16_BITS = 2**12

# The value of alpha where nothing shines through.
OPAQUE = 255

# Weights of red, green and blue in a grey value (ITU-R BT.601).
LUMA = (0.299, 0.587, 0.114)

# The number of the EXIF tag for the orientation of an image.
ORIENTATION = 0x0112

# The value of that tag for an image that is shown as it is stored.
UPRIGHT = 1

# The values of that tag that turn the image by 90 degrees.
EXCHANGING_SIDES = range(5, 9)

# The mode of a data set -> what is wrong with an image that cannot be converted to it, and
# the way out.
WRONG_MODE = {
    "L": (
        "is in colour (mode {mode}), and the data set is grey",
        "convert it to grey, or the others to RGB",
    ),
    "RGB": (
        "has mode {mode}",
        "convert it to RGB or grey with 8 bits, or give the pixels as a float array in "
        "[0, 1]",
    ),
}


def channels_of(modes: set[str]) -> int | None:
    """Return 1 if images in all these modes are grey, 3 if some are in colour.

    The answer is None if a mode is neither grey nor in colour.
    """
    if not modes <= {*GREY, *COLOUR}:
        return None
    return 1 if modes <= {*GREY} else 3


def as_pixels(image: Image.Image, where: str) -> NDArray[np.uint8]:
    """Return the pixels (C, H, W) of an image as it was seen upright, in grey or RGB.

    Raises:
        WrongData: in the cases of `converted`.
    """
    # `converted` refuses a mode that is neither grey nor in colour.
    channels = channels_of({image.mode}) or 3
    return channels_first(converted(upright(image), channels, where))


def channels_first(image: Image.Image) -> NDArray[np.uint8]:
    """Return the pixels (C, H, W) of an image in grey or RGB."""
    # (H, W) or (H, W, 3)
    pixels = np.asarray(image)
    if pixels.ndim == 2:
        return pixels[None]
    return pixels.transpose(2, 0, 1)


def upright(image: Image.Image) -> Image.Image:
    """Return the image as its EXIF orientation says that it was seen."""
    if orientation_of(image) == UPRIGHT:
        return image
    return ImageOps.exif_transpose(image)


def orientation_of(image: Image.Image) -> int:
    """Return the EXIF orientation of an image."""
    # PIL would decode all of a PNG to look for EXIF data behind the pixels.
    if image.format == "PNG" and "exif" not in image.info:
        return UPRIGHT
    return int(image.getexif().get(ORIENTATION, UPRIGHT))


def converted(image: Image.Image, channels: int, where: str) -> Image.Image:
    """Return `image` as 8-bit grey or RGB. Of 16-bit values, the upper 8 bits are kept.

    Args:
        image: in any mode.
        channels: 1 for grey, 3 for RGB.
        where: names the image in errors.

    Raises:
        WrongData: a mode that is not converted, transparent pixels, or 16 bits of which
            only the lower 12 are used.
    """
    mode = "L" if channels == 1 else "RGB"
    convertible = GREY if mode == "L" else (*GREY, *COLOUR)
    if image.mode not in convertible:
        fault, way_out = WRONG_MODE[mode]
        raise WrongData(f"{where} {fault.format(mode=image.mode)}", fix=way_out)

    if image.mode in SIXTEEN_BITS:
        image = _upper_8_bits(image, where)
    if image.has_transparency_data:
        image = _opaque(image, where)
    return image.convert(mode)


def _upper_8_bits(image: Image.Image, where: str) -> Image.Image:
    """Return a grey image of 16 bits as one of 8.

    Raises:
        WrongData: only its lower 12 bits are used, so that it would be nearly black.
    """
    values = np.asarray(image).astype(np.uint32)
    brightest = values.max(initial=0)
    if 0 < brightest < LEAST_WHITE_OF_16_BITS:
        raise WrongData(
            f"{where} has 16 bits a pixel and no value above {brightest}",
            fix="scale it to 0..65535",
        )
    return Image.fromarray((values >> 8).astype(np.uint8))


def _opaque(image: Image.Image, where: str) -> Image.Image:
    """Return an image without its alpha channel, in RGB.

    Raises:
        WrongData: a pixel is transparent, whose colour depends on the background.
    """
    image = image.convert("RGBA")
    least_alpha, _ = image.getchannel("A").getextrema()
    if least_alpha != OPAQUE:
        raise WrongData(
            f"{where} has transparent pixels",
            fix="put it on a background, without an alpha channel",
        )
    return image.convert("RGB")
