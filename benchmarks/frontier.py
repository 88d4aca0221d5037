"""How few samples a whole radius takes: rules and bounds of the literature, replayed on published logs.

    python benchmarks/frontier.py [--images 10000] [--few 1000] [--out results/frontier.json]

Seven CIFAR-10 logs at sigma 0.5, n = 100,000, alpha = 0.001 (see `savings.py`, which recovers each image's p_A). Each
image has one path of samples, by seed, on which all contestants decide; a second stage takes a path of its own. Samples
include the n0 = 100 that pick the class, except those of the two limits. Everything is a loss against `fixed` at
n = 100,000 on the same path: the share of ACR that is left, and points of certified accuracy at 0.25 to 1.5.

contestants: fixed n; the rules dense, grid and upto; e-processes with priors uniform, of the n0 samples, of other
    images, of another model's images, of both, and one that knows p_A; the confidence sequences of Voracek (2024), KT
    betting and union bound; ISS (Chen et al. 2022) with fresh samples; a pilot that chooses n; class partitioning
    (Delattre et al. 2025) at its worst and at its best. Those that hold at any time stop where `dense` or `upto` would.
limits: p_A is known and chooses n (Clopper-Pearson), for ACR or for accuracy; and what no rule can exceed that knows
    p_A, but of labels no more than how often images of such p_A are right: a claim of power b at level alpha takes
    KL(b, alpha) / KL(p_A, p0) samples (Wald).
levels: the probability of a false claim at alpha = 0.05, enumerated, beside a control that must exceed it.

The e-processes, ISS, pilots, class partitioning and the limits are of `--few` images of each log.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special, stats

import e_processes as e
from e_processes import Bools, Floats, Ints
from harness import options_of, written
from randsmooth import bounds
from randsmooth.noise import Gaussian
from randsmooth.rules import Dense, Grid, make_rule
from savings import ALPHA, N0, N, beside_the_data, read_logs, recovered

SIGMA = 0.5
NOISE = Gaussian(SIGMA)
RADII = 0.25 * np.arange(1, 7)

FIXED = (1000, 2000, 5000, 10_000, 20_000, 50_000, N)
# (rule, n)
RULES = (
    *(("dense=1", n) for n in (10_000, 20_000, 50_000, N)),
    *((f"dense={price}", N) for price in (0.5, 0.27, 0.1)),
    *(("grid", n) for n in (6000, 10_000, 20_000, 50_000, N)),
    *(("upto=1.5", n) for n in (10_000, 20_000, 50_000, N, 2 * N)),
)
# Where confidence sequences stop.
STOPS = (
    *(("dense=1", n) for n in (20_000, 50_000, N)),
    *((f"dense={price}", N) for price in (0.27, 0.1)),
    *(("upto=1.5", n) for n in (20_000, 50_000, N)),
)
MOST = 2 * N

# Of priors on q.
ATOMS = np.concatenate([[e.NO_FAILURE], np.geomspace(2e-6, 0.9, 120)])

ISS_PILOT = 2000
ISS_BATCH = 200
ISS_LOSSES = (0.01, 0.02, 0.05, 0.1, 0.2)
# (pilot, price of N samples in sigma)
PILOTS = ((100, 2.0), (100, 1.0), (100, 0.27), (1000, 2.0), (1000, 1.0), (1000, 0.27))
PARTITIONED = (1000, 5000, 20_000, N)
RIVALS = 9

LEVEL = 0.05
LEVEL_CAP = 2000
ISS_LEVEL_CAP = 20_000
TRUE_Q = (0.4, 0.2, 0.05, 0.01, 0.002)


@dataclass(frozen=True)
class Outcome:
    """What a contestant makes of some images of a log.

    Attributes:
        name: of the contestant.
        setting: by which it is repeated.
        samples: (N,) besides those that pick the class.
        radius: (N,) -1 where nothing is certified.
    """

    name: str
    setting: str
    samples: Floats
    radius: Floats


@dataclass(frozen=True)
class Images:
    """Images of one log, and a path of samples of each.

    Attributes:
        q: (N,) 1 - p_A.
        correct: (N,) whether the picked class is the label.
        silent: (N,) whether the log abstains.
        looks: (K,) samples so far.
        failures: (N, K) among them.
        failures0: (N,) among the n0 samples.
        others: (M,) q of other images of the same log.
        elsewhere: (M,) q of the same images under another model.
    """

    q: Floats
    correct: Bools
    silent: Bools
    looks: Ints
    failures: Ints
    failures0: Ints
    others: Floats
    elsewhere: Floats

    def at(self, looks: Ints) -> Ints:
        """Return the failures at some of the looks."""
        return self.failures[:, np.searchsorted(self.looks, looks)]

    def every(self, step: int) -> "Images":
        """Return every such image."""
        chosen = slice(None, None, step)
        return Images(
            self.q[chosen],
            self.correct[chosen],
            self.silent[chosen],
            self.looks,
            self.failures[chosen],
            self.failures0[chosen],
            self.others,
            self.elsewhere,
        )


def radius_of(q: Floats) -> Floats:
    """Return the radius, or -1 where p_A may be 1/2 or less."""
    return np.where(q < 0.5, -SIGMA * special.ndtri(np.minimum(q, 0.5)), -1.0)


@cache
def rule_of(text: str, n: int) -> Grid:
    rule = make_rule(text, noise=NOISE, n=n, alpha=ALPHA)
    assert isinstance(rule, Grid)
    return rule


# --- contestants ----------------------------------------------------------------------------------------------------


def fixed(images: Images) -> Iterator[Outcome]:
    for n in FIXED:
        successes = n - images.at(np.array([n]))[:, 0]
        radius = radius_of(bounds.q_upper(successes, n, ALPHA))
        yield Outcome("fixed", f"n={n}", np.full(len(radius), float(n)), radius)


def rules(images: Images) -> Iterator[Outcome]:
    for text, n in RULES:
        rule = rule_of(text, n)
        samples, claimed = replayed(rule, images.at(rule.looks))
        radius = np.array([-1.0, *rule.radii])[claimed]
        yield Outcome(rule.name, f"{text}, n={n}", samples, radius)


def replayed(rule: Grid, failures: Ints) -> tuple[Floats, Ints]:
    """Return (N,) samples, and (N,) how many radii are claimed, by a rule of close or wide radii."""
    # A radius counts once all smaller ones do. Of the many radii of `dense` this claims now and then one step less than
    # the rule itself, where a larger one crosses at an earlier look.
    needed = np.maximum.accumulate(rule.needed, axis=0)
    reached = np.stack(
        [
            np.searchsorted(column, n - f, side="right")
            for column, n, f in zip(needed.T, rule.looks, failures.T, strict=True)
        ],
        axis=1,
    )
    claimed = np.maximum.accumulate(reached, axis=1)
    last = first_end(rule, failures, claimed)
    return rule.looks[last].astype(float), claimed[np.arange(len(last)), last]


def first_end(rule: Grid, failures: Ints, claimed: Ints) -> Ints:
    """Return (N,) the look at which `rule` stops images that have claimed so many radii (N, K)."""
    successes = rule.looks - failures
    if isinstance(rule, Dense):
        ends = successes <= rule.enough
    else:
        _, give_up = rule._tables
        waiting = claimed.clip(max=len(rule.radii) - 1)
        ends = successes <= give_up[waiting, np.arange(len(rule.looks))]
        ends |= claimed == len(rule.radii)
    ends[:, -1] = True
    return np.asarray(ends.argmax(axis=1))


def sequences(images: Images) -> dict[str, Callable[[Ints, Ints], Floats]]:
    """Return the confidence sequences: bounds (N, K) on q of failures (N, K) and samples (K,)."""
    f0 = images.failures0
    of_n0 = np.log(ATOMS) * f0[:, None] + np.log1p(-ATOMS) * (N0 - f0[:, None])
    others = e.prior_of(images.others, ATOMS)
    elsewhere = e.prior_of(images.elsewhere, ATOMS)
    with_n0 = special.log_softmax(others + of_n0, axis=1)
    numerators = {
        "KT betting (Voracek)": e.beta_numerator(0.5, 0.5),
        "e-process, prior of n0": e.beta_numerator(N0 - f0 + 0.5, f0 + 0.5),
        "e-process, prior of other images": e.discrete_numerator(ATOMS, others),
        "e-process, prior of another model": e.discrete_numerator(ATOMS, elsewhere),
        "e-process, prior of other images and n0": e.discrete_numerator(ATOMS, with_n0),
        "e-process, prior that knows p_A": e.known_numerator(images.q),
    }
    result: dict[str, Callable[[Ints, Ints], Floats]] = {
        "anytime (uniform above p0)": lambda f, n: bounds.anytime_q_upper(
            n - f, n, ALPHA
        ),
        "union bound (Voracek)": lambda f, n: e.q_of_union(f, n, ALPHA),
    }
    for name, numerator in numerators.items():
        result[name] = lambda f, n, of=numerator: e.q_of_mixture(f, n, of, ALPHA)
    return result


def stopped_sequences(images: Images) -> Iterator[Outcome]:
    """Stop each confidence sequence where `dense` or `upto` would."""
    rows = np.arange(len(images.q))
    for name, q_of in sequences(images).items():
        radius_at = radius_of(e.running(q_of(images.failures, images.looks)))
        for text, n in STOPS:
            rule = rule_of(text, n)
            at_looks = np.searchsorted(images.looks, rule.looks)
            radius = radius_at[:, at_looks]
            claimed = np.searchsorted(rule.radii, radius, side="right")
            last = first_end(rule, images.failures[:, at_looks], claimed)
            samples = rule.looks[last].astype(float)
            yield Outcome(name, f"stops as {text}, n={n}", samples, radius[rows, last])


def fresh(images: Images, n: Ints, rng: np.random.Generator) -> Floats:
    """Return (N,) the radius that n (N,) further samples prove by themselves; -1 without any."""
    drawn = np.maximum(n, 1)
    successes = drawn - rng.binomial(drawn, images.q)
    radius = radius_of(bounds.q_upper(successes, drawn, ALPHA))
    return np.where(n > 0, radius, -1.0)


def input_specific(images: Images, rng: np.random.Generator) -> Iterator[Outcome]:
    """ISS: n by the ends of a pilot's interval of p_A, then fresh samples.

    The published program counts the pilot once more, which nothing proves sound. Enumerated at one setting, it errs no
    more often than it may (see `levels`).
    """
    pilot = rng.binomial(ISS_PILOT, images.q)
    for loss in ISS_LOSSES:
        n = iss_samples(ISS_PILOT - pilot, loss, ALPHA, N)
        radius = fresh(images, n, rng)
        yield Outcome("ISS (Chen et al.)", f"loss {loss}", ISS_PILOT + n * 1.0, radius)


def iss_samples(successes: Ints, loss: float, alpha: float, cap: int) -> Ints:
    """Return (N,) the samples, whole batches, that ISS takes after so many successes of its pilot."""
    p = np.linspace(0.5, 1.0, 501)
    n = np.arange(ISS_BATCH, cap + 1, ISS_BATCH)
    q_upper = bounds.expected_q_upper((1.0 - p)[:, None], n, alpha)
    radius = radius_of(q_upper)
    enough = radius >= radius[:, -1:] - loss
    chosen = np.where(radius[:, -1] > loss, n[enough.argmax(axis=1)], 0)

    low = 1.0 - bounds.q_upper(successes, ISS_PILOT, alpha / 2.0)
    high = bounds.q_upper(ISS_PILOT - successes, ISS_PILOT, alpha / 2.0)
    ends = [chosen[np.searchsorted(p, end).clip(max=500)] for end in (low, high)]
    return np.maximum(*ends)


def piloted(images: Images, rng: np.random.Generator) -> Iterator[Outcome]:
    """A pilot chooses the n that is worth its price, then fresh samples and all of alpha."""
    n = np.append(0, bounds.looks(N))
    middle = (np.arange(8) + 0.5) / 8
    for pilot, price in PILOTS:
        f = images.failures0 if pilot == N0 else rng.binomial(pilot, images.q)
        counts, place = np.unique(f, return_inverse=True)
        likely_q = special.betaincinv(
            counts[:, None] + 0.1, pilot - counts[:, None] + 1.0, middle
        )
        q_upper = bounds.expected_q_upper(likely_q[..., None], n.clip(min=1), ALPHA)
        worth = radius_of(q_upper).clip(0.0).mean(axis=1) / SIGMA - price * n / N
        worth[:, 0] = 0.0
        chosen = n[worth.argmax(axis=1)][place]
        drawn = chosen + (0 if pilot == N0 else pilot)
        radius = fresh(images, chosen, rng)
        setting = f"pilot {pilot}, price {price}"
        yield Outcome("pilot, then fresh samples", setting, drawn * 1.0, radius)


def partitioned(images: Images, rng: np.random.Generator) -> Iterator[Outcome]:
    """Class partitioning where one rival has all that is left of p_A, and where nine share it."""
    for n in PARTITIONED:
        failures = images.at(np.array([n]))[:, 0]
        one = radius_of(bounds.q_upper(n - failures, n, ALPHA / 2.0))
        even = [
            radius_of_partition(f0, f, n, rng)
            for f0, f in zip(images.failures0, failures, strict=True)
        ]
        samples = np.full(len(one), float(n))
        yield Outcome("class partitioning, one rival", f"n={n}", samples, one)
        setting = f"n={n}"
        yield Outcome(
            "class partitioning, nine even rivals", setting, samples, np.array(even)
        )


def radius_of_partition(f0: int, f: int, n: int, rng: np.random.Generator) -> float:
    """Return the radius of buckets of classes that the n0 samples choose; nine rivals share the failures evenly."""
    even = np.full(RIVALS, 1.0 / RIVALS)
    first = np.sort(rng.multinomial(f0, even))[::-1]
    # Classes leave the last bucket while it has more than the second class.
    alone = 1
    while alone < RIVALS and first[alone:].sum() > first[0]:
        alone += 1
    rivals = rng.multinomial(f, even)
    buckets = np.append(rivals[:alone], rivals[alone:].sum())
    level = ALPHA / (1 + alone + (alone < RIVALS))
    p_b = bounds.upper(buckets, n, level).max()
    q_a = bounds.q_upper(n - f, n, level)
    return float(-SIGMA / 2.0 * (special.ndtri(q_a) + special.ndtri(p_b)))


# --- limits ---------------------------------------------------------------------------------------------------------

# q of images, and samples, of the tables of the limits.
LIMIT_Q = np.concatenate([[0.0], np.geomspace(1e-6, 0.6, 1000)])
LIMIT_N = np.unique(np.append(0, np.round(np.geomspace(10, N, 160)))).astype(int)
QUANTILES = (np.arange(50) + 0.5) / 50
FARTHEST = float(NOISE.largest_radius(N, ALPHA))

# Images of nearly the same p_A, whose share of right answers is what a limit knows of their labels.
ALIKE = 50

# Samples of which a limit is told.
BUDGETS = (1000, 2000, 3000, 5000, 10_000, 20_000, 50_000)


@dataclass(frozen=True)
class Limit:
    """What images could have of n samples: radius (n, q), and accuracy at each radius (n, q, R)."""

    radius: Floats
    accuracy: Floats


def clopper_pearson() -> Limit:
    """Return what n samples have on average of an image whose p_A is known, when n is chosen by it."""
    radius = np.zeros((len(LIMIT_N), len(LIMIT_Q)))
    accuracy = np.zeros((*radius.shape, len(RADII)))
    for row, n in enumerate(LIMIT_N.tolist()):
        if n == 0:
            continue
        failures = stats.binom.ppf(QUANTILES[:, None], n, LIMIT_Q).clip(0).astype(int)
        r = radius_of(bounds.q_upper(n - failures, n, ALPHA))
        radius[row] = r.clip(0.0).mean(axis=0)
        accuracy[row] = (r[..., None] >= RADII).mean(axis=0)
    return Limit(radius, accuracy)


def no_rule_exceeds() -> Limit:
    """Return what n samples allow at most, on average, by any rule at level alpha; radii up to that of N samples.

    The power b at a threshold p0 < p_A obeys KL(b, alpha) <= n KL(p_A, p0). Between two numbers of samples the larger
    is taken for what they allow, and the smaller for what they cost.
    """
    r = np.linspace(0.0, FARTHEST, 400)
    radius = [np.trapezoid(power, r, axis=-1) for power in power_by(r)]
    return Limit(np.stack(radius), np.stack(list(power_by(RADII))))


def power_by(radii: Floats) -> Iterator[Floats]:
    """Yield, for each n, the greatest power (q, R) at each radius."""
    power = np.linspace(ALPHA, 1.0, 20_000)
    needed = binary_divergence(power, np.array(ALPHA))
    q0 = special.ndtr(-radii / SIGMA)
    apart = binary_divergence(LIMIT_Q[:, None], q0)
    apart = np.where(LIMIT_Q[:, None] < q0, apart, 0.0)
    for n in np.append(LIMIT_N[1:], N).tolist():
        yield np.interp(n * apart, needed, power)


def binary_divergence(a: Floats, b: Floats) -> Floats:
    """Return KL(a, b) of two coins, in nats."""
    heads = special.xlogy(a, a) - special.xlogy(a, b)
    tails = special.xlog1py(1.0 - a, -a) - special.xlog1py(1.0 - a, -b)
    return np.asarray(heads + tails)


def limit_rows(
    name: str, limit: Limit, logs: list[Images], full: list["Figures"]
) -> Iterator[dict[str, Any]]:
    """Yield the best mean radius, and the best accuracy, that the limit has of each budget of samples."""
    for aim in ("ACR", "accuracy"):
        value = limit.radius if aim == "ACR" else limit.accuracy.sum(axis=-1)
        for budget in BUDGETS:
            figures = [at_budget(limit, value, images, budget) for images in logs]
            yield row_of(f"{name}, for {aim}", f"budget {budget}", figures, full)


def at_budget(limit: Limit, value: Floats, images: Images, budget: float) -> "Figures":
    """Return the figures where each image has the n that is worth most, at the price that meets the budget."""
    # Rounded down: what is allowed is no less.
    place = np.searchsorted(LIMIT_Q, images.q, side="right") - 1
    worth = value[:, place] * right_share(images)
    low, high = 1e-9, 1.0
    for _ in range(30):
        price = np.sqrt(low * high)
        chosen = np.argmax(worth - price * LIMIT_N[:, None], axis=0)
        if LIMIT_N[chosen].mean() > budget:
            low = price
        else:
            high = price
    # The dearer side of the budget.
    chosen = np.argmax(worth - low * LIMIT_N[:, None], axis=0)
    samples = LIMIT_N[chosen]
    correct = images.correct
    return Figures(
        samples=float(samples.mean()),
        samples_with_labels=float((samples * (correct | images.silent)).mean()),
        acr=float((limit.radius[chosen, place] * correct).mean()),
        accuracy=(limit.accuracy[chosen, place] * correct[:, None]).mean(axis=0),
    )


def right_share(images: Images) -> Floats:
    """Return (N,) the share of right answers among images of nearly the same p_A."""
    order = np.argsort(images.q, kind="stable")
    share = np.empty(len(order))
    for group in np.array_split(order, max(1, len(order) // ALIKE)):
        share[group] = images.correct[group].mean()
    return share


# --- figures --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """Of one log: mean samples, also where a wrong image takes none, ACR, and accuracy (R,) at the radii."""

    samples: float
    samples_with_labels: float
    acr: float
    accuracy: Floats


def figures_of(images: Images, outcome: Outcome) -> Figures:
    correct = images.correct
    reached = outcome.radius[:, None] >= RADII - 1e-9
    # Of an image that a log abstains on it does not tell the class.
    taken = outcome.samples * (correct | images.silent)
    return Figures(
        samples=N0 + float(outcome.samples.mean()),
        samples_with_labels=N0 + float(taken.mean()),
        acr=float((outcome.radius.clip(0.0) * correct).mean()),
        accuracy=(reached & correct[:, None]).mean(axis=0),
    )


def row_of(
    name: str, setting: str, figures: list[Figures], full: list[Figures]
) -> dict[str, Any]:
    """Return means over logs, as a row of the results; losses are against `full`."""
    lost = [
        100.0 * (all_of.accuracy - some.accuracy)
        for all_of, some in zip(full, figures, strict=True)
    ]
    share = [some.acr / all_of.acr for all_of, some in zip(full, figures, strict=True)]
    mean_lost = np.mean(lost, axis=0)
    return {
        "contestant": name,
        "setting": setting,
        "samples": round(float(np.mean([some.samples for some in figures]))),
        "samples_with_labels": round(
            float(np.mean([some.samples_with_labels for some in figures]))
        ),
        "acr_share": round(float(np.mean(share)), 4),
        "points_lost": [round(float(x), 3) for x in mean_lost],
        "points_lost_mean": round(float(mean_lost.mean()), 3),
        "points_lost_worst_radius": round(float(mean_lost.max()), 3),
        "points_lost_worst_log": round(float(np.max(lost)), 3),
    }


def all_images(options: argparse.Namespace) -> list[Images]:
    """Return the images of each log, with their paths."""
    looks = {MOST, *FIXED, *PARTITIONED}
    for text, n in (*RULES, *STOPS):
        looks.update(rule_of(text, n).looks.tolist())
    counts = np.array(sorted(looks))

    logs = read_logs(options)
    every_q = [
        1.0 - recovered(log, SIGMA, np.random.default_rng(seed))
        for seed, log in enumerate(logs)
    ]
    result = []
    for seed, (log, q) in enumerate(zip(logs, every_q, strict=True)):
        rng = np.random.default_rng([seed, 1])
        chosen = np.linspace(0, len(log) - 1, min(options.images, len(log))).astype(int)
        failures = rng.binomial(np.diff(counts, prepend=0), q[chosen, None]).cumsum(
            axis=1
        )
        result.append(
            Images(
                q=q[chosen],
                correct=(log.predict == log.label).to_numpy()[chosen],
                silent=(log.predict < 0).to_numpy()[chosen],
                looks=counts,
                failures=failures,
                failures0=rng.binomial(N0, q[chosen]),
                others=np.delete(q, chosen[:: step_of(options)]),
                elsewhere=every_q[(seed + 1) % len(logs)],
            )
        )
    return result


def step_of(options: argparse.Namespace) -> int:
    """Return how many images apart the few are."""
    return max(1, options.images // options.few)


def replays(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    logs = all_images(options)
    yield from compared(logs, lambda images, rng: [*fixed(images), *rules(images)])
    few = [images.every(step_of(options)) for images in logs]
    yield from compared(few, few_outcomes)
    yield from limits(few)


def limits(logs: list[Images]) -> Iterator[dict[str, Any]]:
    full = [full_figures(images) for images in logs]
    yield from limit_rows("p_A known, Clopper-Pearson", clopper_pearson(), logs, full)
    yield from limit_rows("no rule exceeds", no_rule_exceeds(), logs, full)


def few_outcomes(images: Images, rng: np.random.Generator) -> list[Outcome]:
    return [
        *stopped_sequences(images),
        *input_specific(images, rng),
        *piloted(images, rng),
        *partitioned(images, rng),
    ]


def full_figures(images: Images) -> Figures:
    """Return the figures of n = 100,000 samples of every image."""
    *_, outcome = fixed(images)
    return figures_of(images, outcome)


def compared(
    logs: list[Images],
    outcomes_of: Callable[[Images, np.random.Generator], list[Outcome]],
) -> Iterator[dict[str, Any]]:
    """Yield a row for each contestant and setting."""
    full = [full_figures(images) for images in logs]
    found: dict[tuple[str, str], list[Figures]] = {}
    for seed, images in enumerate(logs):
        for outcome in outcomes_of(images, np.random.default_rng([seed, 2])):
            key = (outcome.name, outcome.setting)
            found.setdefault(key, []).append(figures_of(images, outcome))
    for (name, setting), figures in found.items():
        yield row_of(name, setting, figures, full)


# --- levels ---------------------------------------------------------------------------------------------------------


def levels() -> Iterator[dict[str, Any]]:
    """Yield each contestant's greatest probability of a false claim, at LEVEL, over TRUE_Q; enumerated."""
    looks = bounds.looks(LEVEL_CAP)
    uniform = e.prior_of(np.geomspace(1e-4, 0.5, 200), ATOMS)
    sequences: dict[str, Callable[[Ints, Ints], Floats]] = {
        "anytime (uniform above p0)": lambda f, n: bounds.anytime_q_upper(
            n - f, n, LEVEL
        ),
        "KT betting (Voracek)": mixture(e.beta_numerator(0.5, 0.5)),
        "union bound (Voracek)": lambda f, n: e.q_of_union(f, n, LEVEL),
        "e-process, prior of other images": mixture(
            e.discrete_numerator(ATOMS, uniform)
        ),
    }
    for name, q_of in sequences.items():
        errors = [crossing(q_of, looks, q) for q in TRUE_Q]
        yield level_row(name, errors, "every look")
    knowing = [
        crossing(mixture(e.known_numerator(np.array([q]))), looks, q) for q in TRUE_Q
    ]
    yield level_row("e-process, prior that knows p_A", knowing, "every look")
    of_n0 = [crossing_after_n0(looks, q) for q in TRUE_Q]
    yield level_row("e-process, prior of n0", of_n0, "every look, mean over n0 samples")
    for text in ("grid", "upto=0.75", "dense=1"):
        yield level_row(
            text, crossings_of_rule(text), "every radius tried, at its own q"
        )
    once = [error_of_iss(q, again=False) for q in TRUE_Q]
    yield level_row("ISS, fresh samples", once, "its n")
    again = [error_of_iss(q, again=True) for q in TRUE_Q]
    yield level_row("ISS, pilot counted again", again, "its n")
    naive = [crossing(naive_bound, looks, q) for q in TRUE_Q]
    yield level_row(
        "control: Clopper-Pearson at every look", naive, "every look", control=True
    )


