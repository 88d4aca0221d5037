"""Stripes across or down, made on the spot."""

import numpy as np
from numpy.typing import NDArray

from randsmooth.data import DatasetSpec

SIZES = {"train": 512, "test": 128}


def read(split: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels (N, 1, 8, 8) and labels (N,), every second image of one class, at random contrasts and phases."""
    rng = np.random.default_rng(sorted(SIZES).index(split))
    n = SIZES[split]
    labels = np.arange(n) % 2
    waves = np.sin(
        np.arange(8) * np.pi / 2 + rng.uniform(0, 2 * np.pi, (n, 1))
    )  # (N, 8)
    across = np.broadcast_to(waves[:, :, None], (n, 8, 8))
    turned = np.where(labels[:, None, None] == 0, across, across.transpose(0, 2, 1))
    pixels = 127.5 + 127.5 * rng.uniform(0.5, 1.0, (n, 1, 1)) * turned
    return pixels.round().astype(np.uint8)[:, None], labels


STRIPES = DatasetSpec(
    name="stripes",
    shape=(1, 8, 8),
    classes=("across", "down"),
    arch="small-cnn",
    sizes=SIZES,
    description="Stripes across or down, 8x8 grey, made on the spot",
    read=read,
)
