"""Samples that the sequential rules save, replayed on published certification logs.

    python benchmarks/savings.py [LOGS] [--sigma 0.5] [--images 10000] [--out results/bench/savings.json]

LOGS is a folder of TSV logs made at n = 100,000 and alpha = 0.001; by default those of the ACR paper at sigma 0.5,
where they lie beside RANDSMOOTH_DATA. Each image's p_A is recovered from its logged radius, its samples are drawn
again, and the rule decides on them; the plain certificate of the same samples, drawn on to n, is what it is compared
with. A log does not tell p_A of an image that it abstained on: those are spread evenly below the smallest certifiable
p_A, as densely as images lie above it. Samples that pick the class are counted in.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness import Figure, finish
from mean_radius import fewest_samples, known_p, mean_radii, of_dense
from randsmooth import bounds, read
from randsmooth.certificates import CertificationSettings
from randsmooth.rules import Dense, Rule, make_rule

N0, N, ALPHA, STEP = 100, 100_000, 0.001, 0.25
DENSE = 0.1  # width of the strip of p_A above the smallest certifiable one, whose density is carried on below
RADII = (0.25, 0.5, 1.0)
NEAR, NEARER = 0.05, 0.1  # tolerance of the rule of that name, in sigma, and price of `dense` for a mean radius as near
PRICE = 0.27  # of `dense` for the mean radius to within 2.1%
FEW = 150  # images of each log, on whose samples other bounds are compared

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Replay:
    """Mean samples, and points of certified accuracy lost at each radius; the share of ACR that is left.

    `behind` holds, of each image that either certifies, how far the radius stays behind the other's, in sigma. Those
    that pick the class are among the samples.
    """

    samples: float
    lost: Floats
    acr: float
    behind: Floats

    @property
    def factor(self) -> float:
        return (N0 + N) / self.samples


def recovered(log: pd.DataFrame, sigma: float, rng: np.random.Generator) -> Floats:
    """(N,) p_A of the picked class of each image."""
    n_a = bounds.successes_of_q(bounds.tail_of_radius(log.radius.to_numpy(), sigma), N, ALPHA)
    p, silent = n_a / N, log.predict.to_numpy() < 0
    least = p[~silent].min()
    density = np.sum(~silent & (p < least + DENSE)) / DENSE
    p[silent] = least - rng.random(silent.sum()) * min(least, silent.sum() / max(density, 1.0))
    return p


def replay(rule: Rule, p: Floats, correct: NDArray[np.bool_], radii: Floats, seed: int, n0: int = N0) -> Replay:
    """Decide every image of probabilities `p` (N,) by `rule`, and by CERTIFY on the same samples.

    Where the samples themselves pick the class, all other answers are one class: so the rule stops last.
    """
    rng = np.random.default_rng(seed)
    samples, radius, plain = (np.zeros(len(p)) for _ in range(3))
    for i, share in enumerate(p):
        path: list[int] = []
        drawn = successes = 0
        while (look := rule.next_look(path)) is not None:
            successes += int(rng.binomial(look - drawn, share))
            path.append(max(successes, look - successes) if rule.any_class else successes)
            drawn = look
        claim = rule.claim(path)
        samples[i], radius[i] = drawn, claim.radius if claim.q < 0.5 else -1.0
        plain[i] = successes + rng.binomial(N - drawn, share)
    return compared(samples, radius, plain, correct, radii, rule.sigma, n0)


def compared(
    samples: Floats,
    radius: Floats,
    plain: Floats,
    correct: NDArray[np.bool_],
    radii: Floats,
    sigma: float,
    n0: int,
) -> Replay:
    """Images that took `samples` for `radius` (N,), beside Clopper-Pearson on their `plain` (N,) successes of n."""
    q = bounds.q_upper(plain, N, ALPHA)
    full = np.where(q < 0.5, bounds.radius_of_tail(q, sigma), -1.0)
    lost = [100 * np.mean(correct & (full >= r)) - 100 * np.mean(correct & (radius >= r)) for r in radii]
    acr = np.mean(correct * radius.clip(0)) / np.mean(correct * full.clip(0))
    behind = (full.clip(0) - radius.clip(0))[(full >= 0) | (radius >= 0)] / sigma
    return Replay(n0 + float(samples.mean()), np.array(lost), float(acr), behind)


def over_logs(
    text: str,
    logs: list[pd.DataFrame],
    radii: list[float],
    options: argparse.Namespace,
    *,
    n0: int = N0,
    label_aware: bool = False,
) -> list[Replay]:
    """The replay of the rule `text` on every log; with n0 = 0 of whichever class crosses, or of the label.

    Of the label a log of another class tells that it has at most what that class leaves, which is taken for p_A.
    """
    how = CertificationSettings(
        sigma=options.sigma, n0=n0, n=N, alpha=ALPHA, rule=text, label_aware=label_aware
    ).stopping_rule()
    results = []
    for seed, log in enumerate(logs):
        p = recovered(log, options.sigma, np.random.default_rng(seed))
        chosen = np.linspace(0, len(log) - 1, min(options.images, len(log))).astype(int)
        correct, silent = (log.predict == log.label).to_numpy(), log.predict.to_numpy() < 0
        p = np.where(correct | silent, p, 1.0 - p) if label_aware else p
        results.append(replay(how, p[chosen], correct[chosen], np.array(radii), seed, n0))
    return results


def figures(options: argparse.Namespace) -> list[Figure]:
    """Each rule's saving beside its target, then what it loses beside the most it may."""
    logs = [read_log(path) for path in sorted(options.logs.glob("*.tsv"))]
    grid = [STEP * i for i in range(len(make_rule("grid", sigma=options.sigma, n=N, alpha=ALPHA).radii))]  # type: ignore[attr-defined]
    ways: dict[str, dict[str, Any]] = {"one": {}, "any": {"n0": 0}, "label": {"n0": 0, "label_aware": True}}
    one, any_class, label = (
        [result for r in RADII for result in over_logs(f"radius={r}", logs, [r], options, **way)]
        for way in ways.values()
    )
    many, near = over_logs("grid", logs, grid, options), over_logs(f"tolerance={NEAR}", logs, grid, options)
    within = [100 * np.mean(result.behind <= NEAR) for result in near]
    named = {"one": one, "any": any_class, "label": label, "grid": many}
    lost = {name: np.array([result.lost for result in results]) for name, results in named.items()}
    return [
        figure("one radius (mean of 0.25, 0.5, 1): samples saved", factor(one), 70.0),
        figure("one radius: points of certified accuracy lost, mean", lost["one"].mean(), 0.0124, most=True),
        figure("one radius: points lost, worst log and radius", lost["one"].max(), 0.05, most=True),
        figure("one radius, any class: samples saved", factor(any_class), 75.0),
        figure("one radius, any class: points lost, mean", lost["any"].mean(), 0.0124, most=True),
        figure("one radius, any class: points lost, worst log and radius", lost["any"].max(), 0.05, most=True),
        figure("one radius, label tested: samples saved", factor(label), 110.0),
        figure("one radius, label tested: points lost, mean", lost["label"].mean(), 0.02, most=True),
        figure("one radius, label tested: points lost, worst log and radius", lost["label"].max(), 0.05, most=True),
        figure("grid: samples saved", factor(many), 5.5),
        figure("grid: points of certified accuracy lost, mean", lost["grid"].mean(), 0.0144, most=True),
        figure("tolerance 0.05 sigma: samples saved", factor(near), 2.3),
        figure("tolerance 0.05 sigma: ACR lost, %", 100 - 100 * np.mean([r.acr for r in near]), 1.4, most=True),
        figure("tolerance 0.05 sigma: certificates within, %, worst log", float(np.min(within)), 90.0, unit=""),
        *of_mean_radius(logs, grid, options),
    ]


