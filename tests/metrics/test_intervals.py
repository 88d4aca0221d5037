"""Intervals of bounded means: against closed forms and drawn weights, and by coverage where images differ rarely."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from metrics.skewed import POPULATIONS, near_unseen, small_gains
from randsmooth import bounds, metrics
from randsmooth.certificates import from_radii
from randsmooth.metrics.intervals import mean_interval

Floats = NDArray[np.float64]
Z = float(stats.norm.ppf(0.975))


def test_of_a_share_it_is_clopper_and_pearsons() -> None:
    for z in [Z, 3.6, 5.0]:
        tail = stats.norm.sf(z)
        for n, k in [
            (1, 0),
            (1, 1),
            (5, 2),
            (20, 19),
            (50, 0),
            (300, 0),
            (300, 300),
            (300, 7),
            (10_000, 9_990),
        ]:
            low, high = mean_interval([0.0, 1.0], (0.0, 1.0), z, [n - k, k])
            least = stats.beta.ppf(tail, k, n - k + 1) if k else 0.0
            most = stats.beta.isf(tail, k + 1, n - k) if k < n else 1.0
            assert (k / n - low, high - k / n) == pytest.approx(
                (k / n - least, most - k / n), rel=0.002
            ), (n, k)


def test_the_quantile_is_that_of_drawn_weights() -> None:
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(20) < 0.2, rng.random(20), 0)
    for values in (rng.random(20), rng.normal(size=12).clip(-2.0, 2.0), rare):
        low, high = mean_interval(values, (-2.0, 2.0), Z)
        weights = rng.dirichlet(np.ones(len(values) + 1), 400_000)
        drawn = [
            np.quantile(weights @ np.append(values, bound), at)
            for bound, at in ((-2.0, 0.025), (2.0, 0.975))
        ]
        assert (low, high) == pytest.approx(drawn, abs=0.01 * float(high - low))


def test_counts_repeat_a_value_rows_stand_alone_and_sides_mirror_each_other() -> None:
    rng = np.random.default_rng(1)
    values, counts = rng.random((3, 6)), rng.integers(0, 9, (3, 6))
    low, high = mean_interval(values, (-1.0, 2.0), Z, counts)
    each = [
        mean_interval(np.repeat(x, c), (-1.0, 2.0), Z)
        for x, c in zip(values, counts, strict=True)
    ]
    np.testing.assert_allclose(np.stack([low, high], 1), np.array(each), rtol=1e-7)
    back = mean_interval(-values, (-2.0, 1.0), Z, counts)
    np.testing.assert_allclose([low, high], [-back[1], -back[0]], rtol=1e-12)


def test_what_never_differs_still_has_an_interval() -> None:
    facts: Any = {"sigma": 0.5, "n": 100_000, "alpha": 0.001}
    farthest = 0.5 * float(stats.norm.isf(1.0 - 0.001 ** (1.0 / facts["n"])))
    reached = (
        1.0 - 0.025 ** (1.0 / 300)
    ) * farthest  # by the mean, if one image of 300 certifies as far as any can
    nothing, some = (
        from_radii([0.0] * 300, **facts),
        from_radii([0.4, 0.9, 0.0] * 100, **facts),
    )
    assert metrics.acr(nothing).low == 0.0 and metrics.acr(
        nothing
    ).high == pytest.approx(reached, rel=0.002)
    gap = metrics.acr_difference(some, some)
    assert gap.value == 0.0 and (-gap.low, gap.high) == pytest.approx(
        (reached, reached), rel=0.002
    )
    (joint,) = metrics.compare([(some, some)])
    assert (
        joint.acr is not None
        and joint.acr.low <= gap.low
        and gap.high <= joint.acr.high
    )
    assert (
        joint.curve is not None
        and np.all(joint.curve.low < -0.01)
        and np.all(joint.curve.high > 0.01)
    )
    certain = metrics.acr(from_radii([farthest] * 300, **facts))
    assert certain.high == pytest.approx(farthest) and certain.low == pytest.approx(
        farthest - reached, rel=0.002
    )
    unknown = metrics.acr(
        from_radii([0.0] * 300)
    )  # of sigma nothing is known, and a radius may be anything
    assert unknown.low == 0.0 and unknown.high > 1.0
    assert metrics.accuracy_area(nothing, 0.5).high == pytest.approx(
        reached * 0.5 / farthest, rel=0.002
    )


def tail_chance(values: Floats, counts: Floats, m: float) -> float:
    """P(weighted mean > m) under Dirichlet's weights, by inverting the characteristic function.

    The mean exceeds m where the sum of Gamma(count) (value - m) exceeds 0.

    Source: Imhof 1961, for weighted sums of chi-squared variables.
    """
    apart = (values - m) / np.sqrt((counts * (values - m) ** 2).sum())
    edges = np.concatenate(
        [np.linspace(1e-12, 40.0, 2000), np.geomspace(40.0, 1e7, 4000)[1:]]
    )
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2.0
    u = (edges[:-1, None] + half * (1.0 + nodes)).ravel()
    angle, decay = np.zeros_like(u), np.zeros_like(u)
    for value, count in zip(apart, counts, strict=True):
        angle += count * np.arctan(value * u)
        decay += count / 2.0 * np.log1p((value * u) ** 2)
    return float(
        0.5
        + ((half * weights).ravel() * np.sin(angle) * np.exp(-decay) / u).sum() / np.pi
    )


SAMPLES: list[
    tuple[list[float], list[int]]
] = [  # values and how many of 100 images have them; N times as many
    ([0.05], [100]),
    ([0.05, -1.0], [99, 1]),
    ([-0.02, 0.9], [99, 1]),
    ([0.0, 0.9], [98, 2]),
    ([0.0, 0.1, -0.1], [80, 10, 10]),
    ([-0.999, 0.1], [99, 1]),
    ([0.0, 0.35], [60, 40]),  # the saddlepoint approximation alone leaves 4% more
    ([0.0, 0.5], [80, 20]),
]


def test_beyond_an_end_lies_the_level_and_no_more() -> None:
    assert tail_chance(
        np.array([0.0, 1.0]), np.array([7.0, 4.0]), 0.5
    ) == pytest.approx(stats.beta.sf(0.5, 4, 7), 1e-6)
    for z in (Z, 3.0, 3.7):
        for values, counts in SAMPLES:
            for times in (1, 5):
                each = times * np.array(counts, np.float64)
                high = float(mean_interval(values, (-1.0, 1.0), z, each)[1])
                beyond = tail_chance(np.append(values, 1.0), np.append(each, 1.0), high)
                assert 0.99 <= beyond / stats.norm.sf(z) <= 1.005, (z, values, times)


def test_paired_shares_contain_0_exactly_where_mcnemars_test_does_not_reject() -> None:
    for only_a in [*range(25), 60, 500]:
        for only_b in [*range(25), *range(30, 110, 7), 440]:
            p, estimate = (
                metrics.mcnemar(only_a, only_b),
                metrics.fresh_difference(only_a, only_b, 1000),
            )
            claimed = not estimate.low <= 0.0 <= estimate.high
            assert claimed == (p < 0.05) or (0.049 < p < 0.05 and not claimed), (
                only_a,
                only_b,
            )


def chance_inside(
    values: list[float], chances: list[float], images: int
) -> tuple[float, float]:
    """The chances that each end of the interval is on its side of the truth, over all counts of three values."""
    first, second = (
        np.arange(
            int(stats.binom.ppf(1e-9, images, p)),
            int(stats.binom.isf(1e-9, images, p)) + 1,
        )
        for p in chances[:2]
    )
    one, other = (grid.ravel() for grid in np.meshgrid(first, second))
    kept = one + other <= images
    counts = np.stack([one, other, images - one - other], -1)[kept]
    low, high = mean_interval(values, (-1.0, 1.0), Z, counts)
    chance = stats.multinomial.pmf(counts, images, chances)
    truth = float(np.dot(values, chances))
    return float(chance[low <= truth].sum()), float(chance[high >= truth].sum())


def test_fresh_differences_are_covered() -> None:
    """Exactly, by the probability of all counts whose interval holds the truth."""
    for images in [60, 500, 10_000]:
        for expected in (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0):
            for share in (0.0, 0.2, 0.5):  # of the differing images, for b
                p = expected / images
                each = chance_inside(
                    [1.0, -1.0, 0.0], [p * (1.0 - share), p * share, 1.0 - p], images
                )
                assert min(each) >= 0.975 - 1e-6, (images, expected, share)


def test_small_gains_and_rare_losses_of_everything_are_covered() -> None:
    """Exactly: all images but a few gain a little, half of them twice as much; a few lose all that can be lost."""
    for images in (60, 100, 500, 10_000):
        for expected in (0.3, 1.0, 3.0):
            for gain in (0.001, 0.01, 0.1):
                p = expected / images
                each = chance_inside(
                    [-1.0, gain, 2.0 * gain],
                    [p, (1.0 - p) / 2.0, (1.0 - p) / 2.0],
                    images,
                )
                assert min(each) >= 0.975 - 1e-6, (images, expected, gain)


def false_signs(kind: str, images: int, runs: int) -> dict[str, float]:
    """How often an interval of `small_gains` claims the wrong sign, or misses the truth on any side."""
    population, rng = POPULATIONS[kind], np.random.default_rng(0)
    truth = population.truth
    missed = dict.fromkeys(
        ["sign", "any", "sign, near", "any, near", "sign, bootstrap"], 0
    )
    for _ in range(runs):
        gains = small_gains(population, images, rng)
        low, high = mean_interval(gains, (-1.0, 1.0), Z)
        near = near_unseen(gains, (-1.0, 1.0), Z)
        redrawn = gains[rng.integers(0, images, (200, images))].mean(axis=1)
        missed["sign"] += bool(low > 0.0 >= truth or high < 0.0 <= truth)
        missed["any"] += not low <= truth <= high
        missed["sign, near"] += bool(near[0] > 0.0 >= truth or near[1] < 0.0 <= truth)
        missed["any, near"] += not near[0] <= truth <= near[1]
        missed["sign, bootstrap"] += bool(np.quantile(redrawn, 0.025) > 0.0 >= truth)
    return {name: count / runs for name, count in missed.items()}


def test_few_runs_bear_out_that_rare_losses_make_no_false_sign() -> None:
    found = false_signs("0.8% lose all", 100, 200)
    assert found["any"] <= 0.05
    assert min(found["sign, near"], found["sign, bootstrap"]) > 0.3  # the controls


@pytest.mark.slow
def test_rare_losses_make_no_false_sign() -> None:
    for kind, population in POPULATIONS.items():
        for images in (100, 500, 10_000):
            runs = 1000 if images < 10_000 else 100
            found = false_signs(kind, images, runs)
            assert found["any"] <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / runs), (
                kind,
                images,
            )
            if images in population.fails_near:
                assert found["any, near"] > 0.2, (kind, images)


def test_no_proved_bound_that_was_tried_is_shorter() -> None:
    """Against Bernstein's empirical inequality and bets, each end at the same level."""
    rng = np.random.default_rng(0)
    for kind in GAINS:
        for images in (100, 1000):
            values = np.where(rng.random(images) < 0.5, GAINS[kind](rng, images), 0.0)
            low, high = mean_interval(values, (-1.0, 1.0), Z)
            x, level = (1.0 + values) / 2.0, 0.025
            bets = [bounds.betting_lower(y, level) for y in (x, 1.0 - x)]
            bernstein = [
                bounds.bernstein_lower(y.mean(), y.var(ddof=1), images, level)
                for y in (x, 1.0 - x)
            ]
            for ends in (bets, bernstein):
                assert high - low < 2.0 * (1.0 - sum(map(float, ends))), (kind, images)


