"""Samples that the certified accuracy of a whole data set takes, replayed on published certification logs.

    python benchmarks/whole_accuracy.py [LOGS] [--sigma 0.5] [--within 0.01] [--out results/bench/whole-accuracy.json]

LOGS is a folder of TSV logs as `benchmarks/savings.py` reads them, which says how each image's p_A is recovered. Of an
image whose picked class is wrong the label's probability is not known: it is drawn evenly below what p_A leaves. Of
each log, certified accuracy at a radius is measured to `--within` by two passes (`randsmooth accuracy`), and compared
with `--rule radius=R` for all images, and for 500 of them, on the same samples. Both test the label and take no others
to pick a class.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness import Figure, finish
from randsmooth import bounds
from randsmooth.rules import OneRadius, Screen, make_rule
from savings import ALPHA, RADII, N, beside_the_data, figure, read_log, recovered

LEVEL, FEW = 0.95, 500
CHOICES = 20  # of the second pass, by chance, for each log and radius

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Replay:
    """Samples of all images under the rule, of both passes, and how often the interval missed and how long it was."""

    whole: float
    passes: float
    missed: float
    within: float


def of_labels(log: pd.DataFrame, sigma: float, rng: np.random.Generator) -> Floats:
    """(N,) probability of each image's label."""
    p = recovered(log, sigma, rng)
    wrong = ((log.predict != log.label) & (log.predict >= 0)).to_numpy()
    return np.where(wrong, (1.0 - p) * rng.random(len(p)), p)


def walked(rule: OneRadius, p: Floats, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(N,) samples that each image takes, and whether it is certified."""
    (claim,), (give_up,) = rule._tables
    seen, samples = np.zeros(len(p), np.int64), np.zeros(len(p), np.int64)
    going, certified = np.ones(len(p), np.bool_), np.zeros(len(p), np.bool_)
    for k, (look, drawn) in enumerate(zip(rule.looks, np.diff(rule.looks, prepend=0), strict=True)):
        seen[going] += rng.binomial(drawn, p[going])
        samples[going] = look
        certified |= going & (seen >= claim[k])
        going &= (seen < claim[k]) & (seen > give_up[k])
    return samples, certified


def replay(log: pd.DataFrame, radius: float, options: argparse.Namespace, seed: int) -> Replay:
    rng = np.random.default_rng(seed)
    how = {"sigma": options.sigma, "n": N, "alpha": ALPHA}
    one, screen = make_rule(f"radius={radius}", **how), make_rule(f"screen={radius}", **how)
    assert isinstance(one, OneRadius) and isinstance(screen, Screen)
    samples, certified = walked(one, of_labels(log, options.sigma, rng), rng)
    last = one.looks[one.looks <= screen.horizon][-1]
    open_ = np.flatnonzero(samples > last)
    drawn = bounds.enough_drawn(len(open_), 2.0 * options.within * len(log), 1.0 - LEVEL)
    truth, second, missed, length = int(certified[open_].sum()), [], [], []
    for _ in range(CHOICES):
        chosen = rng.choice(open_, drawn, replace=False)
        low, high = bounds.finite_share_interval(int(certified[chosen].sum()), drawn, len(open_), 1.0 - LEVEL)
        second.append(samples[chosen].sum())
        missed.append(not low <= truth <= high)
        length.append((high - low) / (2.0 * len(log)))
    first = np.minimum(samples, last).sum()
    return Replay(float(samples.sum()), float(first + np.mean(second)), float(np.mean(missed)), max(length))


def figures(options: argparse.Namespace) -> list[Figure]:
    logs = [read_log(path) for path in sorted(options.logs.glob("*.tsv"))]
    found = {r: [replay(log, r, options, seed) for seed, log in enumerate(logs)] for r in RADII}
    every = [each for replays in found.values() for each in replays]
    told = []
    for r, replays in found.items():
        whole, passes = (float(np.mean([getattr(each, part) for each in replays])) for part in ("whole", "passes"))
        few = FEW / len(logs[0]) * whole
        print(
            f"r = {r:g}: {passes:,.0f} samples, {whole:,.0f} of all images, {few:,.0f} of {FEW} images (known to "
            f"{1.96 * np.sqrt(0.25 / FEW):.1%})"
        )
        told.append(figure(f"radius {r:g}: samples of all images over those of two passes", whole / passes, 3.0))
        told.append(figure(f"radius {r:g}: two passes over {FEW} images", passes / few, 8.0, most=True))
    share = float(np.mean([each.missed for each in every]))
    told.append(figure("intervals that miss, share", share, 1.0 - LEVEL, most=True))
    told.append(figure("longest half of an interval", max(each.within for each in every), options.within, most=True))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path, nargs="?", default=beside_the_data(), help="folder of TSV logs")
    parser.add_argument("--sigma", type=float, default=0.5, help="that the logs were made at")
    parser.add_argument("--within", type=float, default=0.01, help="half of the length of the interval")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/whole-accuracy.json"))
    options = parser.parse_args()
    if options.logs is None or not any(options.logs.glob("*.tsv")):
        print(f"whole accuracy: not measured, no logs in {options.logs or 'RANDSMOOTH_DATA/../published-logs'}")
        return
    finish(figures(options), options.out)


if __name__ == "__main__":
    main()
