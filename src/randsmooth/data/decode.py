"""From the compressed bytes of one image to its pixels."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError, features

from randsmooth.contents import HEAD_BYTES, stands_for
from randsmooth.data.cropping import cut_centre, random_resized_crop, scaled
from randsmooth.data.dataset_spec import DatasetSpec
from randsmooth.data.image_size import RESIZE
from randsmooth.data.pixel_modes import (
    EXCHANGING_SIDES,
    MODES,
    channels_first,
    converted,
    orientation_of,
    upright,
)
from randsmooth.documents import refused
from randsmooth.errors import NotFound, TooLarge, WrongData

# The modes of ImageNet's images that are not RGB.
TO_RGB = ("L", "P", "RGBA", "CMYK")

# The formats that are decoded. For some others, PIL would start other programs.
FORMATS = ["PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF", "PPM"]
# An old PIL does not know AVIF, and warns when it is asked about it.
with warnings.catch_warnings(action="ignore"):
    if features.check("avif"):
        FORMATS.append("AVIF")

# The most pixels of one image, by its header and after scaling. ImageNet's largest image has
# 61 million.
MOST_PIXELS = 2**26

# The most scans of one JPEG. Programs write about ten, and the thumbnails in its head may
# have a few more.
MOST_SCANS = 50

# The two bytes that begin a scan of a JPEG; compressed data hold them nowhere.
START_OF_SCAN = b"\xff\xda"

# The most bytes that a file may hold, once unpacked: MOST_SWELLING times its own size,
# or SMALL_BYTES, if that is more.
MOST_SWELLING = 64
SMALL_BYTES = 2**27

# The advice for images whose pixels are 0 and 1, if 1 means white.
WHITE = "save 255 times its pixels, or one bit a pixel,"

# Python's filters of warnings are shared by all threads, so one thread at a time changes them.
_filtering_warnings = Lock()


class ImageHeader(NamedTuple):
    """What the header of an image says: PIL's mode, and the sides of the upright image."""

    mode: str
    height: int
    width: int


def opened(path: str | Path) -> IO[bytes]:
    """Open the file at `path`, and return it.

    Raises:
        NotFound: there is no plain file. A pipe, say, might never end.
        WrongFile: it cannot be read.
    """
    if not Path(path).is_file():
        raise NotFound(f"no file at {path}")
    with refused(f"{path} cannot be read", OSError):
        return Path(path).open("rb")


def check_swelling(file: Path, holds: int, packed: int) -> None:
    """Raise WrongData where a file holds so much that it may be made to fill the memory.

    Args:
        file: the file, for the error.
        holds: how many bytes its content takes once it is decompressed.
        packed: how many bytes the file takes.
    """
    most = max(SMALL_BYTES, MOST_SWELLING * packed)
    if holds > most:
        raise WrongData(
            f"{file} swells to more than {most:,} bytes",
            fix="expected images compressed, once each, or arrays of np.savez",
        )


def check_brightest(value: int, what: str, way_out: str) -> None:
    """Raise WrongData where the brightest of 8-bit pixels is 1.

    A value of 1 in 255 is almost black, but its user may have meant white.

    Args:
        value: the value of the brightest pixel.
        what: the beginning of the message, which names the images.
        way_out: the advice how to save white.
    """
    if value == 1:
        raise WrongData(
            f"{what} holds only 0 and 1, where 255 is white",
            fix=f"{way_out} if 1 means white",
        )


def decode(
    stream: IO[bytes],
    spec: DatasetSpec,
    where: str,
    draws: Sequence[float] | None = None,
) -> NDArray[np.uint8]:
    """Return one image in the form that `spec` asks for: (C, H, W) uint8.

    Args:
        stream: the bytes of the image.
        spec: the spec of its data set.
        where: names the image in errors.
        draws: the uniform numbers of a random resized crop; None: no such crop.

    Raises:
        Problem: it cannot be decoded, or is not of that form.
    """
    with _image(stream, where) as image:
        if image.format == "JPEG":
            _check_scans(stream, where)
        return channels_first(_fitted(image, spec, where, draws))


def image_header(
    stream: IO[bytes], where: str, *, most: int = MOST_PIXELS
) -> ImageHeader:
    """Return mode, height and width of one image, from its header alone.

    Raises:
        Problem: there is no header, or it says more than `most` pixels.
    """
    with _image(stream, where, most) as image:
        if orientation_of(image) in EXCHANGING_SIDES:
            return ImageHeader(image.mode, height=image.width, width=image.height)
        return ImageHeader(image.mode, image.height, image.width)


