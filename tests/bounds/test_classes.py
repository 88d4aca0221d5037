"""Bounds from counts of all classes: SciPy's quantiles, exact and simulated coverage, and rules that must fail."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from randsmooth import bounds
from randsmooth.noise import Gaussian

ALPHA, SIGMA, PATHS = 0.05, 0.5, 20_000
NOISE = Gaussian(SIGMA)
ALLOWED = ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / PATHS)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def draw(p: list[float], n: int, seed: int, paths: int = PATHS) -> Ints:
    """(paths, K) class counts of n samples."""
    return np.asarray(
        np.random.default_rng(seed).multinomial(n, p, size=paths), np.int64
    )


def two_sided(counts: object, picked: object, alpha: float = ALPHA) -> Floats:
    return NOISE.radius(*bounds.two_sided_bounds(counts, picked, alpha))  # type: ignore[arg-type]


def pairwise(counts: object, picked: object, alpha: float = ALPHA) -> Floats:
    _, q, p = bounds.pairwise_bounds(counts, picked, alpha)  # type: ignore[arg-type]
    return np.asarray(NOISE.radius(q, p).min(axis=1))


def first(rows: int) -> Ints:
    return np.zeros(rows, np.int64)


def true_radius(p: list[float] | tuple[float, ...]) -> float:
    """What class 0 may truly claim; negative where it is not the most likely."""
    return float(SIGMA / 2.0 * (stats.norm.ppf(p[0]) - stats.norm.ppf(max(p[1:]))))


def test_radii_are_those_of_scipys_quantiles() -> None:
    half = ALPHA / 2.0
    for counts in (
        [700, 200, 100],
        [450, 200, 200, 150],
        [1000, 0, 0],
        [999, 1, 0],
        [501, 499, 0],
    ):
        n, own, most = sum(counts), counts[0], max(counts[1:])
        p_a = stats.beta.ppf(half, own, n - own + 1)
        p_b = min(stats.beta.isf(half, most + 1, n - most), 1.0 - p_a)
        expected = max(0.0, SIGMA / 2.0 * (stats.norm.ppf(p_a) - stats.norm.ppf(p_b)))
        assert two_sided([counts], [0]) == pytest.approx(expected, abs=1e-12), counts
        found = []
        for other in counts[1:]:
            s = stats.beta.ppf(ALPHA / 10, own + other, n - own - other + 1)
            t = stats.beta.ppf(0.9 * ALPHA, own, other + 1)
            found.append(
                SIGMA / 2 * (stats.norm.ppf(s * t) - stats.norm.ppf(s * (1 - t)))
            )
        assert pairwise([counts], [0]) == pytest.approx(
            max(0.0, min(found)), abs=1e-10
        ), counts


def test_of_two_classes_the_radius_is_one_sided_and_of_more_it_is_no_smaller() -> None:
    k = np.arange(1001)
    two, five = (
        np.column_stack([k, 1000 - k]),
        np.column_stack([k, *((1000 - k + i) // 4 for i in range(4))]),
    )
    np.testing.assert_allclose(
        pairwise(two, first(1001)),
        NOISE.radius(bounds.q_upper(k, 1000, ALPHA)),
        atol=1e-12,
    )
    one_sided = NOISE.radius(bounds.q_upper(k, 1000, ALPHA / 2.0))
    np.testing.assert_array_equal(two_sided(two, first(1001)), one_sided)
    shared = two_sided(five, first(1001))
    assert np.all(shared >= one_sided) and np.all(shared[301:900] > one_sided[301:900])


def test_rows_are_independent_and_nothing_is_claimed_without_a_gap() -> None:
    counts = np.array([[70, 20, 10], [10, 70, 20], [20, 10, 70], [7, 2, 1]])
    for radius in (two_sided, pairwise):
        found = radius(counts, [0, 1, 2, 0])
        assert found[0] == found[1] == found[2] > found[3]
        assert radius(np.zeros((0, 3), int), first(0)).shape == (0,)
        for none in ([0, 10, 0], [5, 5, 0], [4, 3, 3], [10, 90, 0], [0, 0, 10]):
            assert radius([none], [0]) == 0.0, (radius, none)


def test_the_exact_probability_of_too_large_a_pairwise_radius_is_at_most_alpha() -> (
    None
):
    """Summed over every count of 40 samples of three classes."""
    counts = np.array(
        [
            (a, b, 40 - a - b)
            for a, b in itertools.product(range(41), repeat=2)
            if a + b <= 40
        ]
    )
    q, radius = (
        bounds.pairwise_bounds(counts, first(len(counts)), ALPHA)[0],
        pairwise(counts, first(len(counts))),
    )
    for p in (
        (0.5, 0.3, 0.2),
        (0.4, 0.39, 0.21),
        (0.34, 0.33, 0.33),
        (0.3, 0.4, 0.3),
        (0.8, 0.1, 0.1),
    ):
        too_large = (radius > 0.0) & (radius > true_radius(p))
        assert (
            stats.multinomial.pmf(counts, 40, p)
            @ (too_large | (q < 1.0 - p[0] - 1e-12))
            <= ALPHA
        ), p


def test_radii_are_too_large_no_more_often_than_alpha() -> None:
    for p, least, pairwise_least in (
        ([0.5, 0.5, 0.0], 0.0, 0.7 * ALPHA),  # the case that uses alpha up
        ([0.7, 0.3], ALPHA / 4.0, 0.5 * ALPHA),
        ([0.99, 0.01, 0.0], ALPHA / 20.0, 0.0),
        ([0.5, 0.25, 0.25], 0.0, 0.0),
        ([0.4, 0.3, 0.2, 0.1], ALPHA / 20.0, ALPHA / 4.0),
        ([0.2] * 5, 0.0, 0.0),
        ([0.05] * 20, 0.0, 0.0),
        ([0.24] + [0.04] * 19, 0.0, 0.0),
    ):
        counts, true = draw(p, 500, seed=1), max(0.0, true_radius(p))
        for radius, fewest in ((two_sided, least), (pairwise, pairwise_least)):
            assert fewest <= np.mean(radius(counts, first(PATHS)) > true) <= ALLOWED, (
                p,
                radius,
            )


def test_the_largest_count_needs_no_correction_for_the_number_of_classes() -> None:
    for rivals in (1, 2, 5, 20, 100):
        p_b = 0.4 / rivals
        counts = draw([0.6, *[p_b] * rivals], 1000, seed=2)
        wrong = float(
            np.mean(bounds.upper(counts[:, 1:].max(axis=1), 1000, ALPHA) < p_b)
        )
        assert (ALPHA / 2.0 if rivals == 1 else 0.0) <= wrong <= ALLOWED, (
            rivals
        )  # one rival uses alpha up


def test_control_the_rival_that_other_samples_named_fails_too_often() -> None:
    """Of many that are alike, the one named is not the most likely, and the bound for it alone is too low."""
    p = [0.4, 0.21, 0.20, 0.19]
    counts, named = (
        draw(p, 20_000, seed=4),
        draw(p, 20, seed=3)[:, 1:].argmax(axis=1) + 1,
    )
    other = counts[np.arange(PATHS), named]
    assert np.mean(bounds.upper(other, 20_000, ALPHA) < 0.21) > 5.0 * ALLOWED
    assert (
        np.mean(bounds.upper(counts[:, 1:].max(axis=1), 20_000, ALPHA) < 0.21)
        <= ALLOWED
    )
    s = 1.0 - bounds.q_upper(counts[:, 0] + other, 20_000, ALPHA / 10)
    t = 1.0 - bounds.q_upper(counts[:, 0], counts[:, 0] + other, 0.9 * ALPHA)
    assert (
        np.mean(NOISE.radius(1.0 - s * t, s * (1.0 - t)) > true_radius(p)) > 2 * ALLOWED
    )
    assert np.mean(pairwise(counts, first(PATHS)) > true_radius(p)) <= ALLOWED


def test_control_shares_in_place_of_bounds_and_a_class_that_picks_itself_fail_too_often() -> (
    None
):
    p = [0.4, 0.3, 0.2, 0.1]
    counts = draw(p, 500, seed=5)
    plugged = NOISE.radius(1.0 - counts[:, 0] / 500, counts[:, 1:].max(axis=1) / 500)
    assert np.mean(plugged > true_radius(p)) > 0.4
    even = draw([0.5, 0.5], 500, seed=6)
    for radius, alpha in ((two_sided, 2.0 * ALPHA), (pairwise, ALPHA)):
        assert np.mean(radius(even, even.argmax(axis=1), alpha) > 0.0) > 1.5 * ALPHA, (
            radius
        )
        assert np.mean(radius(even, first(PATHS), alpha) > 0.0) <= ALLOWED, radius


def test_the_top_k_radius_is_too_large_no_more_often_than_alpha() -> None:
    truths = (
        [0.5, 0.3, 0.2],
        [0.4, 0.3, 0.2, 0.1],
        [0.2, 0.4, 0.3, 0.1],
        [0.2] * 5,
        [0.15, 0.45] + [0.05] * 8,
    )
    for p in truths:
        counts = draw(p, 500, seed=2)
        for k in range(1, min(5, len(p))):
            true = float(
                NOISE.top_k_radius([1.0 - p[0]], [sorted(p[1:], reverse=True)[:k]])[0]
            )
            found = NOISE.top_k_radius(
                *bounds.top_k_bounds(counts, first(PATHS), k, ALPHA)
            )
            assert np.mean(found > true + 1e-12) <= ALLOWED, (p, k)


def failures(p: list[float], k: int, each: float) -> float:
    """How often one of the k + 1 bounds that the radius rests on is wrong, in order of size."""
    counts = draw(p, 2000, seed=3)
    rivals = -np.sort(-counts[:, 1:], axis=1)[:, :k]
    wrong = bounds.lower(counts[:, 0], 2000, each) > p[0]
    return float(
        np.mean(
            wrong
            | np.any(
                bounds.upper(rivals, 2000, each) < sorted(p[1:], reverse=True)[:k],
                axis=1,
            )
        )
    )


def test_the_bounds_of_the_largest_rivals_hold_together_and_without_the_split_they_do_not() -> (
    None
):
    p, k = [0.4, 0.25, 0.15, 0.1, 0.06, 0.04], 4
    assert ALPHA / 2.0 < failures(p, k, ALPHA / (k + 1)) <= ALLOWED
    assert failures(p, k, ALPHA) > 2.0 * ALLOWED
    assert (
        failures([0.04] * 25, 1, ALPHA / 2.0) <= ALLOWED
    )  # many ties: the largest of 24 needs no more
    shares = (
        draw([0.2, 0.4, 0.3, 0.1], 500, seed=4) / 500
    )  # the control: no bounds at all
    plugged = NOISE.top_k_radius(1.0 - shares[:, 0], shares[:, 1:])
    assert np.mean(plugged > NOISE.top_k_radius([0.8], [[0.4, 0.3, 0.1]])) > 0.4


# Some of the first rows of the class counts and radii that the paper's authors published with their code (CIFAR-10,
# sigma = 0.25, k = 3, alpha = 0.001, n = 100,000; the radius to three digits). They spend alpha / K on each class.
PUBLISHED = [
    ([2, 2, 334, 93642, 2, 5279, 737, 0, 2, 0], 3, 0.55),
    ([0, 13453, 50, 0, 113, 36952, 1, 49328, 0, 103], 7, 0.365),
    ([8333, 0, 157, 0, 91506, 0, 0, 0, 2, 2], 4, 0.623),
    ([126, 1, 0, 0, 0, 0, 0, 0, 99873, 0], 8, 0.899),
    ([16, 0, 13133, 4028, 3080, 8, 79735, 0, 0, 0], 6, 0.372),
]


def test_published_top_k_radii() -> None:
    noise, each = Gaussian(0.25), 0.001 / 10
    for counts, label, published in PUBLISHED:
        n, rivals = (
            sum(counts),
            sorted(counts[:label] + counts[label + 1 :], reverse=True)[:3],
        )
        radius = noise.top_k_radius(
            [bounds.q_upper(counts[label], n, each)], [bounds.upper(rivals, n, each)]
        )[0]
        assert float(f"{radius:.3g}") == published, counts
        ours = noise.top_k_radius(*bounds.top_k_bounds([counts], [label], 3, 0.001))[0]
        assert ours > radius, counts  # k + 1 bounds have to hold, not K