def of_mean_radius(logs: list[pd.DataFrame], radii: list[float], options: argparse.Namespace) -> list[Figure]:
    """What `dense` saves at two prices, and beside other bounds, on the same samples."""
    found = []
    for price, saved, lost in ((NEARER, 2.5, 1.0), (PRICE, 4.0, 2.1)):
        results = [dense_on(price, log, np.array(radii), seed, options) for seed, log in enumerate(logs)]
        found += [
            figure(f"dense={price}: samples saved", factor(results), saved),
            figure(f"dense={price}: ACR lost, %", 100 - 100 * np.mean([r.acr for r in results]), lost, most=True),
            figure(f"dense={price}: points lost, mean", np.mean([r.lost for r in results]), 0.8, most=True),
        ]
    return [*found, *beside_others(logs, options)]


def dense_on(price: float, log: pd.DataFrame, radii: Floats, seed: int, options: argparse.Namespace) -> Replay:
    """As `replay` of the rule dense on one log, all images at once."""
    rule = make_rule(f"dense={price}", sigma=options.sigma, n=N, alpha=ALPHA)
    assert isinstance(rule, Dense)
    chosen = np.linspace(0, len(log) - 1, min(options.images, len(log))).astype(int)
    p = recovered(log, options.sigma, np.random.default_rng(seed))[chosen]
    samples, radius, plain = of_dense(rule, p, seed)
    return compared(samples, radius, plain, (log.predict == log.label).to_numpy()[chosen], radii, options.sigma, N0)


