"""What a data set is, apart from its pixels: one of ours, or a user's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from randsmooth.data.image_size import Fit, Size
from randsmooth.urls import without_credentials

SPLITS = ("train", "test")

Augmentation = Literal["none", "crop", "crop-flip", "random-resized-crop-flip"]

# A data set whose largest split would take more bytes than this once decoded is read image by
# image.
IN_MEMORY_BYTES = 4 * 2**30

# The shape of images -> the architecture that is trained for them. For other shapes the size
# decides, see `arch_for`.
ARCH_FOR = {(1, 28, 28): "lenet", (3, 32, 32): "resnet110"}

# The longest side, in pixels, of images for which the small CNN is trained.
SMALL_CNN_MOST_SIDE = 27


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


class InputOptions(ReadingOptions, total=False):
    """How images or texts of a user's own are read, as keywords.

    Attributes:
        text_column: the column that holds texts, where inputs are texts.

    Example:
        >>> options: InputOptions = {"text_column": "review"}
        >>> sorted(options)
        ['text_column']
    """

    text_column: str | None


@dataclass(frozen=True)
class Categories:
    """A column of features that holds categories, such as names of cities, and no numbers.

    Each value has a code, a number without any other meaning.

    Attributes:
        name: the name of the column.
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
        """Return the values that codes (B,) stand for, as a pandas Series.

        A number that is no code stands for the value of the next smaller code, and below
        all codes for that of the first.
        """
        # pandas takes long to load.
        import pandas as pd

        places = np.searchsorted(self.codes, column, side="right") - 1
        values = pd.Series(list(self.values), dtype=self.dtype)
        return values.take(places.clip(0)).reset_index(drop=True)


def files_called_like_splits() -> dict[str, tuple[str, ...]]:
    """Return split -> the names of its files, for a data set whose files have its name."""
    return {split: (split,) for split in SPLITS}


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """The facts about one data set that models, training and certification need.

    Attributes:
        name: what it is called on the command line and in files.
        shape: (C, H, W) of an image; of features the shape of one input, which has
            another number of axes.
        classes: the names of the K classes, in the order of the labels.
        mean, std: per channel, of pixels in [0, 1]; None: the model does not normalise.
        augment: the training augmentation.
        arch: the architecture that is trained where none is chosen.
        hub: the id on the Hugging Face hub; None: it is not there.
        hub_config: the configuration there.
        sizes: split -> number of images.
        description: one line for listings.
        resize: the shorter side, in pixels, before the central crop to `shape`; None:
            every image must have exactly that shape already.
        fit: how a user wants the images resized and cropped instead; None: as `resize`
            says.
        convert: images in other modes are converted to 8-bit grey or RGB and turned
            upright (docs/data.md), as a user's own are; False: they are taken as the
            literature takes them, and other modes are refused.
        open_ended: `classes` are only those of the labels that occur, and a model may
            know more.
        alphabetical: `classes` are names without an order of their own, numbered in
            that of the alphabet.
        columns: the names of features (d,), in their order; empty where the data give
            them none.
        held: the columns that hold no numbers but categories, in the order of their
            places.
        texts: whether inputs are texts, a column a word (see `data.texts`).
        files: split -> names that its files may have, the hub's own name first.
        read: gives the pixels (N, C, H, W) uint8 and the labels (N,) int64 of a split,
            for data that are made or come with a package; None: they are looked for in
            a folder, then on the hub.

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
    texts: bool = False
    files: dict[str, tuple[str, ...]] = field(default_factory=files_called_like_splits)
    read: Callable[[str], tuple[NDArray[np.uint8], NDArray[np.int64]]] | None = None

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def features(self) -> bool:
        """Whether inputs are features of any scale, and no images in [0, 1]."""
        return not is_image(self.shape)

    @property
    def inputs(self) -> str:
        """The name for several inputs: "images", "texts", or "rows" of features."""
        return "texts" if self.texts else inputs_of(self.shape)

    @property
    def streams(self) -> bool:
        """Whether images are decoded on demand instead of being held in memory."""
        if self.resize is not None:
            return True
        decoded_bytes = max(self.sizes.values()) * math.prod(self.shape)
        return decoded_bytes > IN_MEMORY_BYTES

    @property
    def fitting(self) -> Fit | None:
        """How images are resized and cropped; None: they have the shape already."""
        if self.fit is not None or self.resize is None:
            return self.fit
        return Fit(self.resize, (self.shape[1], self.shape[2]))


def is_image(shape: Sequence[int]) -> bool:
    """Return whether an input of `shape` is an image (C, H, W) with pixels in [0, 1].

    Any other input is features, of any scale.

    Example:
        >>> is_image((3, 32, 32)), is_image((13,)), is_image((2, 1000))
        (True, False, False)
    """
    return len(shape) == 3


def inputs_of(shape: Sequence[int]) -> str:
    """Return the name for several inputs of `shape`.

    Example:
        >>> inputs_of((3, 32, 32)), inputs_of((13,))
        ('images', 'rows')
    """
    return "images" if is_image(shape) else "rows"


def spec_of_own_data(
    name: str,
    sizes: dict[str, int],
    shape: tuple[int, ...],
    classes: tuple[str, ...],
    *,
    named: bool,
    fit: Fit | None,
    alphabetical: bool = False,
) -> DatasetSpec:
    """Return the spec of a user's own data.

    Args:
        name: the name of the data set.
        sizes: split -> number of inputs.
        shape: the shape of one input.
        classes: the names of the classes, in the order of the labels.
        named: whether the data name their classes. If they only number them, a model may
            know more classes than occur in the data.
        fit: how images are resized and cropped.
        alphabetical: whether the classes are numbered in the order of the alphabet, only
            because their names have no other order.
    """
    # The name of data from a URL may hold a password.
    name = without_credentials(name)
    total = sum(sizes.values())
    return DatasetSpec(
        name=name,
        shape=shape,
        classes=classes,
        arch=arch_for(shape),
        sizes=sizes,
        description=f"{total:,} {inputs_of(shape)} of {name}",
        fit=fit,
        convert=True,
        open_ended=not named,
        alphabetical=alphabetical,
    )


def refitted(spec: DatasetSpec, fit: Fit | None) -> DatasetSpec:
    """Return the spec of a named data set whose images a user wants resized."""
    if fit is None:
        return spec

    usual = spec.fitting or Fit()
    fit = Fit(
        resize=usual.resize if fit.resize is None else fit.resize,
        crop=usual.crop if fit.crop is None else fit.crop,
    )
    if spec.resize is not None and fit.crop is not None:
        # Images of the data set have different sizes. Cropping gives all of them one.
        height, width = fit.crop
    else:
        before = (spec.shape[1], spec.shape[2])
        height, width = fit.sides(before, f"an image of {spec.name}")
    return replace(spec, fit=fit, shape=(spec.shape[0], height, width))


def arch_for(shape: tuple[int, ...]) -> str:
    """Return the architecture that is trained for images of `shape`; "" for features."""
    if not is_image(shape):
        return ""
    if shape in ARCH_FOR:
        return ARCH_FOR[shape[0], shape[1], shape[2]]
    if max(shape[1:]) <= SMALL_CNN_MOST_SIDE:
        return "small-cnn"
    return "resnet50"
