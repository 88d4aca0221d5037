"""The handwritten digits that come with scikit-learn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from randsmooth.extras import needs

# In each class, every fifth image is for testing, from the first one on.
TEST_EVERY = 5

# The value of white in scikit-learn's file.
WHITE = 16


def read_digits(split: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the digits of one split, as `DatasetSpec.read` asks for them.

    scikit-learn has no split of its own. Ours is fixed: within each class, in the order
    of the file, the first of every five images is test (35 to 37 a class), the others
    train.

    Returns:
        Pixels (N, 1, 8, 8), and labels (N,).

    Raises:
        MissingPackage: scikit-learn is not installed.
    """
    # scikit-learn is an extra.
    with needs("the data set digits"):
        from sklearn.datasets import load_digits

    digits: Any = load_digits()
    # For each image, how many of its class come before it.
    index_in_class = np.zeros(len(digits.target), dtype=np.int64)
    for label in range(len(digits.target_names)):
        of_class = np.flatnonzero(digits.target == label)
        index_in_class[of_class] = np.arange(len(of_class))
    is_test = index_in_class % TEST_EVERY == 0
    kept = is_test if split == "test" else ~is_test

    # 255 is no multiple of 16, so pixels are rounded.
    pixels = np.rint(digits.images[kept] * 255 / WHITE).astype(np.uint8)
    # Images are grey: one channel.
    return pixels[:, None], digits.target[kept].astype(np.int64)
