"""What a data set is, apart from its pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

SPLITS = ("train", "test")

# A set whose largest split is bigger than this once decoded is read from disk image by image.
IN_MEMORY_BYTES = 4 * 2**30


def _own_names() -> dict[str, tuple[str, ...]]:
    return {"train": ("train",), "test": ("test",)}


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """The facts about one data set that models, training and certification need.

    `shape` is (C, H, W). `mean` and `std` are per channel, in units of [0, 1]; None: no normalisation.
    `augment` is "none", "crop", "crop-flip" or "random-resized-crop-flip". `resize` is the shorter side, in
    pixels, before the central crop to `shape`; None: every image must have exactly that shape already.
    `files` gives the names a split may have on disk, the hub's own name first.
    """

    name: str
    shape: tuple[int, int, int]
    classes: tuple[str, ...]
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    augment: str
    arch: str
    hub: str | None
    sizes: dict[str, int]
    description: str
    hub_config: str | None = None
    resize: int | None = None
    files: dict[str, tuple[str, ...]] = field(default_factory=_own_names)

    @property
    def num_classes(self) -> int:
        return len(self.classes)

    @property
    def streams(self) -> bool:
        """Whether images are decoded on demand instead of being held in memory."""
        return self.resize is not None or max(self.sizes.values()) * math.prod(self.shape) > IN_MEMORY_BYTES
