"""From compressed bytes to pixels, for every data set and single image files; docs/data.md has the table of modes."""

import io
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import IO, Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError, features
from torch import Generator, Tensor

from randsmooth.contents import HEAD, stands_for
from randsmooth.data.dataset_spec import RESIZE, DatasetSpec, Fit, Sides
from randsmooth.data.labels import NO_LABEL, Classes
from randsmooth.documents import refused
from randsmooth.errors import NotFound, Problem, TooLarge, WrongData

# PIL's image mode for a number of channels.
MODES = {1: "L", 3: "RGB"}

# The modes of ImageNet's images that are not RGB.
TO_RGB = ("L", "P", "RGBA", "CMYK")

# The formats that are decoded: some others that PIL knows start other programs.
FORMATS = ["PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF", "PPM"]
with warnings.catch_warnings(action="ignore"):  # of a PIL that has not heard of it
    if features.check("avif"):
        FORMATS.append("AVIF")

# Pixels of one image, as its header says and after scaling; ImageNet's largest image has 61 million.
MOST_PIXELS = 2**26

# Scans of one JPEG: programs write about ten, and a few more stand in the thumbnails of its head.
MOST_SCANS = 50
START_OF_SCAN = b"\xff\xda"

_one_at_a_time = Lock()  # all threads share the filters of warnings

# Modes of PIL by what they hold. What is in none of them is refused by name.
SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")
GREY = ("1", "L", "LA", "La", *SIXTEEN_BITS)
COLOUR = ("P", "PA", "RGB", "RGBA", "RGBX", "CMYK")

# A 16-bit image all of whose values are smaller holds fewer bits than its file: 12, say, of a camera's sensor.
FEWER_BITS = 2**12

LUMA = (
    0.299,
    0.587,
    0.114,
)  # weights of red, green and blue in a grey value (ITU-R BT.601)
ORIENTATION = 0x0112  # the EXIF tag
WRONG_CHANNELS = {
    1: "is in colour (mode {mode}), and the data set is grey: convert it to grey, or the others to RGB",
    3: "has mode {mode}: convert it to RGB or grey with 8 bits, or give the pixels as a float array in [0, 1]",
}

# What makes images white whose pixels are 0 and 1.
WHITE = "save 255 times its pixels, or one bit a pixel,"

MOST_SWELLING, SMALL_BYTES = (
    64,
    2**27,
)  # how much a file may hold: so many times its size, or so many bytes

# Images that a thread decodes before it asks for more: enough that the asking costs little, even for small PNGs.
CHUNK = 16


SCALE, RATIO, ATTEMPTS = (0.08, 1.0), (3 / 4, 4 / 3), 10  # of random resized crops
LOG_RATIO = math.log(RATIO[0]), math.log(RATIO[1])
DRAWS = (
    2 * ATTEMPTS + 3
)  # uniform numbers that one of them uses: area and ratio of each attempt, corner, flip


Names = Sequence[Path | str]
Content = Callable[[int], bytes | Path | None]