@contextmanager
def _image(
    stream: IO[bytes], where: str, most: int = MOST_PIXELS
) -> Iterator[Image.Image]:
    """Open the image in `stream`, once its size was checked, for the block.

    The block decodes it, while other threads decode other images. Whatever a decoder raises
    becomes a Problem, since a damaged image may make it raise anything.
    """
    with refused(f"{where} cannot be decoded"):
        with _filtering_warnings, warnings.catch_warnings(action="ignore"):
            image = _opened_image(stream, where, most)
            _check_pixels(image.width, image.height, where, most)
            if image.format == "TIFF":
                # PIL reads its tags again while it decodes, and would warn again.
                image.load()
            elif "exif" in image.info:
                # PIL keeps what it has read. So damaged EXIF data cannot warn later, outside
                # of this filter.
                image.getexif()
        with image:
            yield image


def _opened_image(stream: IO[bytes], where: str, most: int) -> Image.Image:
    """Return the image in `stream`, of which PIL has read only the header.

    Raises:
        WrongData: it is no image of a format that is decoded.
        TooLarge: PIL itself refuses it for its size.
    """
    try:
        return Image.open(stream, formats=FORMATS)
    except UnidentifiedImageError as error:
        # It may be a text that stands for the image, such as a pointer of Git LFS.
        stream.seek(0)
        instead = stands_for(stream.read(HEAD_BYTES))
        if instead:
            raise WrongData(f"{where} {instead}") from error
        raise WrongData(
            f"{where} cannot be decoded: it is none of {', '.join(FORMATS)}"
        ) from error
    except Image.DecompressionBombError as error:
        raise TooLarge(
            f"{where} is not decoded: it has more pixels than the {most:,} read"
        ) from error


def _check_pixels(width: int, height: int, where: str, most: int = MOST_PIXELS) -> None:
    """Raise WrongData for an image with more than `most` pixels."""
    if width * height > most:
        raise WrongData(
            f"{where} is not decoded: {height} x {width} pixels are more than the "
            f"{most:,} read"
        )


def _check_scans(stream: IO[bytes], where: str) -> None:
    """Raise WrongData for a JPEG of many scans.

    Each scan goes over all pixels, so a small file could take very long.
    """
    place = stream.tell()
    stream.seek(0)
    scans = stream.read().count(START_OF_SCAN)
    stream.seek(place)
    if scans > MOST_SCANS:
        raise WrongData(
            f"{where} is not decoded: {scans:,} scans of a progressive JPEG are more "
            f"than the {MOST_SCANS} read",
            fix="save it again",
        )


def _fitted(
    image: Image.Image, spec: DatasetSpec, where: str, draws: Sequence[float] | None
) -> Image.Image:
    """Return `image` in the mode and the size of `spec`.

    It is resized and cropped where the spec says so, and checked where it does not.
    """
    channels, height, width = spec.shape
    # An image has 1 or 3 channels. For another number no mode is right.
    mode = MODES.get(channels, "none")
    if spec.convert:
        image = converted(upright(image), channels, where)
    elif spec.fitting is not None and mode == "RGB" and image.mode in TO_RGB:
        image = image.convert("RGB")

    if image.mode == mode:
        if draws is not None:
            return random_resized_crop(image, draws, (height, width))
        image = _resized(image, spec, where)
        if (image.height, image.width) == (height, width):
            return image

    # A converted image has the right mode by now, so only its size can be wrong.
    way_out = RESIZE if spec.convert and image.mode == mode else "convert it"
    raise WrongData(
        f"{where} is {image.height}x{image.width} in mode {image.mode}; {spec.name} "
        f"needs {height}x{width} in mode {mode}",
        fix=way_out,
    )


def _resized(image: Image.Image, spec: DatasetSpec, where: str) -> Image.Image:
    """Return `image` resized and cropped as `spec` says, or unchanged if it says nothing."""
    if spec.fitting is None:
        return image

    before = (image.height, image.width)
    height, width = spec.fitting.scaled(before)
    _check_pixels(width, height, f"{where}, scaled,")
    window = spec.fitting.sides(before, where)
    return cut_centre(scaled(image, (height, width)), window)
