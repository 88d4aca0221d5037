"""Radii that bounds prove from the same samples: betting beside Bernstein, pairwise beside two-sided.

    python benchmarks/bounds_compared.py [--draws 200] [--out results/bench/bounds-compared.json]

Each figure is a mean over seeded draws at alpha = 0.001. Scores of the soft classifier are drawn from beta
distributions with the means and spreads named; class counts are multinomial.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from harness import Figure, finish
from randsmooth import bounds

ALPHA = 0.001
# n, the beta distribution, what to call it, and how much larger than Bernstein's the radius over sigma must be
SCORES = [
    (1000, (1.26, 0.067), "mean 0.95, deviation 0.14", 0.08),
    (1000, (8.0, 2.0), "mean 0.8, deviation 0.12", 0.04),
    (100_000, (1.26, 0.067), "mean 0.95, deviation 0.14", 0.0),
    (100_000, (20.0, 0.002), "mean 0.9999, deviation 0.002", 0.1),
    (100_000, (1.0, 1e-7), "1 throughout", 0.15),
]
# n, the probabilities, and the least share of the two-sided radius that the pairwise one must be
CLASSES = [
    (1000, [0.4, *[0.15] * 4], 1.05),
    (1000, [0.3, *[0.7 / 9] * 9], 1.05),
    (1000, [0.6, 0.39, 0.01], 1.02),
    (100_000, [0.4, *[0.15] * 4], 1.0),
    (1000, [0.9, *[0.1 / 9] * 9], 0.98),
]


def betting(draws: int) -> list[Figure]:
    told = []
    for n, shape, words, gain in SCORES:
        few, rng = max(2, draws * 1000 // n // 4), np.random.default_rng(0)
        x = rng.beta(*shape, (few, n))
        variance = bounds.sample_variance(x.sum(axis=1), (x * x).sum(axis=1), n)
        theirs = bounds.radius(bounds.bernstein_lower(x.mean(axis=1), variance, n, ALPHA), 1.0).mean()
        ours = bounds.radius(bounds.betting_lower(x, ALPHA), 1.0).mean()
        name = f"n = {n:,}, scores of {words}: betting radius / sigma less Bernstein's"
        note = f"{ours:.3f} against {theirs:.3f}"
        told.append(Figure(name, float(ours - theirs), gain, [], note, unit=""))
    return told


def pairwise(draws: int) -> list[Figure]:
    told = []
    for n, p, least in CLASSES:
        counts, picked = np.random.default_rng(0).multinomial(n, p, size=draws), np.zeros(draws, np.int64)
        ours, theirs = (
            float(of(counts, picked, 1.0, ALPHA).mean()) for of in (bounds.pairwise_radius, bounds.two_sided_radius)
        )
        name = f"n = {n:,}, p_A = {p[0]:g} of {len(p)} classes: pairwise radius over the two-sided one"
        told.append(Figure(name, ours / theirs, least, [], f"{ours:.3f} against {theirs:.3f} sigma"))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/bounds-compared.json"))
    options = parser.parse_args()
    figures = [*betting(options.draws), *pairwise(options.draws)]
    for figure in figures:
        print(figure.line(), f" ({figure.note})")
    finish(figures, options.out)


if __name__ == "__main__":
    main()
