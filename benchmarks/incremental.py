"""What the table of an old model saves when a changed one is certified: incremental smoothing, beside certifying anew.

    python benchmarks/incremental.py runs/expert [--dataset mnist] [--images 100] [--samples 3000] [--out FILE]

The model is changed twice: computed in bfloat16, and quantised to int8. Old and new are asked about the same noisy
copies. Say that the old model answers with its class c. Then (Ugare et al. 2024, in the sharper one-sided form)

    P(new = c) >= P(old = c) - P(old = c, new != c).

Counts of the old table bound the first term, at n = 100,000 and a tenth of alpha: they are many, so that a small share
costs little. m samples of the new model bound the second, at the rest of alpha. They are compared with the answers of
the old model to the same noise, which its table would have to keep. Asking the old model again would double m.

Certifying anew bounds P(new = c) by its samples alone, at the whole alpha. The counts of every way are drawn from the
measured probabilities, by seed. A saving is how many samples an image takes, on average, to reach anew the mean radius
that m samples reach from the old table, over m:

fixed: every image takes the same number of samples, on both sides.
dense: the rule of this name certifies anew, and takes each sample where the mean radius gains most by it.
best: on both sides each image takes as many samples as are best for it, by its probabilities. From the old table it
    may also be certified anew, where that is better. No choice by the p_A of the old table saves more.

The savings beside `fixed` are also told of groups of images, by the p_A that the old table shows.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

import randsmooth as rs
from harness import Figure, finish
from randsmooth import bounds
from randsmooth.certification.engine import Engine
from randsmooth.certification.quantising import quantise
from randsmooth.noise import Gaussian
from randsmooth.rules import Dense
from savings import walked

ALPHA = 0.001
# What a saving must be, or more, to be worth a command of its own.
TARGET = 1.5
OLD_SAMPLES = 100_000
# Of alpha, what the bound on the old model's probability may use.
SHARE_OF_OLD = 0.1

# The numbers m of samples whose savings are told, and all that are tried.
TOLD = (500, 1_000, 2_000, 5_000, 10_000, 20_000)
TRIED = np.unique([*np.geomspace(100, 200_000, 120).astype(int), *TOLD])
# Of one sample, in mean radius: at each an image takes as many samples as are best.
PRICES = np.geomspace(1e-9, 1e-3, 400)
# The most samples of an image under `dense`, and what n of them must gain, in sigma.
DENSE = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
PRICES_OF_DENSE = (0.27, 1.0)
DRAWS = 20
DRAWS_OF_DENSE = 5
BATCH = 500

# Images by p_A of the old model's class: from the first number on, below the second.
GROUPS = {
    "p_A of at least .99": (0.99, 1.1),
    "p_A from .9 to .99": (0.9, 0.99),
    "p_A from .5 to .9": (0.5, 0.9),
}

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Answers:
    """How often an old and a new model answer with the old one's class c.

    Attributes:
        old: (N,) the probability that the old model answers c.
        lost: (N,) the probability that the old model answers c, and the new one does not.
        gained: (N,) the probability that the new model alone answers c.
    """

    old: Floats
    lost: Floats
    gained: Floats

    @property
    def new(self) -> Floats:
        """(N,) the probability that the new model answers c."""
        return self.old - self.lost + self.gained


# --- asking old and new about the same noise ------------------------------------------------------------------------


def engines_of(
    model: Path, dataset: str, sigma: float, int8: Path
) -> dict[str, Engine]:
    """Return the old model, which is the first, and the new ones."""
    int8.parent.mkdir(parents=True, exist_ok=True)
    quantise(model, dataset, out=int8, sigma=sigma)
    network = rs.load_model(model)
    settings = {"sigma": sigma, "batch": BATCH, "device": torch.device("cpu")}
    return {
        "float32": Engine(network, backend="torch", **settings),
        "bfloat16": Engine(network, backend="torch", precision="bf16", **settings),
        "int8": Engine(rs.load_model(int8), **settings),
    }


def noisy_copies(x: torch.Tensor, sigma: float, samples: int) -> Iterator[torch.Tensor]:
    """Yield `samples` noisy copies of the image `x` (C, H, W) in batches."""
    generator = torch.Generator().manual_seed(0)
    for start in range(0, samples, BATCH):
        size = min(BATCH, samples - start)
        noise = torch.randn(size, *x.shape, generator=generator)
        yield x + sigma * noise


def asked(
    engines: dict[str, Engine], images: torch.Tensor, sigma: float, samples: int
) -> dict[str, Answers]:
    """Ask the old model and each new one about the same noisy copies of all images."""
    old_name, *new_names = engines
    shares = {name: np.zeros((3, len(images))) for name in new_names}
    for row, x in enumerate(images):
        classes: dict[str, list[torch.Tensor]] = {name: [] for name in engines}
        for copies in noisy_copies(x, sigma, samples):
            for name, engine in engines.items():
                classes[name].append(engine.logits(copies).argmax(dim=1))

        old = torch.cat(classes[old_name]).numpy()
        c = np.bincount(old).argmax()
        is_old = old == c
        for name in new_names:
            is_new = torch.cat(classes[name]).numpy() == c
            shares[name][0, row] = is_old.mean()
            shares[name][1, row] = (is_old & ~is_new).mean()
            shares[name][2, row] = (~is_old & is_new).mean()
    return {name: Answers(*measured) for name, measured in shares.items()}


# --- radii ----------------------------------------------------------------------------------------------------------


def expected_radius(q: Floats, sigma: float) -> Floats:
    """Return (N,) the mean radius of each image over its draws, for q (DRAWS, N)."""
    radius = Gaussian(sigma).radius(np.minimum(q, 0.5))
    certified = np.where(q < 0.5, radius, 0.0)
    return np.asarray(certified.mean(axis=0))


def radii_anew(answers: Answers, sigma: float, rng: np.random.Generator) -> Floats:
    """Return (B, N) the expected radius of each image, for each number in TRIED."""
    shape = (DRAWS, len(answers.old))
    rows = []
    for n in TRIED:
        successes = rng.binomial(n, answers.new, shape)
        q = bounds.q_upper(successes, n, ALPHA)
        rows.append(expected_radius(q, sigma))
    return np.stack(rows)


def radii_from_old(answers: Answers, sigma: float, rng: np.random.Generator) -> Floats:
    """Return (B, N) the same from the old table, with each number in TRIED as m."""
    shape = (DRAWS, len(answers.old))
    rows = []
    for m in TRIED:
        old = rng.binomial(OLD_SAMPLES, answers.old, shape)
        lost = rng.binomial(m, answers.lost, shape)
        q_of_old = bounds.q_upper(old, OLD_SAMPLES, SHARE_OF_OLD * ALPHA)
        # An upper bound on a probability is one on failures: `lost` is m - successes.
        most_lost = bounds.q_upper(m - lost, m, (1.0 - SHARE_OF_OLD) * ALPHA)
        rows.append(expected_radius(q_of_old + most_lost, sigma))
    return np.stack(rows)


# --- mean radius by mean samples ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Frontier:
    """The largest mean radius for the samples.

    Attributes:
        samples: (P,) mean samples of an image, ascending.
        radius: (P,) mean radius, ascending.
    """

    samples: Floats
    radius: Floats

    @classmethod
    def of(cls, samples: Floats, radius: Floats) -> Frontier:
        """Return those of P points that no other one beats."""
        order = np.lexsort((-radius, samples))
        sorted_radius = radius[order]
        best_before = np.maximum.accumulate(np.append(-1.0, sorted_radius[:-1]))
        kept = order[sorted_radius > best_before]
        return cls(samples[kept], radius[kept])

    @classmethod
    def same_for_all(cls, radii: Floats) -> Frontier:
        """Return the frontier where every image takes the same number of samples.

        Args:
            radii: (B, N) expected radii, for each number in TRIED.
        """
        return cls.of(TRIED.astype(float), radii.mean(axis=1))

    @classmethod
    def best_for_each(cls, radii: Floats, samples: Floats) -> Frontier:
        """Return the frontier where each image takes as many samples as are best.

        Args:
            radii: (B, N) expected radii.
            samples: (B,) their numbers of samples.
        """
        points = []
        for price in PRICES:
            worth = radii - price * samples[:, None]
            best = worth.argmax(axis=0)
            of_images = np.take_along_axis(radii, best[None], axis=0)
            points.append((samples[best].mean(), of_images.mean()))
        return cls.of(*np.array(points).T)

    @classmethod
    def dense(cls, p: Floats, rules: list[Dense]) -> Frontier:
        """Return the frontier of the rule, for images of probabilities `p` (N,)."""
        points = []
        for rule in rules:
            samples, radius, _ = walked(rule, np.tile(p, DRAWS_OF_DENSE), seed=0)
            points.append((samples.mean(), radius.clip(0.0).mean()))
        return cls.of(*np.array(points).T)

    def radius_by(self, samples: float) -> float:
        return float(np.interp(samples, self.samples, self.radius))

    def samples_for(self, radius: float) -> float:
        """Return the mean samples that reach a mean radius; NaN if none of these do."""
        return float(np.interp(radius, self.radius, self.samples, right=np.nan))


def rules_of_dense(sigma: float) -> list[Dense]:
    noise = Gaussian(sigma)
    return [
        Dense(noise, n=n, alpha=ALPHA, price=price)
        for n in DENSE
        for price in PRICES_OF_DENSE
    ]


# --- what is saved --------------------------------------------------------------------------------------------------


def savings(
    name: str, from_old: Frontier, anew: Frontier, note: str = ""
) -> list[Figure]:
    """Return how many times m samples certifying anew takes, for each m in TOLD.

    An m from which on it would take more samples than were tried is left out.
    """
    found = []
    for m in TOLD:
        radius = from_old.radius_by(m)
        ratio = anew.samples_for(radius) / m
        if np.isnan(ratio):
            continue
        told = f"mean radius {radius:.3f}{note}"
        figure = Figure(f"{name}, m = {m:,}", round(ratio, 2), TARGET, [], told)
        found.append(figure.told())
    return found


def figures_of(
    name: str, answers: Answers, sigma: float, rules: list[Dense]
) -> list[Figure]:
    """Return what is saved for the new model `name`, of all images and by groups."""
    rng = np.random.default_rng(0)
    anew = radii_anew(answers, sigma, rng)
    from_old = radii_from_old(answers, sigma, rng)
    either = np.concatenate([anew, from_old])
    numbers = TRIED.astype(float)

    old_fixed = Frontier.same_for_all(from_old)
    old_best = Frontier.best_for_each(either, np.tile(numbers, 2))
    anew_best = Frontier.best_for_each(anew, numbers)
    figures = [
        *savings(f"{name}, fixed", old_fixed, Frontier.same_for_all(anew)),
        *savings(f"{name}, dense", old_fixed, Frontier.dense(answers.new, rules)),
        *savings(f"{name}, best", old_best, anew_best),
    ]
    for group, (least, below) in GROUPS.items():
        images = (answers.old >= least) & (answers.old < below)
        if not images.any():
            continue
        lost = answers.lost[images].mean()
        note = f"; {images.sum()} images, lost {lost:.5f}"
        of_old = Frontier.same_for_all(from_old[:, images])
        of_anew = Frontier.same_for_all(anew[:, images])
        figures += savings(f"{name}, fixed, {group}", of_old, of_anew, note)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--sigma", type=float, default=0.5)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--int8", type=Path, default=Path("runs/incremental-int8.xml"))
    parser.add_argument("--out", type=Path, default=Path("runs/bench/incremental.json"))
    options = parser.parse_args()

    engines = engines_of(options.model, options.dataset, options.sigma, options.int8)
    data = rs.data.load(options.dataset, "test")
    images, _ = data.batch(rs.data.take(len(data), options.images))
    for engine in engines.values():
        engine.prepare(images[0].shape)

    measured = asked(engines, images, options.sigma, options.samples)
    rules = rules_of_dense(options.sigma)
    figures = []
    for name, answers in measured.items():
        figures += figures_of(name, answers, options.sigma, rules)
    finish(figures, options.out)


if __name__ == "__main__":
    main()