class Source(ABC):
    """The images of a split where they lie, read when they are asked for.

    Attributes:
        classes: the class names that the data themselves give; None where they give none.
        alphabetical: whether the data give these no order, so that they are in that of the alphabet.
        name: what to call it in errors.
        names: what to call each image besides its position: its file, where each has one; or empty.
        threads: whether several threads may read at the same time.
        labelled: whether the images have labels.
    """

    threads, labelled = True, True
    alphabetical = False

    def __init__(
        self, labels: Tensor | None, classes: Classes, name: str, names: Names = ()
    ) -> None:
        """`labels` (N,): NO_LABEL throughout where there are none; None where the subclass finds them one by one."""
        self.classes, self.name, self.names = classes, name, names
        if labels is not None:
            self.labels = labels
            self.labelled = not bool((labels == NO_LABEL).any())

    def __len__(self) -> int:
        return len(self.labels)

    def labels_at(self, indices: Tensor) -> Tensor:
        """The labels (B,) of the images at `indices` (B,)."""
        return self.labels[indices]

    def where(self, index: int) -> str:
        """What to call image `index` in an error."""
        return (
            f"image {index} ({self.names[index]})"
            if self.names
            else f"image {index} of {self.name}"
        )

    def file_of(self, index: int) -> str | None:
        """The file of image `index`, where it has one of its own."""
        return (
            str(name)
            if self.names and isinstance(name := self.names[index], Path)
            else None
        )

    @abstractmethod
    def read(
        self, index: int, spec: DatasetSpec, draws: Sequence[float] | None = None
    ) -> NDArray[Any]:
        """The pixels (C, H, W) of one image as `spec` says, uint8, or float32 in [0, 1] where `threads` is False.

        `draws`: the uniform numbers of a random resized crop, as `crop_draws` gives them.
        """

    def read_many(
        self,
        indices: Tensor,
        spec: DatasetSpec,
        draws: Sequence[Sequence[float]] | None = None,
    ) -> Tensor:
        """The images at `indices` (B,) by a pool of threads: (B, C, H, W).

        Raises:
            Problem: an image cannot be used; the message names the first such image by its index.
        """
        wanted = indices.tolist()
        if not self.threads:
            return torch.stack(
                [torch.from_numpy(self.read(index, spec)) for index in wanted]
            )
        out = np.empty((len(wanted), *spec.shape), dtype=np.uint8)

        def fill(start: int) -> None:
            for row, index in enumerate(wanted[start : start + CHUNK], start):
                out[row] = self.read(index, spec, draws[row] if draws else None)

        with ThreadPoolExecutor() as pool:
            for _ in pool.map(fill, range(0, len(wanted), CHUNK)):
                pass  # map() raises here what a thread raised, and drops the chunks that have not begun
        return torch.from_numpy(out)


class Encoded(Source):
    """A split of compressed images."""

    def __init__(
        self,
        labels: Tensor,
        classes: Classes,
        name: str,
        content: Content,
        names: Names = (),
        *,
        alphabetical: bool = False,
    ) -> None:
        """`content` gives the bytes of image `index`, or the file that holds them; None where there are none."""
        super().__init__(labels, classes, name, names)
        self.content = content
        self.alphabetical = alphabetical

    def open(self, index: int) -> IO[bytes]:
        found = self.content(index)
        if found is None:
            raise WrongData(
                f"{self.where(index)} has no bytes: store the image itself, not only its path"
            )
        return opened(found) if isinstance(found, Path) else io.BytesIO(found)

    def read(
        self, index: int, spec: DatasetSpec, draws: Sequence[float] | None = None
    ) -> NDArray[np.uint8]:
        with self.open(index) as stream:
            return decode(stream, spec, self.where(index), draws)


def opened(path: str | Path) -> IO[bytes]:
    """The file at `path`, opened. Raises Problem where there is none, or it cannot be read."""
    if not Path(path).is_file():  # but a folder, or a pipe that never ends
        raise NotFound(f"no file at {path}")
    with refused(f"{path} cannot be read", OSError):
        return Path(path).open("rb")


def check_swelling(file: Path, holds: int, packed: int) -> None:
    """Raise Problem where the `packed` bytes of a file hold so many more that it may be made to fill the memory."""
    if holds > (most := max(SMALL_BYTES, MOST_SWELLING * packed)):
        way = "expected images compressed, once each, or arrays of np.savez"
        raise WrongData(f"{file} swells to more than {most:,} bytes; {way}")