def level_row(
    name: str, errors: list[float], looked_at: str, *, control: bool = False
) -> dict[str, Any]:
    kept = max(errors) <= LEVEL
    return {
        "contestant": name,
        "looks": looked_at,
        "most_errors": round(max(errors), 5),
        "control": control,
        "as_expected": kept != control,
    }


def mixture(numerator: e.LogNumerator) -> Callable[[Ints, Ints], Floats]:
    return lambda f, n: e.q_of_mixture(f, n, numerator, LEVEL)


def naive_bound(f: Ints, n: Ints) -> Floats:
    return bounds.q_upper(n - f, n, LEVEL)


def crossing(q_of: Callable[[Ints, Ints], Floats], looks: Ints, q: float) -> float:
    """Return P(the bound on q is below the true q at some look), by following all paths."""
    claim = e.claims_of(q_of, looks, np.nextafter(q, 0.0))
    return bounds.crossing_probability(claim, looks, q)


def crossing_after_n0(looks: Ints, q: float) -> float:
    """Return the same of the e-process whose prior the n0 samples choose."""
    failures = np.arange(N0 + 1)
    likely = stats.binom.pmf(failures, N0, q)
    kept = np.flatnonzero(likely > 1e-6)
    errors = [
        crossing(mixture(e.beta_numerator(N0 - f + 0.5, f + 0.5)), looks, q)
        for f in kept.tolist()
    ]
    left_out = 1.0 - likely[kept].sum()
    return float(likely[kept] @ errors + left_out)


