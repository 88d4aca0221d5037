"""What a data set is, apart from its pixels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
