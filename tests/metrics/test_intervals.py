"""Intervals of bounded means: against closed forms and drawn weights, and by coverage where images differ rarely."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from randsmooth import metrics
from randsmooth.certificates import from_radii
from randsmooth.metrics.estimate import FEW, mean_interval, paired_shares

Floats = NDArray[np.float64]
Z = float(stats.norm.ppf(0.975))


def test_of_a_share_it_is_clopper_and_pearsons() -> None:
    for z in [Z, 3.6, 5.0]:
        tail = stats.norm.sf(z)
        for n, k in [(1, 0), (1, 1), (5, 2), (20, 19), (50, 0), (300, 0), (300, 300), (300, 7), (10_000, 9_990)]:
            low, high = mean_interval([0.0, 1.0], (0.0, 1.0), z, [n - k, k])
            least = stats.beta.ppf(tail, k, n - k + 1) if k else 0.0
            most = stats.beta.isf(tail, k + 1, n - k) if k < n else 1.0
            assert (k / n - low, high - k / n) == pytest.approx((k / n - least, most - k / n), rel=0.007), (n, k)


def test_the_quantile_is_that_of_drawn_weights() -> None:
    rng = np.random.default_rng(0)
    rare = np.where(rng.random(20) < 0.2, rng.random(20), 0)
    for values in (rng.random(20), rng.normal(size=12).clip(-2.0, 2.0), rare):
        low, high = mean_interval(values, (-2.0, 2.0), Z)  # so few that the unseen value is the bound
        weights = rng.dirichlet(np.ones(len(values) + 1), 400_000)
        drawn = [np.quantile(weights @ np.append(values, bound), at) for bound, at in ((-2.0, 0.025), (2.0, 0.975))]
        assert (low, high) == pytest.approx(drawn, abs=0.01 * float(high - low))


def test_counts_repeat_a_value_rows_stand_alone_and_sides_mirror_each_other() -> None:
    rng = np.random.default_rng(1)
    values, counts = rng.random((3, 6)), rng.integers(0, 9, (3, 6))
    low, high = mean_interval(values, (-1.0, 2.0), Z, counts)
    each = [mean_interval(np.repeat(x, c), (-1.0, 2.0), Z) for x, c in zip(values, counts, strict=True)]
    np.testing.assert_allclose(np.stack([low, high], 1), np.array(each), rtol=1e-7)
    back = mean_interval(-values, (-2.0, 1.0), Z, counts)
    np.testing.assert_allclose([low, high], [-back[1], -back[0]], rtol=1e-12)


def test_what_never_differs_still_has_an_interval() -> None:
    facts: Any = {"sigma": 0.5, "n": 100_000, "alpha": 0.001}
    farthest = 0.5 * float(stats.norm.isf(1.0 - 0.001 ** (1.0 / facts["n"])))
    reached = (1.0 - 0.025 ** (1.0 / 300)) * farthest  # by the mean, if one image of 300 certifies as far as any can
    nothing, some = from_radii([0.0] * 300, **facts), from_radii([0.4, 0.9, 0.0] * 100, **facts)
    assert metrics.acr(nothing).low == 0.0 and metrics.acr(nothing).high == pytest.approx(reached, rel=0.007)
    gap = metrics.acr_difference(some, some)
    assert gap.value == 0.0 and (-gap.low, gap.high) == pytest.approx((reached, reached), rel=0.007)
    (joint,) = metrics.compare([(some, some)])
    assert joint.acr is not None and joint.acr.low <= gap.low and gap.high <= joint.acr.high
    assert joint.curve is not None and np.all(joint.curve.low < -0.01) and np.all(joint.curve.high > 0.01)
    certain = metrics.acr(from_radii([farthest] * 300, **facts))
    assert certain.high == pytest.approx(farthest) and certain.low == pytest.approx(farthest - reached, rel=0.007)
    unknown = metrics.acr(from_radii([0.0] * 300))  # of sigma nothing is known, and a radius may be anything
    assert unknown.low == 0.0 and unknown.high > 1.0
    assert metrics.accuracy_area(nothing, 0.5).high == pytest.approx(reached * 0.5 / farthest, rel=0.007)


def test_paired_shares_contain_0_where_mcnemars_test_does_not_reject() -> None:
    for only_a in range(FEW):
        for only_b in range(FEW - only_a):
            p, estimate = metrics.mcnemar(only_a, only_b), metrics.fresh_difference(only_a, only_b, 100)
            assert (p < 0.05) == (not estimate.low <= 0.0 <= estimate.high), (only_a, only_b)


def test_fresh_differences_are_covered() -> None:
    """Exactly, by the probability of all counts whose interval holds the truth."""
    for images in [60, 500, 10_000]:
        for expected in (0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0):
            for share in (0.0, 0.2, 0.5):  # of the differing images, for b
                p = expected / images
                a, b = (np.arange(int(stats.binom.isf(1e-7, images, p * part)) + 2) for part in (1.0 - share, share))
                only_a, only_b = (grid.ravel() for grid in np.meshgrid(a, b))
                kept = only_a + only_b <= images
                only_a, only_b = only_a[kept], only_b[kept]
                low, high = paired_shares(only_a, only_b, images, Z)
                counts = np.stack([only_a, only_b, images - only_a - only_b], -1)
                chances = stats.multinomial.pmf(counts, images, [p * (1.0 - share), p * share, 1.0 - p])
                truth = p * (1.0 - 2.0 * share)
                assert chances[(low <= truth) & (truth <= high)].sum() >= 0.95, (expected, share)


GAINS: dict[str, Callable[[np.random.Generator, Any], Floats]] = {  # of the images that differ, in largest radii
    "all the same": lambda rng, shape: np.full(shape, 0.2),
    "uniform": lambda rng, shape: 0.5 * rng.random(shape),
    "mostly small": lambda rng, shape: np.minimum(rng.exponential(0.1, shape), 1.0),
    "of both signs": lambda rng, shape: rng.choice([-1.0, 1.0], shape),
    "normal": lambda rng, shape: np.clip(0.02 + 0.1 * rng.normal(size=shape), -1.0, 1.0),
}
DISCORDANT = (0.002, 0.006, 0.01, 0.02, 0.5)


def differences(kind: str, share: float, images: int, runs: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Values and counts, (runs, J), of paired differences: a column for each image that differs, one for all others."""
    k = rng.binomial(images, share, runs)
    there = np.arange(max(1, k.max())) < k[:, None]
    values = np.where(there, GAINS[kind](rng, there.shape), 0.0)
    return np.pad(values, ((0, 0), (0, 1))), np.concatenate([there, (images - k)[:, None]], axis=1).astype(np.float64)


