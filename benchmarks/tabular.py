"""Two tables of scikit-learn, certified under one sigma for all features and under one for each, in the same units.

    python benchmarks/tabular.py [--n 10000] [--out results/tabular]

Rows are split in halves, by class. A logistic regression behind a StandardScaler is trained on twenty noisy copies of
each training row, under the noise that it is certified under. Per coordinate sigma is C standard deviations of each
feature; the isotropic one has the same energy, C times the root mean square of them. Radii are in standard deviations,
the norm of delta / std: a ball of the isotropic noise holds what is within its radius over the largest deviation. Shown
is which share of the test rows is right and certified at a radius; the best of the scales C is that of each radius.
"""

from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import randsmooth as rs
from harness import options_of, written
from randsmooth.report.layouts import pipes

SETS = {"breast cancer": load_breast_cancer, "wine": load_wine}
SCALES, RADII, COPIES = (0.25, 0.5, 1.0, 2.0), (0.0, 0.1, 0.25, 0.5, 1.0, 2.0), 20
Floats = NDArray[np.float64]


def shares(load: Any, kind: str, c: float, n: int) -> list[float]:
    """(len(RADII),) share of the test rows that are right and certified within each radius, in standard deviations."""
    x, y = load(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(
        x, y, test_size=0.5, random_state=0, stratify=y
    )
    std: Floats = x_train.std(axis=0)
    sigma = c * (
        std if kind == "per coordinate" else np.full_like(std, np.sqrt(np.mean(std**2)))
    )
    noise = sigma * np.random.default_rng(0).normal(size=(COPIES, *x_train.shape))
    rows, labels = (x_train + noise).reshape(-1, x.shape[1]), np.tile(y_train, COPIES)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(
        rows, labels
    )
    smoothing = (
        rs.noise.GaussianPerCoordinate(sigma)
        if kind == "per coordinate"
        else rs.noise.Gaussian(sigma[0])
    )
    table = rs.certify(model, (x_test, y_test), noise=smoothing, n=n, progress=False)
    radius = table.radius * c if kind == "per coordinate" else table.radius / std.max()
    return [
        float(((table.predict == table.label) & (radius >= r)).mean()) for r in RADII
    ]


def main() -> None:
    """Certify all, and write OUT.json and OUT.md."""
    parser = options_of(__doc__)
    parser.add_argument("--n", type=int, default=10_000, help="samples a row")
    options = parser.parse_args()
    out = options.out or Path("results/tabular")
    cells: list[dict[str, Any]] = []
    table = [["data", "noise", "C", *(f"{r:g}" for r in RADII)]]
    for name, load in SETS.items():
        for kind in ("isotropic", "per coordinate"):
            found = [shares(load, kind, c, options.n) for c in SCALES]
            cells += [
                {"data": name, "noise": kind, "C": c, "shares": each}
                for c, each in zip(SCALES, found, strict=True)
            ]
            scaled = [(f"{c:g}", each) for c, each in zip(SCALES, found, strict=True)]
            for label, each in [*scaled, ("best", np.max(found, axis=0).tolist())]:
                table.append([name, kind, label, *(f"{share:.1%}" for share in each)])
    facts = {
        "n": options.n,
        "alpha": 0.001,
        "scikit-learn": sklearn.__version__,
        "radii": RADII,
        "cells": cells,
    }
    written(out.with_suffix(".json"), facts)
    said = f"Share of test rows that are right and certified within a radius in standard deviations; n = {options.n:,}."
    text = (
        "\n".join([said, "", *pipes(table, [False, False, *[True] * (len(RADII) + 1)])])
        + "\n"
    )
    out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
