"""Samples that the sequential rules save, and those that a data set's accuracy takes, replayed on published logs.

    python benchmarks/savings.py rules [--images 10000] [--out results/bench/savings.json]
    python benchmarks/savings.py accuracy [--within 0.01] [--out results/bench/whole-accuracy.json]
    python benchmarks/savings.py bounds [--draws 200] [--out results/bench/bounds-compared.json]

`--logs` is a folder of TSV logs made at n = 100,000, alpha = 0.001 and `--sigma`; by default those of the ACR paper at
sigma 0.5, where they lie beside RANDSMOOTH_DATA. Each image's p_A is recovered from its logged radius, its samples are
drawn again, and the rule decides on them. A log does not tell p_A of an image that it abstained on: those are spread
evenly below the smallest certifiable p_A, as densely as images lie above it. Samples that pick the class are counted.

rules: the plain certificate of the same samples, drawn on to n, is what each rule is compared with.
accuracy: certified accuracy at a radius to `--within` by two passes (`randsmooth accuracy`), beside `--rule radius=R`
    for all images and for 500 of them, on the same samples. Both test the label. Of an image whose picked class is
    wrong the label's probability is not known: it is drawn evenly below what p_A leaves.
bounds: radii that bounds prove from the same samples at alpha = 0.001, means over seeded draws: betting beside
    Bernstein on beta-distributed scores of the soft classifier, pairwise beside two-sided on multinomial counts. It
    needs no logs.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from harness import Figure, finish, options_of
from randsmooth import bounds, read
from randsmooth.certificates import CertificationSettings
from randsmooth.noise import Gaussian
from randsmooth.rules import Dense, OneRadius, Rule, Screen, make_rule

N0, N, ALPHA, STEP = 100, 100_000, 0.001, 0.25
STRIP = 0.1  # width of the strip of p_A above the smallest certifiable one, whose density is carried on below
RADII = (0.25, 0.5, 1.0)
PRICES = np.geomspace(
    0.02, 1.0, 60
)  # of n samples, in sigma: those at which the n of each image is chosen
FEW = 500  # images, whose certified accuracy is known to 4.4 points
CHOICES = 20  # of the second pass, by chance, for each log and radius

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


# --- logs -----------------------------------------------------------------------------------------------------------


def beside_the_data() -> Path | None:
    data = os.environ.get("RANDSMOOTH_DATA")
    return Path(data).parent / "published-logs" / "cifar10-sigma0.5" if data else None


def logs_of(options: argparse.Namespace) -> list[Path]:
    """Raises SystemExit, without an error, where there are none."""
    paths = sorted(options.logs.glob("*.tsv")) if options.logs is not None else []
    if not paths:
        print(
            f"not measured: no logs in {options.logs or 'RANDSMOOTH_DATA/../published-logs'}"
        )
        raise SystemExit
    return paths


def read_logs(options: argparse.Namespace) -> list[pd.DataFrame]:
    tables = [read(path) for path in logs_of(options)]
    return [
        pd.DataFrame({"label": t.label, "predict": t.predict, "radius": t.radius})
        for t in tables
    ]


def recovered(log: pd.DataFrame, sigma: float, rng: np.random.Generator) -> Floats:
    """(N,) p_A of the picked class of each image."""
    n_a = bounds.successes_of_q(Gaussian(sigma).tail(log.radius.to_numpy()), N, ALPHA)
    p, silent = n_a / N, log.predict.to_numpy() < 0
    least = p[~silent].min()
    density = np.sum(~silent & (p < least + STRIP)) / STRIP
    p[silent] = least - rng.random(silent.sum()) * min(
        least, silent.sum() / max(density, 1.0)
    )
    return p


def figure(
    name: str, value: float, target: float, *, most: bool = False, unit: str = "x"
) -> Figure:
    return Figure(
        name, float(value), target, [], unit="" if most else unit, most=most
    ).told()


# --- rules ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replay:
    """Mean samples, and points of certified accuracy lost at each radius; the share of ACR that is left."""

    samples: float
    lost: Floats
    acr: float


def walked(rule: Rule, p: Floats, seed: int) -> tuple[Floats, Floats, Floats]:
    """(N,) samples that the rule takes of images of these p_A, (N,) radii, -1 without, (N,) successes among n samples.

    Where the samples themselves pick the class, all other answers are one class: so the rule stops last.
    """
    rng = np.random.default_rng(seed)
    samples, radius, plain = (np.zeros(len(p)) for _ in range(3))
    for i, share in enumerate(p):
        path: list[int] = []
        drawn = successes = 0
        while (look := rule.next_look(path)) is not None:
            successes += int(rng.binomial(look - drawn, share))
            path.append(
                max(successes, look - successes) if rule.any_class else successes
            )
            drawn = look
        claim = rule.claim(path)
        samples[i], radius[i] = drawn, claim.radius if claim.q < 0.5 else -1.0
        plain[i] = successes + rng.binomial(N - drawn, share)
    return samples, radius, plain


def replay(
    rule: Rule, p: Floats, correct: Bools, radii: Floats, seed: int, n0: int
) -> Replay:
    """Decide every image of probabilities `p` (N,) by `rule`, and by Clopper-Pearson on the same samples."""
    samples, radius, plain = walked(rule, p, seed)
    q = bounds.q_upper(plain, N, ALPHA)
    full = np.where(q < 0.5, rule.noise.radius(q), -1.0)
    lost = [
        100 * np.mean(correct & (full >= r)) - 100 * np.mean(correct & (radius >= r))
        for r in radii
    ]
    acr = np.mean(correct * radius.clip(0)) / np.mean(correct * full.clip(0))
    return Replay(n0 + float(samples.mean()), np.array(lost), float(acr))


def over_logs(
    text: str, logs: list[pd.DataFrame], radii: list[float], options: Any, **how: Any
) -> list[Replay]:
    """The replay of the rule `text` on every log; with n0 = 0 of whichever class crosses, or of the label.

    Of the label a log of another class tells that it has at most what that class leaves, which is taken for p_A.
    """
    how = {"n0": N0, "label_aware": False} | how
    rule = CertificationSettings(
        sigma=options.sigma, n=N, alpha=ALPHA, rule=text, **how
    ).stopping_rule()
    results = []
    for seed, log in enumerate(logs):
        p = recovered(log, options.sigma, np.random.default_rng(seed))
        chosen = np.linspace(0, len(log) - 1, min(options.images, len(log))).astype(int)
        correct, silent = (
            (log.predict == log.label).to_numpy(),
            log.predict.to_numpy() < 0,
        )
        p = np.where(correct | silent, p, 1.0 - p) if how["label_aware"] else p
        results.append(
            replay(rule, p[chosen], correct[chosen], np.array(radii), seed, how["n0"])
        )
    return results


def rules(options: argparse.Namespace) -> Iterator[Figure]:
    """Each rule's saving beside its target, then what it loses beside the most it may."""
    logs, grid = read_logs(options), [STEP * i for i in range(9)]
    ways: dict[str, tuple[str, dict[str, Any], float, float]] = {
        "one radius": ("one radius (mean of 0.25, 0.5, 1)", {}, 70.0, 0.0124),
        "one radius, any class": ("one radius, any class", {"n0": 0}, 75.0, 0.0124),
        "one radius, label tested": (
            "one radius, label tested",
            {"n0": 0, "label_aware": True},
            110.0,
            0.02,
        ),
    }
    for name, (whole, way, saved, lost) in ways.items():
        results = [
            each
            for r in RADII
            for each in over_logs(f"radius={r}", logs, [r], options, **way)
        ]
        points = np.array([result.lost for result in results])
        yield figure(f"{whole}: samples saved", factor(results), saved)
        yield figure(f"{name}: points lost, mean", points.mean(), lost, most=True)
        yield figure(
            f"{name}: points lost, worst log and radius", points.max(), 0.05, most=True
        )
    results = over_logs("grid", logs, grid, options)
    yield figure("grid: samples saved", factor(results), 5.5)
    yield figure(
        "grid: points lost, mean", np.mean([r.lost for r in results]), 0.0144, most=True
    )
    for price, saved, lost in ((0.1, 2.5, 1.0), (0.27, 4.0, 2.1)):
        results = over_logs(f"dense={price}", logs, grid, options)
        acr = 100 - 100 * np.mean([r.acr for r in results])
        yield figure(f"dense={price}: samples saved", factor(results), saved)
        yield figure(f"dense={price}: ACR lost, %", acr, lost, most=True)
        yield figure(
            f"dense={price}: points lost, mean",
            np.mean([r.lost for r in results]),
            0.8,
            most=True,
        )
    yield beside_known_p(logs, options, price=0.27)


