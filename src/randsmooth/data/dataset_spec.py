"""What a data set is, apart from its pixels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from randsmooth.data.fitting import Fit

SPLITS = ("train", "test")

Augmentation = Literal["none", "crop", "crop-flip", "random-resized-crop-flip"]

# A set whose largest split is bigger than this once decoded is read from disk image by image.
IN_MEMORY_BYTES = 4 * 2**30


def _own_names() -> dict[str, tuple[str, ...]]:
    return {"train": ("train",), "test": ("test",)}


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """The facts about one data set that models, training and certification need.

    Attributes:
        name: what it is called on the command line and in files.
        shape: (C, H, W) of an image.
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
        files: split -> names that its files may have, the hub's own name first.
        read: gives the pixels (N, C, H, W) uint8 and the labels (N,) int64 of a split, for data that are made or
            come with a package; None: they are looked for in a folder, then on the hub.

    Example:
        >>> stripes = DatasetSpec(
        ...     name="stripes",
        ...     shape=(1, 8, 8),
        ...     classes=("across", "down"),
        ...     mean=None,
        ...     std=None,
        ...     augment="none",
        ...     arch="small-cnn",
        ...     hub=None,
        ...     sizes={"train": 200, "test": 100},
        ...     description="Stripes across or down, 8x8 grey",
        ... )
        >>> stripes.num_classes, stripes.streams
        (2, False)
    """

    name: str
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    augment: Augmentation
    arch: str
    hub: str | None
    sizes: dict[str, int]
    description: str
    hub_config: str | None = None
    resize: int | None = None
    fit: Fit | None = None
    convert: bool = False
    open_ended: bool = False
    files: dict[str, tuple[str, ...]] = field(default_factory=_own_names)
    read: Callable[[str], tuple[NDArray[np.uint8], NDArray[np.int64]]] | None = None

    @property
    def num_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def streams(self) -> bool:
        """Whether images are decoded on demand instead of being held in memory."""
        return self.resize is not None or max(self.sizes.values()) * math.prod(self.shape) > IN_MEMORY_BYTES

    @property
    def fitting(self) -> Fit | None:
        """How each image is resized and cropped; None: it must have the `shape` already."""
        if self.fit is not None or self.resize is None:
            return self.fit
        return Fit(self.resize, self.shape[1:])
