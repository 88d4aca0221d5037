"""The height and width of images: how users write them, and how images are brought to them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from randsmooth.errors import BadValue, WrongData
from randsmooth.notes import Note

# The largest height or width, in pixels, that a user may ask for.
LARGEST_SIDE = 2**14

# The most image sizes that an error lists.
SIZES_LISTED = 3

# A height, or a height and a width, as "224" and "224x192".
SIZE_AS_TEXT = re.compile(r"[0-9]{1,5}(x[0-9]{1,5})?")

# What to do where images are of other sizes than the model's.
RESIZE = (
    "give the model's size by resize and crop, such as resize='32x32', before any noise"
)

# Height and width, in pixels.
Sides = tuple[int, int]

# A size as users write it: 224, (224, 192) or "224x192", height first, in pixels.
Size = int | str | Sequence[int]

# Values of `resize` about which this process has given a `Note` already.
_noted_as_distorting = set[Sides]()


@dataclass(frozen=True)
class Fit:
    """Scaling (bilinear, antialiased), then cutting of the centre.

    Both happen before any noise is added.

    Attributes:
        resize: the length of the shorter side, so that the proportions stay; or
            height and width, which may change them; None: no scaling.
        crop: height and width that are cut from the centre afterwards; None: no
            cutting.

    Example:
        >>> Fit.of(resize=256, crop="224x192")
        Fit(resize=256, crop=(224, 192))
        >>> Fit.of(resize=256, crop=224).sides((300, 600), "a.png")
        (224, 224)
    """

    resize: int | Sides | None = None
    crop: Sides | None = None

    @classmethod
    def of(cls, resize: Size | None = None, crop: Size | None = None) -> Fit | None:
        """Return the fit that a user asks for; None where neither argument is given.

        Args:
            resize: a number of pixels, (height, width) or "HxW".
            crop: the same; a number is the side of a square.

        Raises:
            BadValue: one of them is no size.
        """
        if resize is None and crop is None:
            return None

        window = parse_size("crop", crop)
        if isinstance(window, int):
            window = (window, window)
        return cls(resize=parse_size("resize", resize), crop=window)

    def words(self) -> dict[str, str | None]:
        """Return `resize` and `crop` as the command line and headers write them.

        A square crop is written as one number.

        Example:
            >>> Fit.of(resize=(64, 48), crop=32).words()
            {'resize': '64x48', 'crop': '32'}
        """
        window: int | Sides | None = self.crop
        if self.crop is not None and self.crop[0] == self.crop[1]:
            window = self.crop[0]
        return {"resize": written(self.resize), "crop": written(window)}

    def scaled(self, sides: Sides) -> Sides:
        """Return the height and width that scaling gives an image of `sides`."""
        if self.resize is None:
            return sides
        if not isinstance(self.resize, int):
            return self.resize

        height, width = sides
        shorter = min(sides)
        return self.resize * height // shorter, self.resize * width // shorter

    def sides(self, sides: Sides, where: str) -> Sides:
        """Return the height and width of an image once it was scaled and cut.

        Where scaling changes the proportions, a `Note` says so, once.

        Args:
            sides: height and width of the image before.
            where: names the image in errors.

        Raises:
            WrongData: the scaled image is smaller than what is to be cut from it.
        """
        height, width = self.scaled(sides)
        self._note_distortion(sides, (height, width), where)
        if self.crop is None:
            return height, width

        if self.crop[0] > height or self.crop[1] > width:
            when = "" if self.resize is None else " after resizing"
            raise WrongData(
                f"{where} is {height}x{width}{when}, smaller than the crop "
                f"{written(self.crop)}",
                fix="resize to at least that, or crop less; nothing is padded",
            )
        return self.crop

    def _note_distortion(self, before: Sides, after: Sides, where: str) -> None:
        """Give a `Note` where scaling changes the proportions, once for each `resize`.

        Args:
            before: height and width of an image.
            after: its height and width after scaling.
            where: names the image.
        """
        # A single number keeps the proportions.
        if not isinstance(self.resize, tuple) or self.resize in _noted_as_distorting:
            return

        # after = before * factor would make the cross products equal. They differ by
        # less than the longer side where rounding to whole pixels explains it.
        difference = abs(after[0] * before[1] - after[1] * before[0])
        if difference < max(before):
            return

        _noted_as_distorting.add(self.resize)
        note = Note(
            "proportions_lost",
            image=where,
            sides=written(before),
            size=written(self.resize),
            side=max(self.resize),
        )
        warnings.warn(note, stacklevel=3)


def parse_size(name: str, value: Any) -> int | Sides | None:
    """Return a size that a user wrote, as a number or as height and width.

    Args:
        name: the argument that it was given as.
        value: 224, (224, 192) or "224x192", height first; None stays None.

    Raises:
        BadValue: anything else, or a side out of 1..16384.

    Example:
        >>> parse_size("crop", "224x192"), parse_size("crop", 224)
        ((224, 192), 224)
    """
    if value is None:
        return None

    text = str(value).strip()
    if isinstance(value, list | tuple):
        text = "x".join(map(str, value))
    sides: list[int] = []
    if SIZE_AS_TEXT.fullmatch(text):
        sides = [int(side) for side in text.split("x")]

    if not sides or min(sides) < 1 or max(sides) > LARGEST_SIDE:
        pixels = f"give 1 to {LARGEST_SIDE:,} pixels, such as 224 or 224x192"
        raise BadValue(field=name, value=value, expected="is no size", fix=pixels)

    if len(sides) == 1:
        return sides[0]
    return sides[0], sides[1]


def written(size: int | Sides | None) -> str | None:
    """Return a size as the command line and headers write it; None stays None.

    Example:
        >>> written(224), written((224, 192))
        ('224', '224x192')
    """
    if size is None:
        return None
    if isinstance(size, int):
        return str(size)
    return f"{size[0]}x{size[1]}"


def one_shape(
    channels: int, sides: set[Sides], fit: Fit | None, source: str
) -> tuple[int, int, int]:
    """Return the shape (C, H, W) that all images of a data set have, or are brought to.

    Args:
        channels: C.
        sides: the heights and widths that occur among them.
        fit: how they are brought to one size; None: they must have it already.
        source: names the data set in errors.

    Raises:
        WrongData: there are several sizes in the end.
    """
    if fit is not None:
        sides = {fit.sides(before, f"an image of {source}") for before in sides}
    sizes = sorted(sides)
    if len(sizes) > 1:
        listed = ", ".join(
            f"{height}x{width}" for height, width in sizes[:SIZES_LISTED]
        )
        if len(sizes) > SIZES_LISTED:
            listed += ", ..."
        when = "" if fit is None else " after resizing"
        raise WrongData(
            f"the images of {source} have {len(sizes)} sizes{when} ({listed})",
            fix=RESIZE,
        )

    height, width = sizes[0]
    return channels, height, width