def crossings_of_rule(text: str) -> list[float]:
    rule = make_rule(text, noise=NOISE, n=LEVEL_CAP, alpha=LEVEL)
    assert isinstance(rule, Grid)
    chosen = range(0, len(rule.radii), max(1, len(rule.radii) // 10))
    return [
        bounds.crossing_probability(
            rule.needed[i], rule.looks, float(NOISE.tail(rule.radii[i]))
        )
        for i in chosen
    ]


def error_of_iss(q: float, *, again: bool) -> float:
    """Return P(Clopper-Pearson's bound is below q) at the n that ISS takes for a loss of 0.02 of 20,000 samples.

    With `again` the pilot is counted among the n samples, as the published program does.
    """
    pilot = np.arange(ISS_PILOT + 1)
    likely = stats.binom.pmf(pilot, ISS_PILOT, q)
    n = iss_samples(ISS_PILOT - pilot, 0.02, LEVEL, ISS_LEVEL_CAP)
    counted = np.maximum(n, ISS_PILOT) if again else n
    # The most failures whose bound lies below q.
    most = stats.binom.ppf(LEVEL, counted, q) - 1
    errs = stats.binom.cdf(most, n, q)
    if again:
        errs = stats.binom.cdf(most - pilot, counted - ISS_PILOT, q)
    return float(likely @ np.where(n > 0, errs, 0.0))


def main() -> None:
    parser = options_of(__doc__, "frontier")
    parser.add_argument(
        "--logs", type=Path, default=beside_the_data(), help="folder of TSV logs"
    )
    parser.add_argument("--images", type=int, default=10_000, help="of each log")
    parser.add_argument(
        "--few", type=int, default=1000, help="of each log, for slow contestants"
    )
    options = parser.parse_args()
    facts = {
        "levels": list(levels()),
        "rows": list(replays(options)),
        "radii": RADII.tolist(),
        "images": options.images,
        "few": options.few,
    }
    for row in (*facts["levels"], *facts["rows"]):
        print(*row.values(), sep="  ")
    written(options.out, facts)


if __name__ == "__main__":
    main()
