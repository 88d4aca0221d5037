"""How images of any size are brought to one: scaled, then cut from the centre."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from randsmooth.documents import shown
from randsmooth.errors import InputError

LONGEST_SIDE = 2**14  # pixels
WRITTEN = re.compile(r"([0-9]{1,5})(?:x([0-9]{1,5}))?")

Sides = tuple[int, int]
"""Height and width, in pixels."""


@dataclass(frozen=True)
class Fit:
    """Scaling (bilinear, antialiased) and central cutting, both of which happen before any noise is added.

    Attributes:
        resize: the length of the shorter side, so that the proportions stay; or height and width, which may change
            them; None: no scaling.
        crop: height and width that are cut from the centre afterwards; None: no cutting.

    Example:
        >>> Fit.of(resize=256, crop="224x192")
        Fit(resize=256, crop=(224, 192))
        >>> Fit.of(resize=256, crop=224).sides((300, 600), "a.png")
        (224, 224)
    """

    resize: int | Sides | None = None
    crop: Sides | None = None

    @classmethod
    def of(cls, resize: Any = None, crop: Any = None) -> Fit | None:
        """What a user asks for: each a number of pixels, (height, width) or "HxW"; None where neither is given.

        Raises:
            InputError: a size that is none.
        """
        if resize is None and crop is None:
            return None
        cut = parse_size("crop", crop)
        return cls(parse_size("resize", resize), (cut, cut) if isinstance(cut, int) else cut)

    def words(self) -> dict[str, str | None]:
        """`resize` and `crop` as the command line and headers write them.

        Example:
            >>> Fit.of(resize=(64, 48), crop=32).words()
            {'resize': '64x48', 'crop': '32'}
        """
        square = self.crop is not None and self.crop[0] == self.crop[1]
        return {"resize": written(self.resize), "crop": written(self.crop[0] if self.crop and square else self.crop)}

    def scaled(self, sides: Sides) -> Sides:
        """Height and width after scaling an image of height and width `sides`."""
        if self.resize is None:
            return sides
        if not isinstance(self.resize, int):
            return self.resize
        height, width = sides
        return self.resize * height // min(sides), self.resize * width // min(sides)

    def sides(self, sides: Sides, where: str) -> Sides:
        """Height and width after scaling and cutting. Raises InputError where there is less than is to be cut."""
        height, width = self.scaled(sides)
        if self.crop is None:
            return height, width
        if self.crop[0] > height or self.crop[1] > width:
            was = "" if self.resize is None else " after resizing"
            raise InputError(
                f"{where} is {height}x{width}{was}, smaller than the crop {written(self.crop)}: resize to at least "
                "that (--resize on the command line), or crop less; nothing is padded"
            )
        return self.crop


def parse_size(name: str, value: Any) -> int | Sides | None:
    """A size as users write it: 224, (224, 192) or "224x192", height first; None stays None.

    Raises:
        InputError: anything else, or a side out of 1..16384.

    Example:
        >>> parse_size("crop", "224x192"), parse_size("crop", 224)
        ((224, 192), 224)
    """
    if value is None:
        return None
    sides: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
    if isinstance(value, str):
        found = WRITTEN.fullmatch(value.strip())
        sides = [int(side) for side in found.groups() if side] if found else []
    whole = all(type(side) is int and 1 <= side <= LONGEST_SIDE for side in sides)
    if not whole or len(sides) not in (1, 2):
        raise InputError(
            f"{name}={shown(repr(value))} is no size: give pixels as one number, such as 224, or as HEIGHTxWIDTH, such "
            f"as 224x192, each from 1 to {LONGEST_SIDE:,}"
        )
    if len(sides) == 1 and not isinstance(value, list | tuple):
        return int(sides[0])
    return int(sides[0]), int(sides[-1])


def written(size: int | Sides | None) -> str | None:
    """A size as the command line and headers write it: "224", "224x192"; None stays None.

    Example:
        >>> written(224), written((224, 192))
        ('224', '224x192')
    """
    if size is None or isinstance(size, int):
        return None if size is None else str(size)
    return f"{size[0]}x{size[1]}"