def beside_others(logs: list[pd.DataFrame], options: argparse.Namespace) -> list[Figure]:
    """The mean radius of `dense` over those of other bounds on its samples; its samples over the fewest possible."""
    rule = make_rule(f"dense={PRICE}", sigma=options.sigma, n=N, alpha=ALPHA)
    looks = bounds.looks(N, grain=rule.block or 1)
    every = [recovered(log, options.sigma, np.random.default_rng(seed)) for seed, log in enumerate(logs)]
    p = np.concatenate([each[:: max(1, len(each) // FEW)] for each in every])
    (dense, union, betting), samples = mean_radii(rule, looks, p, seed=0)
    known = known_p(p, looks, ALPHA, seed=1)
    best = float(np.interp(dense, known[1][::-1], known[0][::-1]))
    least = fewest_samples(p, N, ALPHA, dense)
    return [
        figure(f"dense={PRICE}: mean radius over that of the union form, same samples", dense / union, 1.0),
        figure(f"dense={PRICE}: mean radius over that of the betting form, same samples", dense / betting, 1.0),
        figure(f"dense={PRICE}: samples over those where p_A chooses n", samples / best, 1.15, most=True),
        figure(f"dense={PRICE}: samples over the information bound", samples / least, 3.5, most=True),
    ]


def factor(results: list[Replay]) -> float:
    """(n0 + n) over the mean of samples."""
    return (N0 + N) / float(np.mean([result.samples for result in results]))


def figure(name: str, value: float, target: float, *, most: bool = False, unit: str = "x") -> Figure:
    told = Figure(name, float(value), target, [], unit="" if most else unit, most=most)
    print(told.line(), flush=True)
    return told


def read_log(path: Path) -> pd.DataFrame:
    table = read(path)
    return pd.DataFrame({"label": table.label, "predict": table.predict, "radius": table.radius})


def beside_the_data() -> Path | None:
    data = os.environ.get("RANDSMOOTH_DATA")
    return Path(data).parent / "published-logs" / "cifar10-sigma0.5" if data else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path, nargs="?", default=beside_the_data(), help="folder of TSV logs")
    parser.add_argument("--sigma", type=float, default=0.5, help="that the logs were made at")
    parser.add_argument("--images", type=int, default=10_000, help="of each log")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/savings.json"))
    options = parser.parse_args()
    if options.logs is None or not any(options.logs.glob("*.tsv")):
        print(f"samples saved: not measured, no logs in {options.logs or 'RANDSMOOTH_DATA/../published-logs'}")
        return
    finish(figures(options), options.out)


if __name__ == "__main__":
    main()
