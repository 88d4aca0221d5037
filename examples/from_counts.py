"""Certify with a sampler of your own, in any framework: randsmooth gets the counts, and torch is never loaded.

    python examples/from_counts.py

The classifier here is scikit-learn's, on its digits; the noise is drawn and the answers are counted by NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import randsmooth as rs

SIGMA, N0, N, ALPHA = 0.25, 100, 2_000, 0.001
IMAGES = 20

Counts = NDArray[np.int64]
Sample = Callable[
    [NDArray[np.float64], int], Counts
]  # class counts (10,) of m noisy copies of an image


def your_sampler() -> tuple[Sample, NDArray[np.float64], Counts]:
    """What counts the classes that a classifier gives to noisy copies of an image; images new to it; their labels."""
    x, y = load_digits(return_X_y=True)
    x, rng = x / 16, np.random.default_rng()
    seen = slice(0, 1500)
    model = LogisticRegression(max_iter=200).fit(
        x[seen] + SIGMA * rng.standard_normal(x[seen].shape), y[seen]
    )

    def sample(image: NDArray[np.float64], m: int) -> Counts:
        answers = model.predict(image + SIGMA * rng.standard_normal((m, image.size)))
        return np.bincount(answers, minlength=10)

    return sample, x[1500 : 1500 + IMAGES], y[1500 : 1500 + IMAGES]


def fixed(sample: Sample, x: NDArray[np.float64], y: Counts) -> rs.Certificates:
    """The same number of samples for every image: the first N0 pick the class, the others bound its probability."""
    counts0, counts = ([sample(image, m) for image in x] for m in (N0, N))
    return rs.from_counts(
        list(counts),
        counts0=list(counts0),
        label=y,
        sigma=SIGMA,
        alpha=ALPHA,
        name="fixed",
    )


def sequential(sample: Sample, x: NDArray[np.float64], y: Counts) -> rs.Certificates:
    """As many samples as the rule asks for: it says after how many in all to look again, and when to stop."""
    rule = rs.rules.make_rule("grid", noise=rs.noise.Gaussian(SIGMA), n=N, alpha=ALPHA)
    picked, paths = [], []
    for image in x:
        picked.append(int(sample(image, N0).argmax()))
        path: list[int] = []
        drawn = 0
        while (look := rule.next_look(path)) is not None:
            came_out = int(sample(image, look - drawn)[picked[-1]])
            path.append(came_out + (path[-1] if path else 0))
            drawn = look
        paths.append(path)
    return rs.from_counts(
        path=paths,
        picked=picked,
        label=y,
        sigma=SIGMA,
        n=N,
        alpha=ALPHA,
        rule="grid",
        name="grid",
    )


def main() -> None:
    sample, x, y = your_sampler()
    tables = [fixed(sample, x, y), sequential(sample, x, y)]
    print(rs.report.render(tables, radii=[0.0, 0.25, 0.5]))
    for table in tables:
        print(
            f"{table.name}: {table.samples.mean():,.0f} samples per image. {table.header.guarantee}"
        )
    print("torch was loaded" if "torch" in sys.modules else "torch was not loaded")


if __name__ == "__main__":
    main()
