"""What a mean radius costs in samples: other bounds on the samples of `dense`, and what no rule can be below.

`savings.py` prints these beside what `dense` saves. All are about images whose p_A is known, as it is recovered there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from randsmooth import bounds
from randsmooth.rules import Dense, Rule
from randsmooth.testing.walks import walks

PRICES = np.geomspace(0.02, 1.0, 60)  # of n samples, in sigma: those at which the n of each image is chosen
STEP = 0.01  # sigma: from one radius to the next, of the integral over radii
CHUNK = 500  # images that are judged at once
LEVELS = 20_000  # probabilities of a claim, of which the largest is found that a number of samples allows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def of_dense(rule: Dense, p: Floats, seed: int) -> tuple[Ints, Floats, Ints]:
    """(N,) samples that the rule takes of images of these p_A, (N,) radii, and (N,) successes among n samples.

    Many images at once: what `Rule.next_look` and `Rule.claim` would say of each. A radius below 0 is no certificate.
    """
    looks, rng = rule.looks, np.random.default_rng(seed)
    successes = rng.binomial(np.diff(looks, prepend=0), p[:, None]).cumsum(axis=1)
    stop = np.argmax(successes <= rule.enough, axis=1)  # all stop at the last look
    seen = np.where(np.arange(len(looks)) <= stop[:, None], successes, -1)
    claimed = np.concatenate([_claimed(some, rule.needed) for some in np.array_split(seen, 1 + len(p) // CHUNK)])
    radii = np.array([-1.0, *rule.radii])
    return looks[stop], radii[claimed], successes[:, -1]


def _claimed(paths: Ints, needed: Ints) -> Ints:
    """(N,) how many radii, smallest first, are claimed on paths (N, K)."""
    missed = np.ones((len(paths), len(needed) + 1), bool)
    for k in range(paths.shape[1]):
        missed[:, :-1] &= paths[:, k, None] < needed[:, k]
    return np.asarray(missed.argmax(axis=1))


def mean_radii(rule: Rule, looks: Ints, p: Floats, seed: int) -> tuple[Floats, float]:
    """(3,) mean radii in sigma of the rule, the union form and the betting form on the same samples; their mean number.

    The union form (Horvath et al. 2022) divides alpha among the looks, the betting form (Voracek 2024) holds at any
    number of samples: the e-process of the uniform prior above each p_A.
    """
    paths = walks(rule, 1.0 - p, np.random.default_rng(seed))
    radii = np.zeros((3, len(paths)))
    for i, path in enumerate(paths):
        successes, seen = np.array(path), looks[: len(path)]
        claim = rule.claim(path)
        q = [float(bounds.union_q_upper(successes, looks, rule.alpha))]
        q.append(float(bounds.anytime_q_upper(successes, seen, rule.alpha).min()))
        radii[0, i] = claim.radius / rule.sigma
        radii[1:, i] = np.where(np.array(q) < 0.5, bounds.radius_of_tail(q, 1.0), 0.0)
    return radii.mean(axis=1), float(np.mean([rule.samples(path) for path in paths]))


def known_p(p: Floats, looks: Ints, alpha: float, seed: int) -> tuple[Floats, Floats]:
    """(P,) mean samples and mean radii, in sigma, where p_A chooses each image's n, and Clopper-Pearson bounds it.

    Each price of a sample makes another choice: the n at which the radius less the price is largest. No rule knows p_A.
    """
    n, rng = looks.astype(np.float64), np.random.default_rng(seed)
    failures = rng.binomial(np.diff(looks, prepend=0), (1.0 - p)[:, None]).cumsum(axis=1)
    drawn = _radius(failures, n - failures, alpha)
    expected = _radius(n * (1.0 - p)[:, None], n * p[:, None], alpha)
    chosen = [np.argmax(expected - price * n / n[-1], axis=1) for price in PRICES]
    rows = np.arange(len(p))
    return np.array([n[k].mean() for k in chosen]), np.array([drawn[rows, k].mean() for k in chosen])


def fewest_samples(p: Floats, most: int, alpha: float, mean_radius: float) -> float:
    """The mean samples below which no rule has this mean radius in sigma, even one that knows p_A (Wald's inequality).

    A rule that claims p > p0 with probability P under p, and alpha under p0, draws at least KL(P, alpha) / KL(p, p0)
    samples of the mean image (data processing). With m samples the mean radius is thus at most the integral over r of
    the largest such P; the samples are shared among images by a Lagrange multiplier, any of which gives a bound.
    """
    r = STEP * np.arange(int(5.0 / STEP))
    p0 = special.ndtr(r)  # the lower end of each step: the larger radius
    m = np.concatenate([[0.0], np.geomspace(10, most, 120)])
    levels = np.concatenate([[alpha], alpha + np.geomspace(1e-9, 1.0 - alpha, LEVELS)]).clip(max=1.0)
    needed = _kl(levels, np.float64(alpha))
    radius = np.array(
        [
            STEP * np.interp(m[:, None] * np.where(p0 < each, _kl(each, p0), 0.0), needed, levels).sum(axis=1)
            for each in p
        ]
    )
    samples = [
        np.min(m - worth * radius, axis=1).mean() + worth * mean_radius for worth in np.geomspace(100.0, 1e7, 100)
    ]
    return float(max(samples))


def _radius(failures: Floats, successes: Floats, alpha: float) -> Floats:
    """Clopper-Pearson's radius in sigma, of counts that need not be whole; 0 where p_A <= 1/2."""
    tail = special.betainccinv(failures + 1.0, np.maximum(successes, 1e-9), alpha)
    return np.asarray(-special.ndtri(np.minimum(tail, 0.5)))


def _kl(p: Floats, q: Floats) -> Floats:
    return np.asarray(special.rel_entr(p, q) + special.rel_entr(1.0 - p, 1.0 - q))
