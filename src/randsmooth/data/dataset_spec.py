"""What a data set is, apart from its pixels, a user's own too; and how images of any size are brought to one."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from randsmooth.errors import BadValue, WrongData
from randsmooth.notes import Note
from randsmooth.urls import without_credentials

SPLITS = ("train", "test")

Augmentation = Literal["none", "crop", "crop-flip", "random-resized-crop-flip"]

# A set whose largest split is bigger than this once decoded is read from disk image by image.
IN_MEMORY_BYTES = 4 * 2**30

LONGEST_SIDE = 2**14  # pixels
WRITTEN = re.compile(r"[0-9]{1,5}(x[0-9]{1,5})?")

# What to do where sizes differ.
RESIZE = (
    "give the model's size by resize and crop, such as resize='32x32', before any noise"
)

Sides = tuple[int, int]
"""Height and width, in pixels."""

Size = int | str | Sequence[int]
"""A size as users write it: 224, (224, 192) or "224x192", height first, in pixels."""


class ReadingOptions(TypedDict, total=False):
    """How images of a user's own are read and brought to one size, as keywords.

    Functions that pass these on to `data.load` name them in their signature.

    Attributes:
        image_column: the column, array or extension that holds the images.
        label_column: the one that holds the labels; "none" says that there are none.
        resize: the length of the shorter side, or (height, width), to scale to.
        crop: the side, or (height, width), that is then cut from the centre.

    Example:
        >>> options: ReadingOptions = {"label_column": "kind", "crop": 24}
        >>> sorted(options)
        ['crop', 'label_column']
    """

    image_column: str | None
    label_column: str | None
    resize: Size | None
    crop: Size | None


_told = set[Sides]()  # sizes of which this process has said that they distort


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
    def of(cls, resize: Size | None = None, crop: Size | None = None) -> Fit | None:
        """What a user asks for: each a number of pixels, (height, width) or "HxW"; None where neither is given.

        Raises:
            Problem: a size that is none.
        """
        if resize is None and crop is None:
            return None
        cut = parse_size("crop", crop)
        return cls(
            parse_size("resize", resize), (cut, cut) if isinstance(cut, int) else cut
        )

    def words(self) -> dict[str, str | None]:
        """`resize` and `crop` as the command line and headers write them.

        Example:
            >>> Fit.of(resize=(64, 48), crop=32).words()
            {'resize': '64x48', 'crop': '32'}
        """
        square = self.crop is not None and self.crop[0] == self.crop[1]
        return {
            "resize": written(self.resize),
            "crop": written(self.crop[0] if square and self.crop else self.crop),
        }

    def scaled(self, sides: Sides) -> Sides:
        """Height and width after scaling an image of height and width `sides`."""
        if self.resize is None:
            return sides
        if not isinstance(self.resize, int):
            return self.resize
        height, width = sides
        return self.resize * height // min(sides), self.resize * width // min(sides)

    def sides(self, sides: Sides, where: str) -> Sides:
        """Height and width after scaling and cutting; a `Note`, once, where scaling changes the proportions.

        Raises Problem where there is less than is to be cut.
        """
        height, width = self.scaled(sides)
        distorts = abs(height * sides[1] - width * sides[0]) >= max(
            sides
        )  # by a pixel or more
        if isinstance(self.resize, tuple) and distorts and self.resize not in _told:
            _told.add(self.resize)
            note = Note(
                "proportions_lost",
                image=where,
                sides=written(sides),
                size=written(self.resize),
                side=max(self.resize),
            )
            warnings.warn(note, stacklevel=2)
        if self.crop is None:
            return height, width
        if self.crop[0] > height or self.crop[1] > width:
            was = "" if self.resize is None else " after resizing"
            way = "resize to at least that, or crop less; nothing is padded"
            raise WrongData(
                f"{where} is {height}x{width}{was}, smaller than the crop {written(self.crop)}: {way}"
            )
        return self.crop


def parse_size(name: str, value: Any) -> int | Sides | None:
    """A size as users write it: 224, (224, 192) or "224x192", height first; None stays None.

    Raises:
        Problem: anything else, or a side out of 1..16384.

    Example:
        >>> parse_size("crop", "224x192"), parse_size("crop", 224)
        ((224, 192), 224)
    """
    if value is None:
        return None
    text = (
        "x".join(map(str, value))
        if isinstance(value, list | tuple)
        else str(value).strip()
    )
    sides = [int(side) for side in text.split("x")] if WRITTEN.fullmatch(text) else []
    if not sides or not 1 <= min(sides) <= max(sides) <= LONGEST_SIDE:
        way = f"give 1 to {LONGEST_SIDE:,} pixels, as 224 or 224x192"
        raise BadValue(field=name, value=value, expected=f"is no size: {way}")
    return (sides[0], sides[1]) if len(sides) == 2 else sides[0]


def written(size: int | Sides | None) -> str | None:
    """A size as the command line and headers write it: "224", "224x192"; None stays None.

    Example:
        >>> written(224), written((224, 192))
        ('224', '224x192')
    """
    if isinstance(size, tuple):
        return f"{size[0]}x{size[1]}"
    return None if size is None else str(size)


@dataclass(frozen=True)
class Categories:
    """A column of features that holds no numbers: each of its values is told by a code, which has no other meaning.

    Attributes:
        name: of the column.
        place: its position among the features.
        codes: whole numbers below 2^24, which float32 holds exactly, ascending.
        values: what each code stands for.
        dtype: pandas' type of the column.

    Example:
        >>> cities = Categories("city", 1, (3.0, 7.0), ("Rome", "Oslo"), object)
        >>> cities.decoded(np.array([7.0, 3.0, 7.0])).tolist()
        ['Oslo', 'Rome', 'Oslo']
    """

    name: str
    place: int
    codes: tuple[float, ...]
    values: tuple[Any, ...]
    dtype: Any

    def decoded(self, column: NDArray[np.float64]) -> Any:
        """The pandas Series of the values that these codes (B,) stand for; of another number that of one before it."""
        import pandas as pd  # here, since it takes long to load

        places = np.searchsorted(self.codes, column, side="right") - 1
        return (
            pd.Series(list(self.values), dtype=self.dtype)
            .take(places.clip(0))
            .reset_index(drop=True)
        )


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """The facts about one data set that models, training and certification need.

    Attributes:
        name: what it is called on the command line and in files.
        shape: (C, H, W) of an image; of features the shape of one input, which has another number of axes.
        classes: the names of the K classes, in the order of the labels.
        mean, std: per channel, of pixels in [0, 1]; None: the model does not normalise.
        augment: the training augmentation.
        arch: the architecture that is trained where none is chosen.
        hub: the id on the Hugging Face hub; None: it is not there. hub_config: the configuration there.
        sizes: split -> number of images.
        description: one line for listings.
        resize: the shorter side, in pixels, before the central crop to `shape`; None: every image must have exactly
            that shape already.
        fit: how a user wants the images resized and cropped instead; None: as `resize` says.
        convert: images in other modes are converted to 8-bit grey or RGB and turned upright (docs/data.md), as a user's
            own are; False: they are taken as the literature takes them, and other modes are refused.
        open_ended: `classes` are only those of the labels that occur, and a model may know more.
        alphabetical: `classes` are names without an order of their own, numbered in that of the alphabet.
        columns: the names of features (d,), in their order; empty where the data give them none.
        held: those of the columns that hold no numbers but categories, in the order of their places.
        files: split -> names that its files may have, the hub's own name first.
        read: gives the pixels (N, C, H, W) uint8 and the labels (N,) int64 of a split, for data that are made or
            come with a package; None: they are looked for in a folder, then on the hub.

    Example:
        >>> stripes = DatasetSpec(
        ...     name="stripes",
        ...     shape=(1, 8, 8),
        ...     classes=("across", "down"),
        ...     arch="small-cnn",
        ...     sizes={"train": 200, "test": 100},
        ...     description="Stripes across or down, 8x8 grey",
        ... )
        >>> stripes.num_classes, stripes.streams
        (2, False)
    """

    name: str
    shape: tuple[int, ...]
    classes: tuple[str, ...]
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    augment: Augmentation = "none"
    arch: str
    hub: str | None = None
    sizes: dict[str, int]
    description: str
    hub_config: str | None = None
    resize: int | None = None
    fit: Fit | None = None
    convert: bool = False
    open_ended: bool = False
    alphabetical: bool = False
    columns: tuple[str, ...] = ()
    held: tuple[Categories, ...] = ()
    files: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {split: (split,) for split in SPLITS}
    )
    read: Callable[[str], tuple[NDArray[np.uint8], NDArray[np.int64]]] | None = None

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def features(self) -> bool:
        """Whether inputs are no images in [0, 1] but numbers of any scale: all that has not three axes."""
        return not is_image(self.shape)

    @property
    def inputs(self) -> str:
        """What to call several inputs: rows of features, or images."""
        return "rows" if self.features else "images"

    @property
    def streams(self) -> bool:
        """Whether images are decoded on demand instead of being held in memory."""
        return (
            self.resize is not None
            or max(self.sizes.values()) * math.prod(self.shape) > IN_MEMORY_BYTES
        )

    @property
    def fitting(self) -> Fit | None:
        """How each image is resized and cropped; None: it must have the `shape` already."""
        if self.fit is not None or self.resize is None:
            return self.fit
        return Fit(self.resize, (self.shape[1], self.shape[2]))


def own(
    name: str,
    sizes: dict[str, int],
    shape: tuple[int, ...],
    classes: tuple[str, ...],
    *,
    named: bool,
    fit: Fit | None,
    alphabetical: bool = False,
) -> DatasetSpec:
    """The spec of a user's own data; where the classes are not `named`, a model may know more of them."""
    name = without_credentials(name)
    what = "images" if is_image(shape) else "rows"
    words = f"{sum(sizes.values()):,} {what} of {name}"
    known: dict[str, Any] = {
        "sizes": sizes,
        "description": words,
        "fit": fit,
        "open_ended": not named,
        "alphabetical": alphabetical,
    }
    return DatasetSpec(
        name=name,
        classes=classes,
        shape=shape,
        arch=arch_for(shape),
        convert=True,
        **known,
    )