def read_image(path: str | Path, spec: DatasetSpec) -> Tensor:
    """One image file in the form that is certified: (C, H, W) float32 in [0, 1].

    As in data sets, the first frame of an animation is read, and pixels are taken as they are stored, without the
    rotation that EXIF data may ask for, unless the spec converts images.

    Raises:
        Problem: the file is missing, is no image, or does not have the size or channels of `spec`.

    Example:
        >>> import tempfile
        >>> from randsmooth.data import DATASETS
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "black.png")
        ...     Image.new("L", (8, 8)).save(path)
        ...     x = read_image(path, DATASETS["digits"])
        >>> x.shape, float(x.max())
        (torch.Size([1, 8, 8]), 0.0)
    """
    with opened(path) as stream:
        pixels = decode(stream, spec, str(path))
    check_brightest(int(pixels.max()), f"{path} is an image of 8 bits and", WHITE)
    return torch.tensor(pixels).float() / 255


def read_picture(path: str | Path, spec: DatasetSpec) -> tuple[Tensor, str]:
    """A picture of any size, in grey or colour, in the form that is certified, and in words how it came to that size.

    What is like the images of the data set is read as by `read_image`, and the words are empty. Any other picture is
    turned upright and scaled as `spec` says, else until it covers H x W; then its centre is cut, and turned grey where
    `spec` is grey.

    Raises:
        Problem: as `read_image`, but for the size and for colours.

    Example:
        >>> import tempfile
        >>> from randsmooth.data import DATASETS
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "photo.png")
        ...     Image.new("RGB", (40, 30)).save(path)
        ...     x, words = read_picture(path, DATASETS["digits"])
        >>> x.shape, words
        (torch.Size([1, 8, 8]), 'brought from 30x40 to 8x8 before any noise (resize 8, crop 8, grey)')
    """
    channels, H, W = spec.shape
    with opened(path) as stream:
        mode, height, width = form(stream, str(path))
    short = min(height, width)
    covering = max(
        -(-H * short // height), -(-W * short // width)
    )  # of the shorter side, rounded up
    fit = Fit((spec.fitting or Fit(covering)).resize, (H, W))
    try:
        x = read_image(path, spec)
    except Problem:
        x = read_image(
            path,
            replace(
                spec,
                fit=fit,
                convert=True,
                shape=(3 if channels == 1 else channels, H, W),
            ),
        )
        if channels == 1:
            x = (
                torch.tensordot(torch.tensor(LUMA), x * 255.0, dims=1)[None].round()
                / 255.0
            )
    larger = fit.scaled((height, width))
    done = {"resize": larger != (height, width), "crop": larger != (H, W)}
    how = [f"{name} {size}" for name, size in fit.words().items() if done[name]]
    grey = channels == 1 and mode not in GREY
    if not how:
        return x, "turned grey before any noise" if grey else ""
    how += ["grey"] * grey
    return (
        x,
        f"brought from {height}x{width} to {H}x{W} before any noise ({', '.join(how)})",
    )


def check_brightest(value: int, what: str, way: str) -> None:
    """Raise Problem where the brightest of 8-bit pixels is 1: that is almost black, and may be meant as white.

    Args:
        value: of the brightest pixel.
        what: the images, and what else is said of them.
        way: how they are made white.
    """
    if value == 1:
        raise WrongData(f"{what} holds 0 and 1 only, of 255: {way} if 1 means white")


def decode(
    stream: IO[bytes],
    spec: DatasetSpec,
    where: str,
    draws: Sequence[float] | None = None,
) -> NDArray[np.uint8]:
    """One image in the form that `spec` asks for: (C, H, W) uint8. `where` names the image in a Problem."""
    with _image(stream, where) as image:
        if image.format == "JPEG":
            _check_scans(stream, where)
        return channels_first(_fitted(image, spec, where, draws))


def channels_first(image: Image.Image) -> NDArray[np.uint8]:
    """The pixels (C, H, W) of an image in grey or RGB."""
    pixels = np.asarray(image)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)


def form(
    stream: IO[bytes], where: str, *, most: int = MOST_PIXELS
) -> tuple[str, int, int]:
    """PIL mode, height and width, upright, of one image, from its header alone.

    Raises:
        Problem: there is no header, or it says more than `most` pixels.
    """
    with _image(stream, where, most) as image:
        turned = 5 <= _orientation(image) <= 8  # which exchanges height and width
        return image.mode, *(image.size if turned else image.size[::-1])


