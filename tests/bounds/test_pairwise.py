"""Direct tests against each rival: SciPy's quantiles, exact coverage, what they gain, and rules that must fail."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from randsmooth import bounds
from randsmooth.bounds.pairwise import pairwise_claims, pairwise_radius, pairwise_union_radius
from randsmooth.errors import InputError

ALPHA, SIGMA, PATHS = 0.05, 0.5, 20_000
ALLOWED = ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / PATHS)

Ints = NDArray[np.int64]


def draw(p: list[float], n: int, seed: int, paths: int = PATHS) -> Ints:
    return np.asarray(np.random.default_rng(seed).multinomial(n, p, size=paths), np.int64)


def true_radius(p: list[float]) -> float:
    return float(SIGMA / 2.0 * (stats.norm.ppf(p[0]) - stats.norm.ppf(max(p[1:]))))


@pytest.mark.parametrize("counts", [[700, 200, 100], [450, 200, 200, 150], [1000, 0, 0], [999, 1, 0], [501, 499, 0]])
def test_radius_is_that_of_scipys_quantiles(counts: list[int]) -> None:
    own, n, found = counts[0], sum(counts), []
    for other in counts[1:]:
        s = stats.beta.ppf(ALPHA / 10, own + other, n - own - other + 1)
        t = stats.beta.ppf(0.9 * ALPHA, own, other + 1)
        found.append(SIGMA / 2 * (stats.norm.ppf(s * t) - stats.norm.ppf(s * (1 - t))))
    assert pairwise_radius([counts], [0], SIGMA, ALPHA) == pytest.approx(max(0.0, min(found)), abs=1e-10)


def test_of_two_classes_it_is_the_one_sided_radius() -> None:
    k = np.arange(1001)
    one_sided = bounds.radius_of_tail(bounds.q_upper(k, 1000, ALPHA), SIGMA)
    counts = np.column_stack([k, 1000 - k])
    np.testing.assert_allclose(pairwise_radius(counts, np.zeros(1001, int), SIGMA, ALPHA), one_sided, atol=1e-12)


def test_rows_are_independent_of_each_other_and_of_the_order_of_classes() -> None:
    counts = np.array([[70, 20, 10], [10, 70, 20], [20, 10, 70], [7, 2, 1]])
    radius = pairwise_radius(counts, [0, 1, 2, 0], SIGMA, ALPHA)
    assert radius[0] == radius[1] == radius[2] > radius[3]
    assert pairwise_radius(np.zeros((0, 3), int), np.zeros(0, int), SIGMA, ALPHA).shape == (0,)


@pytest.mark.parametrize("counts", [[0, 10, 0], [5, 5, 0], [4, 3, 3], [10, 90, 0], [0, 0, 10]])
def test_nothing_is_claimed_without_a_gap(counts: list[int]) -> None:
    assert pairwise_radius([counts], [0], SIGMA, ALPHA) == 0.0


@pytest.mark.parametrize(
    "p", [(0.5, 0.3, 0.2), (0.4, 0.39, 0.21), (0.34, 0.33, 0.33), (0.3, 0.4, 0.3), (0.8, 0.1, 0.1)]
)
def test_the_exact_probability_of_too_large_a_radius_is_at_most_alpha(p: tuple[float, ...]) -> None:
    """Summed over every count of 40 samples of three classes."""
    counts = np.array([(a, b, 40 - a - b) for a, b in itertools.product(range(41), repeat=2) if a + b <= 40])
    mass = stats.multinomial.pmf(counts, 40, p)
    q, radius = pairwise_claims(counts, np.zeros(len(counts), int), SIGMA, ALPHA)
    wrong = ((radius > 0.0) & (radius > max(0.0, true_radius(list(p))))) | (q < 1.0 - p[0] - 1e-12)
    assert mass @ ((radius > 0.0) & (radius > true_radius(list(p)))) <= ALPHA
    assert mass @ wrong <= ALPHA


@pytest.mark.parametrize(
    ("p", "least"),
    [
        ([0.5, 0.5, 0.0], 0.7 * ALPHA),  # the case that uses alpha up
        ([0.7, 0.3], 0.5 * ALPHA),
        ([0.4, 0.3, 0.2, 0.1], ALPHA / 4.0),
        ([0.99, 0.01, 0.0], 0.0),
        ([0.2] * 5, 0.0),
        ([0.24] + [0.04] * 19, 0.0),
    ],
)
def test_radius_is_too_large_no_more_often_than_alpha(p: list[float], least: float) -> None:
    radius = pairwise_radius(draw(p, 500, seed=1), np.zeros(PATHS, int), SIGMA, ALPHA)
    wrong = float(np.mean((radius > 0.0) & (radius > true_radius(p))))
    assert least <= wrong <= ALLOWED


def test_control_the_rival_that_other_samples_named_alone_fails_too_often() -> None:
    """Of many that are alike, the one named is not the most likely, and the radius against it is too large."""
    p = [0.4, 0.21, 0.20, 0.19]
    counts, named = draw(p, 20_000, seed=4), draw(p, 20, seed=3)[:, 1:].argmax(axis=1) + 1
    pair = np.column_stack([counts[:, 0], counts[np.arange(PATHS), named]])
    others = 20_000 - pair.sum(axis=1)
    three = np.column_stack([pair, others])
    against_it = pairwise_radius_against(three)
    assert np.mean(against_it > true_radius(p)) > 2 * ALLOWED
    assert np.mean(pairwise_radius(counts, np.zeros(PATHS, int), SIGMA, ALPHA) > true_radius(p)) <= ALLOWED


def pairwise_radius_against(counts: Ints) -> NDArray[np.float64]:
    """Of class 0 against class 1 alone, of three."""
    s = 1.0 - bounds.q_upper(counts[:, :2].sum(axis=1), counts.sum(axis=1), ALPHA / 10)
    t = 1.0 - bounds.q_upper(counts[:, 0], counts[:, :2].sum(axis=1), 0.9 * ALPHA)
    return np.asarray(bounds.radius_of_pair(1.0 - s * t, s * (1.0 - t), SIGMA))


def test_control_all_of_alpha_for_both_bounds_fails_too_often() -> None:
    """The estimate of the pair's mass in place of its bound, and no class that picks itself."""
    counts = draw([0.5, 0.5], 500, seed=6)
    chosen = pairwise_radius(counts, counts.argmax(axis=1), SIGMA, ALPHA)
    assert np.mean(chosen > 0.0) > 1.5 * ALPHA
    assert np.mean(pairwise_radius(counts, np.zeros(PATHS, int), SIGMA, ALPHA) > 0.0) <= ALLOWED