def one_shape(
    channels: int, sides: set[Sides], fit: Fit | None, source: str
) -> tuple[int, int, int]:
    """The shape (C, H, W) of images of so many channels, and of the one size that `fit` makes of these `sides`.

    Raises:
        Problem: it makes several sizes of them.
    """
    (first, *others) = found = sorted(
        {fit.sides(each, f"an image of {source}") if fit else each for each in sides}
    )
    if others:
        some = ", ".join(
            [*map(str, map(written, found[:3])), *["..."] * (len(found) > 3)]
        )
        when = " after resizing" if fit else ""
        raise WrongData(
            f"the images of {source} have {len(found)} sizes{when} ({some}): {RESIZE}"
        )
    return channels, *first


def refitted(spec: DatasetSpec, fit: Fit | None) -> DatasetSpec:
    """The spec of a named data set whose images a user wants resized or cropped in another way than usual."""
    if fit is None:
        return spec
    usual = spec.fitting or Fit()
    fit = Fit(
        usual.resize if fit.resize is None else fit.resize,
        usual.crop if fit.crop is None else fit.crop,
    )
    cut = fit.crop if spec.resize is not None else None  # whose images are of any size
    height, width = cut or fit.sides(
        (spec.shape[1], spec.shape[2]), f"an image of {spec.name}"
    )
    return replace(spec, fit=fit, shape=(spec.shape[0], height, width))


def is_image(shape: Sequence[int]) -> bool:
    """Whether an input of `shape` is an image (C, H, W) with pixels in [0, 1]; any other is features, of any scale.

    Example:
        >>> is_image((3, 32, 32)), is_image((13,)), is_image((2, 1000))
        (True, False, False)
    """
    return len(shape) == 3


def arch_for(shape: tuple[int, ...]) -> str:
    """The architecture that is trained for images of `shape`; of features there is none."""
    if not is_image(shape):
        return ""
    known: dict[tuple[int, ...], str] = {(1, 28, 28): "lenet", (3, 32, 32): "resnet110"}
    return known.get(shape, "small-cnn" if max(shape[1:]) < 28 else "resnet50")
