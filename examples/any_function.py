"""Certify a function that answers with labels alone, and one that a file makes.

    python examples/any_function.py

On the command line the second is `randsmooth certify zoo.py:nearest_mean --model-arg shrink=0.1 --dataset digits`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import randsmooth as rs

ZOO = '''
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestCentroid


def nearest_mean(shrink=None):
    """A model of this file: whatever can be certified may be returned."""
    pixels, labels = load_digits(return_X_y=True)
    return NearestCentroid(shrink_threshold=shrink).fit(pixels[:1400] / 16, labels[:1400])
'''

PIXELS, LABELS = load_digits(return_X_y=True)
MEANS = np.stack(
    [PIXELS[:1400][LABELS[:1400] == digit].mean(axis=0) / 16 for digit in range(10)]
)


def nearest(images: NDArray[np.float32]) -> Any:
    """The digit whose mean image is nearest: labels (B,) of images (B, 1, 8, 8)."""
    apart = np.linalg.norm(images.reshape(len(images), 1, 64) - MEANS, axis=2)
    return apart.argmin(axis=1)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        zoo = Path(folder) / "zoo.py"
        zoo.write_text(ZOO)
        how: dict[str, Any] = {"sigma": 0.25, "n": 2000, "take": 20}
        labels = rs.certify(
            nearest,
            "digits",
            **how,
            identity="nearest mean",
            out=Path(folder) / "labels.parquet",
        )
        arguments = {"shrink": 0.1}
        made = rs.certify(
            f"{zoo}:nearest_mean",
            "digits",
            **how,
            model_args=arguments,
            out=Path(folder) / "zoo.parquet",
        )
    print(rs.report.render([labels, made]))


if __name__ == "__main__":
    main()
