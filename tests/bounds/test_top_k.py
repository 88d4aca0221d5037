"""The top-k radius: exact reductions, worst classifiers found by linear programming, published radii, coverage."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, sparse, stats

from randsmooth import bounds
from randsmooth.bounds.top_k import top_k_radius, top_k_radius_of_bounds
from randsmooth.bounds.two_sided import radius_of_pair, two_sided_radius
from randsmooth.errors import InputError

ALPHA, SIGMA, PATHS = 0.05, 0.5, 20_000
ALLOWED = ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / PATHS)
CELLS = 600

Floats = NDArray[np.float64]

# (the label's lower bound, upper bounds of all rivals descending, k); together at least 1, or no classifier has them
BOUNDS = [
    (0.7, [0.2, 0.1], 1),
    (0.4, [0.3, 0.2, 0.1], 1),
    (0.4, [0.3, 0.2, 0.1], 2),
    (0.4, [0.3, 0.2, 0.1], 3),
    (0.3, [0.25, 0.25, 0.2], 2),
    (0.3, [0.6, 0.05, 0.05], 2),
    (0.2, [0.45, 0.3, 0.05], 3),
    (0.25, [0.25, 0.25, 0.25], 3),
    (0.1, [0.5, 0.3, 0.05, 0.05], 3),
    (0.3, [0.25, 0.22, 0.2, 0.15], 2),  # more than 1 in all
    (0.6, [0.3, 0.3, 0.2], 2),  # two rivals may not have more than the label leaves
]


def radius_of(p: float, rivals: list[float], k: int) -> float:
    return float(top_k_radius_of_bounds([1.0 - p], [rivals[:k]], SIGMA)[0])


def draw(p: list[float], n: int, seed: int) -> NDArray[np.int64]:
    """(PATHS, K) class counts of n samples."""
    return np.asarray(np.random.default_rng(seed).multinomial(n, p, size=PATHS), np.int64)


def test_top_1_is_the_two_sided_radius_to_the_last_bit() -> None:
    counts = draw([0.4, 0.3, 0.2, 0.1], 300, seed=1)
    for label in range(4):
        labels = np.full(PATHS, label)
        np.testing.assert_array_equal(
            top_k_radius(counts, labels, 1, SIGMA, ALPHA), two_sided_radius(counts, labels, SIGMA, ALPHA)
        )


@pytest.mark.parametrize(("p", "rivals", "k"), BOUNDS)
def test_the_theorems_condition_holds_up_to_the_radius_and_no_further(p: float, rivals: list[float], k: int) -> None:
    def holds(r: float) -> bool:
        smallest = np.minimum(np.cumsum(rivals[:k][::-1]), 1.0 - p)
        between = stats.norm.cdf(stats.norm.ppf(smallest) + r / SIGMA) / np.arange(1, k + 1)
        return bool(stats.norm.cdf(stats.norm.ppf(p) - r / SIGMA) > between.min())

    radius = radius_of(p, rivals, k)
    assert holds(radius - 1e-9) if radius > 0.0 else not holds(1e-9)
    assert not holds(radius + 1e-9)


def worst_gap(p: float, rivals: list[float], k: int, r: float) -> float:
    """Largest min over k rivals of P(rival) - P(label) at distance r, over all classifiers the bounds allow.

    Only the coordinate along the perturbation matters; it is cut into cells that may be shared among classes, as a
    second coordinate could share them. Each cell has its mass at the input and its mass at distance r.
    """
    shift, classes = r / SIGMA, len(rivals) + 1
    edges = stats.norm.ppf(np.linspace(0.0, 1.0, CELLS + 1)) + shift / 2.0  # fine at both places
    here, there = np.diff(stats.norm.cdf(edges)), np.diff(stats.norm.cdf(edges - shift))
    rows, limits = [np.r_[np.kron(np.eye(classes)[0], -here), 0.0]], [-p]
    for c, bound in enumerate(rivals, start=1):
        rows.append(np.r_[np.kron(np.eye(classes)[c], here), 0.0])
        limits.append(bound)
    for c in range(1, k + 1):
        rows.append(np.r_[np.kron(np.eye(classes)[0] - np.eye(classes)[c], there), 1.0])
        limits.append(0.0)
    one_class = sparse.hstack([sparse.kron(np.ones((1, classes)), sparse.eye(CELLS)), sparse.csr_matrix((CELLS, 1))])
    objective = np.r_[np.zeros(classes * CELLS), -1.0]
    share = [(0.0, 1.0)] * (classes * CELLS) + [(-1.0, 1.0)]
    result = optimize.linprog(objective, np.array(rows), limits, one_class, np.ones(CELLS), share)
    assert result.status == 0, result.message
    return float(-result.fun)


@pytest.mark.parametrize(("p", "rivals", "k"), BOUNDS)
def test_no_classifier_breaks_the_radius_and_one_breaks_any_larger(p: float, rivals: list[float], k: int) -> None:
    radius = radius_of(p, rivals, k)
    assert worst_gap(p, rivals, k, radius + 0.01) > 0.0
    if radius > 0.0:
        assert worst_gap(p, rivals, k, radius - 0.01) < 0.0
        assert worst_gap(p, rivals, k, radius) == pytest.approx(0.0, abs=1e-4)


def test_control_subsets_of_the_smallest_of_all_rivals_claim_too_much() -> None:
    p, rivals, k = 0.4, [0.3, 0.2, 0.1], 2
    assert worst_gap(p, rivals, k, radius_of(p, rivals[-k:], k)) > 0.01


@pytest.mark.parametrize(("p", "u", "k"), [(0.4, 0.2, 2), (0.2, 0.2, 4), (0.1, 0.1, 9)])
def test_half_space_classes_attain_the_radius(p: float, u: float, k: int) -> None:
    # The label holds x <= a, k rivals share x >= b by their angle: all k + 1 are equal at the radius.
    radius = radius_of(p, [u] * k, k)
    label = stats.norm.cdf(stats.norm.ppf(p) - radius / SIGMA)
    sharers = [stats.norm.sf(stats.norm.isf(t * u) - radius / SIGMA) / t for t in range(1, k + 1)]
    assert min(sharers) == pytest.approx(label, abs=1e-12) or radius == 0.0
    assert radius > 0.0 or p * k <= u * k


def test_all_rivals_together_certify_beyond_each_alone() -> None:
    alone = radius_of_pair(0.6, 0.2, SIGMA)
    assert radius_of(0.4, [0.2, 0.2, 0.2], 3) > radius_of(0.4, [0.2, 0.2, 0.2], 2) > float(alone)


def test_radius_grows_with_k_and_with_the_labels_bound_and_falls_with_the_rivals() -> None:
    p, rivals = np.linspace(0.05, 0.9, 18), [0.3, 0.2, 0.15, 0.1]
    by_k = np.array([[radius_of(x, rivals, k) for k in range(1, 5)] for x in p])
    assert np.all(np.diff(by_k, axis=0) >= 0.0) and np.all(np.diff(by_k, axis=1) >= 0.0)
    assert np.all(by_k >= [[radius_of(x, [u + 0.05 for u in rivals], k) for k in range(1, 5)] for x in p])


def test_far_tails_keep_their_digits() -> None:
    q = np.array([1e-12, 1e-30, 1e-200])
    radius = top_k_radius_of_bounds(q, np.column_stack([q, q]), SIGMA)
    a = stats.norm.isf(q)
    z = [
        optimize.brentq(lambda z, a=a_i: stats.norm.logcdf(a - z) - stats.norm.logcdf(z - a) + np.log(2), 0, 99)
        for a_i in a
    ]
    np.testing.assert_allclose(radius, SIGMA * np.array(z), rtol=1e-12)
    assert np.all(radius > radius_of_pair(q, q, SIGMA))


# The first ten rows of the class counts and radii that the paper's authors published with their code (CIFAR-10,
# sigma = 0.25, k = 3, alpha = 0.001, n = 100,000; the radius to three digits). They spend alpha / K on each class.
PUBLISHED = [
    ([2, 2, 334, 93642, 2, 5279, 737, 0, 2, 0], 3, 0.55),
    ([0, 13453, 50, 0, 113, 36952, 1, 49328, 0, 103], 7, 0.365),
    ([8333, 0, 157, 0, 91506, 0, 0, 0, 2, 2], 4, 0.623),
    ([0, 0, 0, 0, 4, 0, 0, 99996, 0, 0], 7, 1.06),
    ([126, 1, 0, 0, 0, 0, 0, 0, 99873, 0], 8, 0.899),
    ([0, 0, 1157, 1903, 45720, 49732, 4, 1484, 0, 0], 4, 0.266),
    ([9614, 15452, 0, 0, 0, 0, 0, 0, 74564, 370], 8, 0.407),
    ([16, 0, 13133, 4028, 3080, 8, 79735, 0, 0, 0], 6, 0.372),
    ([1120, 0, 98710, 160, 0, 10, 0, 0, 0, 0], 2, 0.716),
    ([98731, 0, 0, 425, 0, 0, 0, 0, 843, 1], 0, 0.734),
]


@pytest.mark.parametrize(("counts", "label", "published"), PUBLISHED)
def test_published_radii(counts: list[int], label: int, published: float) -> None:
    each, n = 0.001 / 10, sum(counts)
    rivals = sorted(counts[:label] + counts[label + 1 :], reverse=True)[:3]
    q, uppers = bounds.q_upper(counts[label], n, each), bounds.upper(rivals, n, each)
    radius = float(top_k_radius_of_bounds([q], [uppers], 0.25)[0])
    assert float(f"{radius:.3g}") == published
    assert top_k_radius([counts], [label], 3, 0.25, 0.001)[0] > radius  # k + 1 bounds have to hold, not K


TRUTHS = [[0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1], [0.2, 0.4, 0.3, 0.1], [0.2] * 5, [0.15, 0.45] + [0.05] * 8]


@pytest.mark.parametrize(("p", "k"), [(p, k) for p, k in itertools.product(TRUTHS, [1, 2, 3, 4]) if k < len(p)])
def test_radius_is_too_large_no_more_often_than_alpha(p: list[float], k: int) -> None:
    true = radius_of(p[0], sorted(p[1:], reverse=True), k)
    radius = top_k_radius(draw(p, 500, seed=2), np.zeros(PATHS, int), k, SIGMA, ALPHA)
    assert np.mean(radius > true + 1e-12) <= ALLOWED


def failures(p: list[float], k: int, each: float) -> float:
    """How often one of the k + 1 bounds that the radius rests on is wrong, in order of size."""
    counts = draw(p, 2000, seed=3)
    rivals = -np.sort(-counts[:, 1:], axis=1)[:, :k]
    wrong = bounds.lower(counts[:, 0], 2000, each) > p[0]
    return float(np.mean(wrong | np.any(bounds.upper(rivals, 2000, each) < sorted(p[1:], reverse=True)[:k], axis=1)))


def test_the_bounds_of_the_largest_rivals_hold_together_and_without_the_split_they_do_not() -> None:
    p, k = [0.4, 0.25, 0.15, 0.1, 0.06, 0.04], 4
    assert ALPHA / 2.0 < failures(p, k, ALPHA / (k + 1)) <= ALLOWED
    assert failures(p, k, ALPHA) > 2.0 * ALLOWED
    assert failures([0.04] * 25, 1, ALPHA / 2.0) <= ALLOWED  # many ties: the largest of 24 needs no more


def test_control_the_shares_themselves_fail_half_of_the_time() -> None:
    p, k = [0.2, 0.4, 0.3, 0.1], 3
    shares = draw(p, 500, seed=4) / 500
    plugged = top_k_radius_of_bounds(1.0 - shares[:, 0], shares[:, 1:], SIGMA)
    assert np.mean(plugged > radius_of(p[0], [0.4, 0.3, 0.1], k)) > 0.4


@pytest.mark.parametrize("k", [0, -1, 3, 10])
def test_k_outside_its_range_is_refused(k: int) -> None:
    with pytest.raises(InputError, match=rf"k={k} must lie in 1\.\.2"):
        top_k_radius([[5, 3, 2]], [0], k, SIGMA, ALPHA)


@pytest.mark.parametrize(("q", "rivals"), [(0.0, 0.1), (0.5, 0.0), (1.1, 0.1), (0.5, -0.1), (np.nan, 0.1)])
def test_bounds_that_are_no_probabilities_are_refused(q: float, rivals: float) -> None:
    with pytest.raises(InputError, match=r"\(0, 1\]"):
        top_k_radius_of_bounds([q], [[rivals]], SIGMA)


def test_bad_alpha_and_sigma_are_named() -> None:
    with pytest.raises(InputError, match=r"alpha=2\.0"):
        top_k_radius([[5, 3, 2]], [0], 1, SIGMA, 2.0)
    with pytest.raises(InputError, match=r"sigma=-1\.0"):
        top_k_radius([[5, 3, 2]], [0], 1, -1.0, ALPHA)