@contextmanager
def _image(
    stream: IO[bytes], where: str, most: int = MOST_PIXELS
) -> Iterator[Image.Image]:
    """The image in `stream`, of a size that can be decoded. Whatever a decoder raises becomes a Problem.

    The caller decodes it, in parallel with others. Only TIFF is decoded here: PIL reads its tags again while it
    decodes, and would warn again. EXIF data are read here and kept: damaged ones turn no image, without a warning.
    """
    with refused(
        f"{where} cannot be decoded"
    ):  # damage makes a decoder raise whatever it likes
        with _one_at_a_time, warnings.catch_warnings(action="ignore"):
            try:
                image = Image.open(stream, formats=FORMATS)
            except UnidentifiedImageError as error:
                stream.seek(0)
                if instead := stands_for(stream.read(HEAD)):
                    raise WrongData(f"{where} {instead}") from error
                raise WrongData(
                    f"{where} cannot be decoded: it is none of {', '.join(FORMATS)}"
                ) from error
            except Image.DecompressionBombError as error:
                raise TooLarge(
                    f"{where} is not decoded: it has more pixels than the {most:,} read"
                ) from error
            _check_pixels(image.width, image.height, where, most)
            if image.format == "TIFF":
                image.load()
            elif "exif" in image.info:
                image.getexif()
        with image:
            yield image


def _check_pixels(width: int, height: int, where: str, most: int = MOST_PIXELS) -> None:
    if width * height > most:
        raise WrongData(
            f"{where} is not decoded: {height} x {width} pixels are more than the {most:,} read"
        )


def _check_scans(stream: IO[bytes], where: str) -> None:
    """Raise Problem for a JPEG of so many scans that a small file takes long: each goes over all pixels."""
    place = stream.tell()
    stream.seek(0)
    scans = stream.read().count(START_OF_SCAN)  # which compressed data hold nowhere
    stream.seek(place)
    if scans > MOST_SCANS:
        way = f"are more than the {MOST_SCANS} read: save it again"
        raise WrongData(
            f"{where} is not decoded: {scans:,} scans of a progressive JPEG {way}"
        )


def _fitted(
    image: Image.Image, spec: DatasetSpec, where: str, draws: Sequence[float] | None
) -> Image.Image:
    """`image` in the mode and size of `spec`: resized and cropped if the spec says so, checked if it does not."""
    channels, *sides = spec.shape
    fit, mode = spec.fitting, MODES.get(channels, "none")
    if spec.convert:
        image = converted(upright(image), channels, where)
    elif fit is not None and image.mode in TO_RGB and channels == 3:
        image = image.convert("RGB")
    if image.mode == mode:
        if draws is not None:
            return random_resized_crop(image, draws, (sides[0], sides[1]))
        if fit is not None:
            height, width = fit.scaled((image.height, image.width))
            _check_pixels(width, height, f"{where}, scaled,")
            image = cut_centre(
                scaled(image, (height, width)),
                fit.sides((image.height, image.width), where),
            )
        if [image.height, image.width] == sides:
            return image
    way = "convert it" if image.mode != mode or not spec.convert else RESIZE
    needs = f"{spec.name} needs {sides[0]}x{sides[1]} in mode {mode}"
    raise WrongData(
        f"{where} is {image.height}x{image.width} in mode {image.mode}; {needs}: {way}"
    )


def channels_of(modes: set[str]) -> int | None:
    """1 if images of all these modes are grey, 3 if some are in colour; None if one of them is neither."""
    if not modes <= {*GREY, *COLOUR}:
        return None
    return 1 if modes <= set(GREY) else 3


def as_pixels(image: Image.Image, where: str) -> NDArray[np.uint8]:
    """The pixels (C, H, W) of an image that was seen upright, in grey or RGB. Errors as `converted`."""
    return channels_first(
        converted(upright(image), channels_of({image.mode}) or 3, where)
    )


