"""The fewest samples that any test of one radius can take on published logs, and how near the rule `radius` comes.

    python benchmarks/fewest_samples.py [--logs FOLDER] [--sigma 0.5] [--out results/bench/fewest-samples.json]

The images' p_A are those of `savings.py`. A test of a radius looks at successes and may claim it, give up or draw more,
up to n = 100,000. For any prices of a claim at p0 and of a lost certificate, the smallest expected cost of any test,
found by backward induction, bounds from below the samples of every test that keeps alpha and loses no more than the
rule (Lagrangian duality); the best prices are searched for. Any test is one that looks at every sample up to 40, and
from there on every twentieth part of its samples. The rule's own samples and losses are computed exactly on the same
grid of p_A, for whichever class crosses (n0 = 0).
"""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy import special

from harness import Figure, finish, options_of
from randsmooth import bounds
from randsmooth.noise import Gaussian
from savings import ALPHA, N0, RADII, N, beside_the_data, figure, read_logs, recovered

SURE = 10.0  # standard deviations from p0, beyond which no test goes on
ALL = 2000  # samples up to which every number of successes is followed
EVERY, RATIO = 40, 1.05  # looks of any test: at every sample so far, then growing by this

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Mixture:
    """Images by their p_A: `weight` (J,) is their share at each `p` (J,), `right` (J,) that of right ones above p0."""

    p: Floats
    weight: Floats
    right: Floats

    @classmethod
    def of(cls, p: Floats, correct: NDArray[np.bool_], p0: float) -> Mixture:
        """Of the p_A (N,) of images, in steps that are fine around p0."""
        p, z0 = np.clip(p, 1e-6, 1.0 - 0.25 / N), float(special.ndtri(p0))
        edges = np.unique([*np.arange(-4.8, 4.8, 0.03), *(z0 + np.arange(-0.15, 0.15, 0.004))])
        step = np.digitize(special.ndtri(p), edges)
        number, total, right = (np.bincount(step, weights) for weights in (None, p, correct))
        kept = number > 0
        mean = total[kept] / number[kept]
        return cls(mean, number[kept] / len(p), np.where(mean >= p0, right[kept], 0.0) / len(p))

    def given(self, likelihood: Floats) -> Mixture:
        """The part of the images that shows something of this `likelihood` (J,); the shares add up to its share."""
        kept = likelihood > 1e-12
        return Mixture(*(each[kept] for each in (self.p, self.weight * likelihood, self.right * likelihood)))


class Tests(ABC):
    """B tests, or B costs: what they cost where one stops, and what becomes of that where one may go on."""

    price: Floats  # (B,) of a sample

    @abstractmethod
    def stop(self, k: int, s: Ints, null: Floats, right: Floats) -> Floats:
        """(B, S) at look k, after `s` (S,) successes, given the odds of p0 and of a right image there (S,)."""

    @abstractmethod
    def settle(self, k: int, s: Ints, stop: Floats, go_on: Floats) -> Floats:
        """(B, S) the cost, of the two."""


class Best(Tests):
    """The best test at each pair of prices (B, 2): of a claim at p0, and of a right image that is not claimed."""

    def __init__(self, prices: Floats) -> None:
        self.prices, self.price = prices, np.ones(len(prices))

    def stop(self, k: int, s: Ints, null: Floats, right: Floats) -> Floats:
        return np.minimum(0.0, self.prices[:, :1] * null - self.prices[:, 1:] * right)

    def settle(self, k: int, s: Ints, stop: Floats, go_on: Floats) -> Floats:
        return np.minimum(stop, go_on)


class Tables(Tests):
    """The samples that boundaries take, then the right images that they claim: B is twice their number."""

    def __init__(self, tables: list[bounds.Boundary]) -> None:
        self.tables, self.price = tables, np.repeat([1.0, 0.0], len(tables))

    def stop(self, k: int, s: Ints, null: Floats, right: Floats) -> Floats:
        claimed = np.stack([np.where(s >= table.claim[k], right, 0.0) for table in self.tables])
        return np.concatenate([np.zeros_like(claimed), claimed])

    def settle(self, k: int, s: Ints, stop: Floats, go_on: Floats) -> Floats:
        on = np.stack([(s < table.claim[k]) & (s > table.give_up[k]) for table in self.tables])
        return np.where(np.concatenate([on, on]), go_on, stop)


def costs(tests: Tests, looks: Ints, p0: float, images: Mixture) -> Floats:
    """(B,) expected cost of an image under each test, by backward induction over the looks.

    All is relative to the probability of the images' mixture, so that a sample costs 1 wherever one is.
    """
    after: tuple[Floats, Floats, int] | None = None  # of the next look: costs (B, S), logs of the mixture, first s
    for k in range(len(looks) - 1, -1, -1):
        n, before = int(looks[k]), int(looks[k - 1]) if k else 0
        low, high = _window(n, p0)
        least, most = _reached(before, n, p0)
        first, last = min(low, least), min(n, max(high, most))
        s = np.arange(first, last + 1)
        mixture, right, null = _logs(n, s, p0, images)
        cost = tests.stop(k, s, np.exp(np.minimum(null - mixture, 600.0)), np.exp(right - mixture))
        if after is not None:
            inside = slice(low - first, high - first + 1)
            go_on = _expected(after, n, int(looks[k + 1]), p0, s[inside], mixture[inside], tests.price)
            cost[:, inside] = tests.settle(k, s[inside], cost[:, inside], go_on)
        after = cost, mixture, first
    assert after is not None
    weight = np.log(images.weight.sum(keepdims=True))
    return np.exp(weight[0]) * _expected(after, 0, int(looks[0]), p0, np.zeros(1, int), weight, tests.price)[:, 0]


