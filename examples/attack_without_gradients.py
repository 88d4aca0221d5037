"""Try to refute the certificates of a model that says nothing but a label: no gradient, no score."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import randsmooth as rs

SIGMA = 0.1
NAME = "the forest of this example"  # a function cannot be compared, so it needs a name


def main() -> None:
    x, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(x[:1500] / 16, y[:1500])

    def label(
        images: NDArray[np.float32],
    ) -> NDArray[np.int64]:  # as a service would answer
        return np.asarray(forest.predict(images.reshape(len(images), -1)))

    data = x[1500:1505].reshape(-1, 8, 8) / 16, y[1500:1505]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "forest.parquet"
        table = rs.certify(
            label, data, sigma=SIGMA, n=1000, num_classes=10, identity=NAME, out=out
        )

    found = rs.certification.attack(label, table, data, steps=6, m=100, identity=NAME)
    print(
        f"{len(found)} certificates attacked within their radius: {found.failed.sum()} failed"
    )

    found = rs.certification.attack(
        label, table, data, steps=6, m=100, identity=NAME, scale=8.0
    )
    print(
        f"within eight times their radius: {found.changed.sum()} of {len(found)} answers changed, as they may"
    )

    forged = replace(
        table, radius=8.0 * table.radius
    )  # what a program with a mistake might have certified
    found = rs.certification.attack(label, forged, data, steps=6, m=100, identity=NAME)
    print(
        f"certificates with eight times the radius: {found.failed.sum()} of {len(found)} failed"
    )


if __name__ == "__main__":
    main()