def bootstrap(values: Floats, counts: Floats, rng: np.random.Generator) -> Floats:
    """(2, runs) ends of the percentile bootstrap's interval, the control."""
    whole = np.array([np.repeat(x, c.astype(int)) for x, c in zip(values, counts, strict=True)])
    redrawn = [row[rng.integers(0, len(row), (500, len(row)))].mean(axis=1) for row in whole]
    return np.asarray(np.quantile(np.array(redrawn), [0.025, 0.975], axis=1))


def covered(kind: str, share: float, images: int, runs: int, seed: int) -> tuple[float, float, float]:
    """Coverage of a mean difference, that of the bootstrap, and how many times the bootstrap's the width is."""
    rng = np.random.default_rng(seed)
    truth = share * GAINS[kind](np.random.default_rng(0), 2_000_000).mean()
    values, counts = differences(kind, share, images, runs, rng)
    ends = np.array(mean_interval(values, (-1.0, 1.0), Z, counts))
    few = slice(0, 200 if images <= 500 else 20)
    control = bootstrap(values[few], counts[few], rng)
    held, held_by_control = ((low <= truth) & (truth <= high) for low, high in (ends, control))
    width = np.ptp(ends[:, few], 0).mean() / np.ptp(control, 0).mean()
    return float(held.mean()), float(held_by_control.mean()), float(width)


def test_few_runs_bear_out_the_coverage_of_rare_differences() -> None:
    held, control, _ = covered("uniform", 0.002, 500, 400, seed=0)
    assert held >= 0.94 and control < 0.75


@pytest.mark.slow
def test_means_are_covered_however_rarely_images_differ() -> None:
    for kind in GAINS:
        for images in [500, 10_000]:
            for share in DISCORDANT:
                runs = 2000 if share * images < 1000 else 1000
                held, control, width = covered(kind, share, images, runs, seed=int(1000 * share))
                assert held >= 0.94 - 2.0 * np.sqrt(0.06 * 0.94 / runs), (share, held)
                if share == 0.5:
                    assert width <= 1.05, width
                elif share * images < 2.0:
                    assert control < 0.75, control
