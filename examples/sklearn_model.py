"""Certify a scikit-learn classifier as it is: its features are the pixels of noisy images.

python examples/sklearn_model.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import randsmooth as rs

SIGMA = 0.25


def main() -> None:
    pixels, labels = load_digits(return_X_y=True)
    noisy = pixels / 16 + np.random.default_rng(0).normal(
        scale=SIGMA, size=pixels.shape
    )
    estimator = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)).fit(
        noisy[:1400], labels[:1400]
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "sklearn.parquet"
        table = rs.certify(estimator, "digits", sigma=SIGMA, n=2000, take=20, out=out)
    print(rs.report.render([table]))
    assert table.header.model is not None
    print(f"certified: {table.header.model['arch']}")


if __name__ == "__main__":
    main()