def upright(image: Image.Image) -> Image.Image:
    """The image as its EXIF orientation says that it was seen."""
    return image if _orientation(image) == 1 else ImageOps.exif_transpose(image)


def _orientation(image: Image.Image) -> int:
    if (
        image.format == "PNG" and "exif" not in image.info
    ):  # PIL would decode all of it to look for more
        return 1
    return int(image.getexif().get(ORIENTATION, 1))


def converted(image: Image.Image, channels: int, where: str) -> Image.Image:
    """`image` as 8-bit grey (`channels` 1) or RGB (3); of 16 bits the upper 8.

    Raises:
        Problem: a mode that is not converted, transparent pixels, or 16 bits of which only the lower 12 are used.
    """
    if image.mode not in (*GREY, *COLOUR) or (channels == 1 and image.mode not in GREY):
        raise WrongData(f"{where} {WRONG_CHANNELS[channels].format(mode=image.mode)}")
    if image.mode in SIXTEEN_BITS:
        values = np.asarray(image).astype(np.uint32)
        if 0 < values.max(initial=0) < FEWER_BITS:
            raise WrongData(
                f"{where} has 16 bits a pixel and no value above {values.max()}: scale it to 0..65535"
            )
        image = Image.fromarray((values >> 8).astype(np.uint8))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        if image.getchannel("A").getextrema()[0] != 255:
            raise WrongData(
                f"{where} has transparent pixels: put it on a background, without an alpha channel"
            )
        image = image.convert("RGB")
    return image.convert("L" if channels == 1 else "RGB")


def crop_draws(batch: int, generator: Generator) -> list[list[float]]:
    """The uniform numbers of `batch` random crops, drawn together so that they do not depend on the threads."""
    return torch.rand(
        (batch, DRAWS), generator=generator, device=generator.device
    ).tolist()


def scaled(image: Image.Image, sides: Sides) -> Image.Image:
    """The whole image at another height and width (bilinear, antialiased)."""
    height, width = sides
    return (
        image
        if image.size == (width, height)
        else image.resize((width, height), Image.Resampling.BILINEAR)
    )


def cut_centre(image: Image.Image, sides: Sides) -> Image.Image:
    """Its central window of height and width `sides`, which must not be larger than the image."""
    height, width = sides
    left, top = round((image.width - width) / 2), round((image.height - height) / 2)
    return image.crop((left, top, left + width, top + height))


def random_resized_crop(
    image: Image.Image, draws: Sequence[float], sides: Sides
) -> Image.Image:
    """Cut a random window, scale it to height and width `sides`, and mirror it with probability 1/2.

    `draws` are DRAWS uniform numbers in [0, 1), one row of `crop_draws`.
    """
    width, height = _window(image.size, draws)
    *_, across, down, mirror = draws
    left, top = (
        int(across * (image.width - width + 1)),
        int(down * (image.height - height + 1)),
    )
    image = image.crop((left, top, left + width, top + height))
    image = image.resize(sides[::-1], Image.Resampling.BILINEAR)
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if mirror < 0.5 else image


def _window(size: tuple[int, int], draws: Sequence[float]) -> tuple[int, int]:
    """Width and height, in pixels, of the first drawn window that fits, else of the largest allowed one."""
    full_width, full_height = size
    for u, v in zip(
        draws[: 2 * ATTEMPTS : 2], draws[1 : 2 * ATTEMPTS : 2], strict=True
    ):
        area = full_width * full_height * (SCALE[0] + u * (SCALE[1] - SCALE[0]))
        ratio = math.exp(LOG_RATIO[0] + v * (LOG_RATIO[1] - LOG_RATIO[0]))
        width, height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < width <= full_width and 0 < height <= full_height:
            return width, height
    widest = max(1, min(full_width, round(full_height * RATIO[1])))
    return widest, max(1, min(full_height, round(widest / RATIO[0])))