def factor(results: list[Replay]) -> float:
    """(n0 + n) over the mean of samples."""
    return (N0 + N) / float(np.mean([result.samples for result in results]))


def beside_known_p(
    logs: list[pd.DataFrame], options: argparse.Namespace, price: float
) -> Figure:
    """The samples of `dense` over those of the same mean radius where p_A, which no rule knows, chooses each n.

    Each price of a sample makes another choice: the n at which the radius by Clopper-Pearson less the price is largest.
    """
    every = [
        recovered(log, options.sigma, np.random.default_rng(seed))
        for seed, log in enumerate(logs)
    ]
    p = np.concatenate([each[:: max(1, len(each) // 150)] for each in every])
    rule = make_rule(f"dense={price}", noise=Gaussian(options.sigma), n=N, alpha=ALPHA)
    assert isinstance(rule, Dense)
    samples, radius, _ = walked(rule, p, seed=0)
    n, rng = rule.looks.astype(np.float64), np.random.default_rng(1)
    failures = rng.binomial(np.diff(rule.looks, prepend=0), (1.0 - p)[:, None]).cumsum(
        axis=1
    )
    drawn, expected = (
        radius_of(failures, n - failures),
        radius_of(n * (1.0 - p)[:, None], n * p[:, None]),
    )
    chosen = [np.argmax(expected - each * n / n[-1], axis=1) for each in PRICES]
    known, rows = np.array([n[k].mean() for k in chosen]), np.arange(len(p))
    means = np.array([drawn[rows, k].mean() for k in chosen])
    best = float(
        np.interp(radius.clip(0).mean() / rule.noise.scale, means[::-1], known[::-1])
    )
    return figure(
        f"dense={price}: samples over those where p_A chooses n",
        samples.mean() / best,
        1.15,
        most=True,
    )


def radius_of(failures: Floats, successes: Floats) -> Floats:
    """Clopper-Pearson's radius in sigma, of counts that need not be whole; 0 where p_A <= 1/2."""
    tail = special.betainccinv(failures + 1.0, np.maximum(successes, 1e-9), ALPHA)
    return np.asarray(-special.ndtri(np.minimum(tail, 0.5)))


# --- accuracy -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Passes:
    """Samples of all images under the rule, of both passes, and how often the interval missed and how long it was."""

    whole: float
    both: float
    missed: float
    within: float


def of_labels(log: pd.DataFrame, sigma: float, rng: np.random.Generator) -> Floats:
    """(N,) probability of each image's label."""
    p = recovered(log, sigma, rng)
    wrong = ((log.predict != log.label) & (log.predict >= 0)).to_numpy()
    return np.where(wrong, (1.0 - p) * rng.random(len(p)), p)


def two_passes(
    log: pd.DataFrame, radius: float, options: argparse.Namespace, seed: int
) -> Passes:
    rng, level = np.random.default_rng(seed), 0.05
    how: dict[str, Any] = {"noise": Gaussian(options.sigma), "n": N, "alpha": ALPHA}
    one, screen = (
        make_rule(f"radius={radius}", **how),
        make_rule(f"screen={radius}", **how),
    )
    assert isinstance(one, OneRadius) and isinstance(screen, Screen)
    samples, radii, _ = walked(one, of_labels(log, options.sigma, rng), seed)
    certified = radii >= 0.0
    last = one.looks[one.looks <= screen.horizon][-1]
    left = np.flatnonzero(samples > last)
    drawn = bounds.enough_drawn(len(left), 2.0 * options.within * len(log), level)
    truth, second, missed, length = int(certified[left].sum()), [], [], []
    for _ in range(CHOICES):
        chosen = rng.choice(left, drawn, replace=False)
        low, high = bounds.finite_share_interval(
            int(certified[chosen].sum()), drawn, len(left), level
        )
        second.append(samples[chosen].sum())
        missed.append(not low <= truth <= high)
        length.append((high - low) / (2.0 * len(log)))
    first = np.minimum(samples, last).sum()
    return Passes(
        float(samples.sum()),
        float(first + np.mean(second)),
        float(np.mean(missed)),
        max(length),
    )


def accuracy(options: argparse.Namespace) -> Iterator[Figure]:
    logs, every = read_logs(options), []
    for r in RADII:
        found = [two_passes(log, r, options, seed) for seed, log in enumerate(logs)]
        whole, both = (
            np.mean([each.whole for each in found]),
            np.mean([each.both for each in found]),
        )
        yield figure(
            f"radius {r:g}: samples of all images over those of two passes",
            whole / both,
            3.0,
        )
        few = FEW / len(logs[0]) * whole
        yield figure(
            f"radius {r:g}: two passes over {FEW} images", both / few, 8.0, most=True
        )
        every += found
    yield figure(
        "intervals that miss, share",
        np.mean([each.missed for each in every]),
        0.05,
        most=True,
    )
    yield figure(
        "longest half of an interval",
        max(each.within for each in every),
        options.within,
        most=True,
    )


# --- bounds ---------------------------------------------------------------------------------------------------------

# n, the beta distribution, what to call it, and how much larger than Bernstein's the radius over sigma must be
SCORES = (
    (1000, (1.26, 0.067), "mean 0.95, deviation 0.14", 0.08),
    (1000, (8.0, 2.0), "mean 0.8, deviation 0.12", 0.04),
    (100_000, (1.26, 0.067), "mean 0.95, deviation 0.14", 0.0),
    (100_000, (20.0, 0.002), "mean 0.9999, deviation 0.002", 0.1),
    (100_000, (1.0, 1e-7), "1 throughout", 0.15),
)
# n, the probabilities, and the least share of the two-sided radius that the pairwise one must be
CLASSES = (
    (1000, [0.4, *[0.15] * 4], 1.05),
    (1000, [0.3, *[0.7 / 9] * 9], 1.05),
    (1000, [0.6, 0.39, 0.01], 1.02),
    (100_000, [0.4, *[0.15] * 4], 1.0),
    (1000, [0.9, *[0.1 / 9] * 9], 0.98),
)


def bounds_compared(options: argparse.Namespace) -> Iterator[Figure]:
    for n, shape, words, gain in SCORES:
        x = np.random.default_rng(0).beta(
            *shape, (max(2, options.draws * 1000 // n // 4), n)
        )
        variance = bounds.sample_variance(x.sum(axis=1), (x * x).sum(axis=1), n)
        theirs = (
            Gaussian(1.0)
            .radius(1.0 - bounds.bernstein_lower(x.mean(axis=1), variance, n, ALPHA))
            .mean()
        )
        ours = Gaussian(1.0).radius(1.0 - bounds.betting_lower(x, ALPHA)).mean()
        name = f"n = {n:,}, scores of {words}: betting radius / sigma less Bernstein's"
        yield Figure(
            name,
            float(ours - theirs),
            gain,
            [],
            f"{ours:.3f} against {theirs:.3f}",
            unit="",
        ).told()
    for n, p, least in CLASSES:
        counts = np.random.default_rng(0).multinomial(n, p, size=options.draws)
        _, *each = bounds.pairwise_bounds(
            counts, np.zeros(len(counts), np.int64), ALPHA
        )
        ours = float(Gaussian(1.0).radius(*each).min(axis=1).mean())
        both = bounds.two_sided_bounds(counts, np.zeros(len(counts), np.int64), ALPHA)
        theirs = float(Gaussian(1.0).radius(*both).mean())
        name = f"n = {n:,}, p_A = {p[0]:g} of {len(p)} classes: pairwise radius over the two-sided one"
        yield Figure(
            name, ours / theirs, least, [], f"{ours:.3f} against {theirs:.3f} sigma"
        ).told()


QUESTIONS = {"rules": rules, "accuracy": accuracy, "bounds": bounds_compared}
FILES = {"rules": "savings", "accuracy": "whole-accuracy", "bounds": "bounds-compared"}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("question", choices=QUESTIONS)
    parser.add_argument(
        "--logs", type=Path, default=beside_the_data(), help="folder of TSV logs"
    )
    parser.add_argument(
        "--sigma", type=float, default=0.5, help="that the logs were made at"
    )
    parser.add_argument(
        "--images", type=int, default=10_000, help="of each log, for rules"
    )
    parser.add_argument(
        "--within",
        type=float,
        default=0.01,
        help="half of the length of the interval of accuracy",
    )
    parser.add_argument("--draws", type=int, default=200, help="of bounds")
    options = parser.parse_args()
    finish(QUESTIONS[options.question](options), options.out, FILES[options.question])


if __name__ == "__main__":
    main()