@pytest.mark.parametrize(
    ("p", "gain"), [([0.4] + [0.15] * 4, 1.05), ([0.3] + [0.7 / 9] * 9, 1.05), ([0.6, 0.39, 0.01], 1.02)]
)
def test_below_seven_tenths_it_proves_larger_radii_than_the_two_sided_bound(p: list[float], gain: float) -> None:
    counts = draw(p, 1000, seed=7, paths=500)
    ours, theirs = (f(counts, np.zeros(500, int), SIGMA, 0.001) for f in (pairwise_radius, bounds.two_sided_radius))
    assert ours.mean() > gain * theirs.mean()


@pytest.mark.slow
def test_of_many_looks_the_radius_errs_no_more_often_than_alpha_at_any() -> None:
    looks, p = np.array([50, 100, 200, 400]), [0.4, 0.35, 0.25]
    steps = np.diff(looks, prepend=0)
    rng = np.random.default_rng(8)
    counts = np.stack([rng.multinomial(m, p, size=PATHS) for m in steps], axis=1).cumsum(axis=1)
    picked = np.zeros(PATHS, int)
    assert np.mean(pairwise_union_radius(counts, looks, picked, SIGMA, ALPHA) > true_radius(p)) <= ALLOWED
    peeked = np.max([pairwise_radius(counts[:, i], picked, SIGMA, ALPHA) for i in range(4)], axis=0)
    assert np.mean(peeked > true_radius(p)) > ALLOWED  # the control: every look at the full alpha
    early = pairwise_union_radius(counts[:, :2], looks, picked, SIGMA, ALPHA)
    assert np.all(early <= pairwise_union_radius(counts, looks, picked, SIGMA, ALPHA))


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match=r"class 2 .*0\.\.1"):
        pairwise_radius([[5, 5]], [2], SIGMA, ALPHA)
    with pytest.raises(InputError, match="alpha="):
        pairwise_radius([[5, 5]], [0], SIGMA, 1.5)
    with pytest.raises(InputError, match=r"add up to \[10\]"):
        pairwise_union_radius([[[5, 6]]], [10, 20], [0], SIGMA, ALPHA)
    with pytest.raises(InputError, match=r"\(N, k, K\)"):
        pairwise_union_radius([[5, 5]], [10, 20], [0], SIGMA, ALPHA)
