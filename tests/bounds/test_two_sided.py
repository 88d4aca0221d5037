"""The two-sided radius: SciPy's quantiles, exact reductions, coverage, and rules that must fail."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from randsmooth import bounds
from randsmooth.bounds.two_sided import radius_of_pair, two_sided_radius, two_sided_tails
from randsmooth.errors import InputError

ALPHA, SIGMA, PATHS = 0.05, 0.5, 20_000
ALLOWED = ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / PATHS)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def draw(p: list[float], n: int, seed: int) -> Ints:
    """(PATHS, K) class counts of n samples."""
    return np.asarray(np.random.default_rng(seed).multinomial(n, p, size=PATHS), np.int64)


def true_radius(p: list[float]) -> float:
    """What class 0 may truly claim; negative where it is not the most likely."""
    return float(SIGMA / 2.0 * (stats.norm.ppf(p[0]) - stats.norm.ppf(max(p[1:]))))


@pytest.mark.parametrize("counts", [[700, 200, 100], [450, 200, 200, 150], [1000, 0, 0], [999, 1, 0], [501, 499]])
def test_radius_is_that_of_scipys_quantiles(counts: list[int]) -> None:
    n, half = sum(counts), ALPHA / 2.0
    p_a = stats.beta.ppf(half, counts[0], n - counts[0] + 1)
    p_b = min(stats.beta.isf(half, max(counts[1:]) + 1, n - max(counts[1:])), 1.0 - p_a)
    expected = max(0.0, SIGMA / 2.0 * (stats.norm.ppf(p_a) - stats.norm.ppf(p_b)))
    assert two_sided_radius([counts], [0], SIGMA, ALPHA) == pytest.approx(expected, abs=1e-12)


def test_each_bound_holds_at_half_alpha() -> None:
    counts = np.array([[700, 200, 100], [450, 350, 200], [10, 90, 900]])
    q, p_b = two_sided_tails(counts, [0, 0, 0], ALPHA)
    assert 1.0 - q == pytest.approx(stats.beta.ppf(ALPHA / 2.0, counts[:, 0], 1001 - counts[:, 0]))
    assert p_b == pytest.approx(stats.beta.isf(ALPHA / 2.0, [201, 351, 901], [800, 650, 100]))


def test_never_below_the_one_sided_radius_at_half_alpha_and_equal_to_it_for_two_classes() -> None:
    k = np.arange(1001)
    one_sided = bounds.radius_of_tail(bounds.q_upper(k, 1000, ALPHA / 2.0), SIGMA)
    picked = np.zeros(1001, int)
    two = two_sided_radius(np.column_stack([k, 1000 - k]), picked, SIGMA, ALPHA)
    np.testing.assert_array_equal(two, one_sided)
    shared = np.column_stack([k, *((1000 - k + i) // 4 for i in range(4))])
    five = two_sided_radius(shared, picked, SIGMA, ALPHA)
    assert np.all(five >= one_sided) and np.all(five[(k > 300) & (k < 900)] > one_sided[(k > 300) & (k < 900)])


def test_certifies_a_class_without_a_majority() -> None:
    counts = [[4000, 1500, 1500, 1500, 1500]]
    assert bounds.radius(bounds.lower(4000, 10_000, ALPHA), SIGMA) == 0.0
    assert two_sided_radius(counts, [0], SIGMA, ALPHA) > 0.15


def test_rows_are_independent_of_each_other_and_of_the_order_of_classes() -> None:
    counts = np.array([[70, 20, 10], [10, 70, 20], [20, 10, 70], [7, 2, 1]])
    radius = two_sided_radius(counts, [0, 1, 2, 0], SIGMA, ALPHA)
    assert radius[0] == radius[1] == radius[2] > radius[3]
    assert two_sided_radius(np.zeros((0, 3), int), np.zeros(0, int), SIGMA, ALPHA).shape == (0,)


@pytest.mark.parametrize("counts", [[0, 10], [5, 5], [4, 3, 3], [10, 90, 0]])
def test_nothing_is_claimed_without_a_gap(counts: list[int]) -> None:
    assert two_sided_radius([counts], [0], SIGMA, ALPHA) == 0.0


def test_a_pair_of_equal_bounds_is_the_one_sided_radius_to_the_last_bit() -> None:
    q = np.array([1.0, 0.7, 0.5, 0.3, 1e-5, 1e-300])
    np.testing.assert_array_equal(radius_of_pair(q, q, SIGMA), bounds.radius_of_tail(q, SIGMA))
    np.testing.assert_array_equal(radius_of_pair(q, 1.0, SIGMA), bounds.radius_of_tail(q, SIGMA))


@pytest.mark.parametrize(
    ("p", "least"),
    [
        ([0.7, 0.3], ALPHA / 4.0),
        ([0.99, 0.01], ALPHA / 20.0),
        ([0.5, 0.25, 0.25], 0.0),
        ([0.4, 0.3, 0.2, 0.1], ALPHA / 20.0),
        ([0.2] * 5, 0.0),
        ([0.05] * 20, 0.0),
        ([0.24] + [0.04] * 19, 0.0),
    ],
)
def test_radius_is_too_large_no_more_often_than_alpha(p: list[float], least: float) -> None:
    radius = two_sided_radius(draw(p, 500, seed=1), np.zeros(PATHS, int), SIGMA, ALPHA)
    wrong = float(np.mean((radius > 0.0) & (radius > true_radius(p))))
    assert least <= wrong <= ALLOWED


@pytest.mark.parametrize("rivals", [1, 2, 5, 20, 100])
def test_the_largest_count_needs_no_correction_for_the_number_of_classes(rivals: int) -> None:
    p_b = 0.4 / rivals
    counts = draw([0.6, *[p_b] * rivals], 1000, seed=2)
    wrong = float(np.mean(bounds.upper(counts[:, 1:].max(axis=1), 1000, ALPHA) < p_b))
    assert wrong <= ALLOWED
    if rivals == 1:
        assert wrong > ALPHA / 2.0  # the case that uses alpha up


def test_control_bounding_the_rival_that_other_samples_named_fails_too_often() -> None:
    p = [0.7, 0.11, 0.10, 0.09]
    named = draw(p, 20, seed=3)[:, 1:].argmax(axis=1) + 1
    counts = draw(p, 20_000, seed=4)
    assert np.mean(bounds.upper(counts[np.arange(PATHS), named], 20_000, ALPHA) < 0.11) > 5.0 * ALLOWED
    assert np.mean(bounds.upper(counts[:, 1:].max(axis=1), 20_000, ALPHA) < 0.11) <= ALLOWED


def test_control_the_shares_themselves_fail_half_of_the_time() -> None:
    p = [0.4, 0.3, 0.2, 0.1]
    counts = draw(p, 500, seed=5)
    plugged = radius_of_pair(1.0 - counts[:, 0] / 500, counts[:, 1:].max(axis=1) / 500, SIGMA)
    assert np.mean(plugged > true_radius(p)) > 0.4


def test_control_picking_by_the_same_counts_fails_too_often() -> None:
    counts = draw([0.5, 0.5], 500, seed=6)
    picked = counts.argmax(axis=1)
    assert np.mean(two_sided_radius(counts, picked, SIGMA, 2.0 * ALPHA) > 0.0) > 1.5 * ALPHA
    assert np.mean(two_sided_radius(counts, np.zeros(PATHS, int), SIGMA, 2.0 * ALPHA) > 0.0) <= ALLOWED


@pytest.mark.parametrize(
    ("counts", "picked", "sigma", "alpha", "named"),
    [
        ([5, 5], [0], 0.5, 0.05, r"shape \(2,\)"),
        ([[5]], [0], 0.5, 0.05, r"shape \(1, 1\)"),
        ([[5, 5]], [0, 1], 0.5, 0.05, r"shape \(2,\)"),
        ([[5, 5], [6, 4]], [0, 2], 0.5, 0.05, r"class 2 .*0\.\.1"),
        ([[5, 5]], [-1], 0.5, 0.05, "class -1 .*abstained"),
        ([[5, -5]], [0], 0.5, 0.05, "-5"),
        ([[0, 0]], [0], 0.5, 0.05, "n=0"),
        ([[5, 5]], [0], 0.5, 1.5, "alpha=1.5"),
        ([[5, 5]], [0], 0.0, 0.05, "sigma=0.0"),
    ],
)
def test_bad_input_is_named(counts, picked, sigma: float, alpha: float, named: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=named):
        two_sided_radius(counts, picked, sigma, alpha)