GAINS: dict[
    str, Callable[[np.random.Generator, Any], Floats]
] = {  # of the images that differ, in largest radii
    "all the same": lambda rng, shape: np.full(shape, 0.2),
    "uniform": lambda rng, shape: 0.5 * rng.random(shape),
    "mostly small": lambda rng, shape: np.minimum(rng.exponential(0.1, shape), 1.0),
    "of both signs": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "normal": lambda rng, shape: np.clip(
        0.02 + 0.1 * rng.normal(size=shape), -1.0, 1.0
    ),
}
DISCORDANT = (0.002, 0.006, 0.01, 0.02, 0.5)
MOST_TIMES = {
    100: 3.0,
    500: 1.7,
    10_000: 1.15,
}  # the bootstrap's width, where half of the images differ


def differences(
    kind: str, share: float, images: int, runs: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Values and counts, (runs, J), of paired differences: a column for each image that differs, one for all others."""
    k = rng.binomial(images, share, runs)
    there = np.arange(max(1, k.max())) < k[:, None]
    values = np.where(there, GAINS[kind](rng, there.shape), 0.0)
    return np.pad(values, ((0, 0), (0, 1))), np.concatenate(
        [there, (images - k)[:, None]], axis=1
    ).astype(np.float64)


def bootstrap(values: Floats, counts: Floats, rng: np.random.Generator) -> Floats:
    """(2, runs) ends of the percentile bootstrap's interval, the control."""
    whole = np.array(
        [np.repeat(x, c.astype(int)) for x, c in zip(values, counts, strict=True)]
    )
    redrawn = [
        row[rng.integers(0, len(row), (500, len(row)))].mean(axis=1) for row in whole
    ]
    return np.asarray(np.quantile(np.array(redrawn), [0.025, 0.975], axis=1))


def covered(
    kind: str, share: float, images: int, runs: int, seed: int
) -> tuple[float, float, float]:
    """Coverage of a mean difference, that of the bootstrap, and how many times the bootstrap's the width is."""
    rng = np.random.default_rng(seed)
    truth = share * GAINS[kind](np.random.default_rng(0), 2_000_000).mean()
    values, counts = differences(kind, share, images, runs, rng)
    ends = np.array(mean_interval(values, (-1.0, 1.0), Z, counts))
    few = slice(0, 200 if images <= 500 else 20)
    control = bootstrap(values[few], counts[few], rng)
    held, held_by_control = (
        (low <= truth) & (truth <= high) for low, high in (ends, control)
    )
    width = np.ptp(ends[:, few], 0).mean() / np.ptp(control, 0).mean()
    return float(held.mean()), float(held_by_control.mean()), float(width)


def test_few_runs_bear_out_the_coverage_of_rare_differences() -> None:
    held, control, _ = covered("uniform", 0.002, 500, 400, seed=0)
    assert held >= 0.94 and control < 0.75


@pytest.mark.slow
def test_means_are_covered_however_rarely_images_differ() -> None:
    for kind in GAINS:
        for images in [100, 500, 10_000]:
            for share in DISCORDANT:
                runs = 2000 if share * images < 1000 else 1000
                held, control, width = covered(
                    kind, share, images, runs, seed=int(1000 * share)
                )
                assert held >= 0.94 - 2.0 * np.sqrt(0.06 * 0.94 / runs), (share, held)
                if share == 0.5:
                    assert width <= MOST_TIMES[images], width
                elif share * images < 2.0:
                    assert control < 0.75, control
