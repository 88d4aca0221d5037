"""scikit-learn's embedded 8x8 digits, with a fixed split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from randsmooth.extras import needs

TEST_EVERY = 5


def read_digits(split: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pixels (N, 1, 8, 8) and labels (N,) of one split, as `DatasetSpec.read` asks for them.

    scikit-learn has no split of its own. Ours is fixed: within each class, in the order of the file, the
    first of every five images is test (35 to 37 a class), the others train.

    Raises:
        InputError: scikit-learn is not installed.
    """
    with needs("the data set digits"):
        from sklearn.datasets import load_digits

    bunch = load_digits()
    images, labels = np.asarray(bunch.images), np.asarray(bunch.target)
    kept = np.flatnonzero(_in_test(labels) == (split == "test"))
    # The file's values are 0..16; 255 is no multiple of 16, so round.
    pixels = np.rint(images[kept] * 255 / 16).astype(np.uint8)
    return pixels[:, None], labels[kept].astype(np.int64)


def _in_test(labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which images are test: (N,)."""
    chosen = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        chosen[np.flatnonzero(labels == label)[::TEST_EVERY]] = True
    return chosen