def _window(n: int, p0: float) -> tuple[int, int]:
    """The numbers of successes of n at which a test may go on."""
    reach = SURE * np.sqrt(n * p0 * (1.0 - p0)) + 20.0
    return (max(0, int(n * p0 - reach)), min(n, int(n * p0 + reach) + 1)) if n >= ALL else (0, n)


def _gained(n: int, m: int, p0: float) -> tuple[int, int]:
    """The successes that m samples may add to those of n within the window."""
    if n < ALL:
        return 0, m
    reach = 1.5 * m / n * (SURE * np.sqrt(n * p0 * (1.0 - p0)) + 20.0) + 9.0 * np.sqrt(m * p0 * (1.0 - p0)) + 15.0
    return max(0, int(m * p0 - reach)), min(m, int(m * p0 + reach) + 1)


def _reached(before: int, n: int, p0: float) -> tuple[int, int]:
    (low, high), (least, most) = _window(before, p0), _gained(before, n - before, p0)
    return low + least, high + most


def _logs(n: int, s: Ints, p0: float, images: Mixture) -> tuple[Floats, Floats, Floats]:
    """Logs of the probabilities (S,) of one sequence with s of n successes: of all images, of right ones, at p0."""
    each = s[:, None] * np.log(images.p) + (n - s)[:, None] * np.log1p(-images.p)
    top = each.max(axis=1, keepdims=True)
    shares = np.exp(each - top)
    with np.errstate(divide="ignore"):
        of_all, right = (top[:, 0] + np.log(shares @ weights) for weights in (images.weight, images.right))
    return of_all, right, s * np.log(p0) + (n - s) * np.log1p(-p0)


def _expected(
    after: tuple[Floats, Floats, int], n: int, then: int, p0: float, s: Ints, mixture: Floats, price: Floats
) -> Floats:
    """(B, S) the cost of drawing on from n to `then` samples, after `s` (S,) successes."""
    cost, later, first = after
    m = then - n
    least, most = _gained(n, m, p0)
    i = np.arange(least, most + 1)
    ways = special.gammaln(m + 1) - special.gammaln(i + 1) - special.gammaln(m - i + 1)
    start = int(s[0]) + least - first
    chance = np.exp(ways + sliding_window_view(later[start:], len(i))[: len(s)] - mixture[:, None])
    return np.stack(
        [
            m * paid + np.einsum("sw,sw->s", chance, sliding_window_view(each[start:], len(i))[: len(s)])
            for paid, each in zip(price, cost, strict=True)
        ]
    )


def any_looks() -> Ints:
    looks = list(range(1, EVERY + 1))
    while looks[-1] < N:
        looks.append(min(N, max(looks[-1] + 1, int(looks[-1] * RATIO))))
    return np.array(looks)


def fewest(p0: float, images: Mixture, claimed: float) -> float:
    """A bound from below on the samples of any test that keeps alpha and claims so many right images."""
    best, found, spread = np.array([0.3, 1.5e6]), -np.inf, np.array([4.0, 4.0])  # ratio of the prices, and the second
    for _ in range(5):
        ratio, lost = (each.ravel() for each in np.meshgrid(*(best * spread ** np.c_[-1.0, -0.3, 0.3, 1.0].T).T))
        prices = np.stack([ratio * lost, lost], axis=1)
        values = costs(Best(prices), any_looks(), p0, images) - prices[:, 0] * ALPHA + lost * claimed
        top = int(values.argmax())
        best, found, spread = np.array([ratio[top], lost[top]]), max(found, float(values[top])), spread**0.6
    return found


def figures(options: argparse.Namespace) -> list[Figure]:
    logs = read_logs(options)
    p = np.concatenate([recovered(log, options.sigma, np.random.default_rng(seed)) for seed, log in enumerate(logs)])
    correct = np.concatenate([(log.predict == log.label).to_numpy() for log in logs])
    looks, taken, least = bounds.looks(N), [], []
    for r in RADII:
        q0 = float(Gaussian(options.sigma).tail(r))
        images = Mixture.of(p, correct, 1.0 - q0)
        samples, claimed = costs(Tables([bounds.any_class_boundary(q0, looks, ALPHA)]), looks, 1.0 - q0, images)
        taken.append(samples)
        least.append(fewest(1.0 - q0, images, claimed))
        print(f"  radius {r}: {taken[-1]:,.0f} samples, no test {least[-1]:,.0f}", flush=True)
    certify = N0 + N
    return [
        figure("one radius, any class, computed: samples saved", certify / np.mean(taken), 75.0),
        figure("one radius: no test of these losses saves more than", certify / np.mean(least), 90.0, most=True),
        figure("one radius: share of these that all tests take", np.mean(least) / np.mean(taken), 0.9, unit=""),
    ]


def main() -> None:
    parser = options_of(__doc__, "fewest-samples")
    parser.add_argument("--logs", type=Path, default=beside_the_data(), help="folder of TSV logs")
    parser.add_argument("--sigma", type=float, default=0.5, help="that the logs were made at")
    options = parser.parse_args()
    finish(figures(options), options.out)


if __name__ == "__main__":
    main()
