"""scikit-learn's embedded 8x8 digits, with a fixed split."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

TEST_EVERY = 5


def digits(split: str) -> tuple[Tensor, Tensor]:
    """Pixels (N, 1, 8, 8) uint8 and labels (N,) int64 of one split.

    scikit-learn has no split of its own. Ours is fixed: within each class, in the order of the file, the
    first of every five images is test (35 to 37 a class), the others train.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images, labels = np.asarray(bunch.images), np.asarray(bunch.target)
    kept = np.flatnonzero(_in_test(labels) == (split == "test"))
    # The file's values are 0..16; 255 is no multiple of 16, so round.
    pixels = np.rint(images[kept] * 255 / 16).astype(np.uint8)
    return torch.from_numpy(pixels[:, None]), torch.from_numpy(labels[kept].astype(np.int64))


def _in_test(labels: np.ndarray) -> np.ndarray:
    """Which images are test: (N,) bool."""
    chosen = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        chosen[np.flatnonzero(labels == label)[::TEST_EVERY]] = True
    return chosen
