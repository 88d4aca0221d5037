"""Gaussian radii: SciPy's normal distribution, worst classifiers found by linear programming, other norms."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse, stats

from models.refusing import check_refusals, problem_of
from randsmooth import bounds
from randsmooth.errors import BadValue
from randsmooth.noise import Gaussian, linf_radius, round_down
from values import Refusal

SIGMA = 0.5
NOISE = Gaussian(SIGMA)
CELLS = 600

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


def test_radius_and_tail_are_normal_quantiles_and_inverse_to_each_other() -> None:
    q = np.array([0.5, 0.499999, 0.4, 0.1, 1e-5, 1e-30, 1e-300])
    for sigma in (0.12, 0.25, 0.5, 1.0):
        noise = Gaussian(sigma)
        np.testing.assert_allclose(
            noise.radius(q), sigma * stats.norm.isf(q), rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(noise.tail(noise.radius(q)), q, rtol=1e-12)
        assert (
            np.all(np.diff(noise.radius(q)) > 0.0)
            and not noise.radius([0.5, 0.501, 0.9, 1.0]).any()
        )
        largest = noise.largest_radius(100_000, 0.001)
        assert largest == pytest.approx(3.8115 * sigma, abs=5e-5)
        assert largest == noise.radius(bounds.q_upper(100_000, 100_000, 0.001))


def test_a_bound_on_the_next_class_counts_where_it_says_more() -> None:
    q = np.array([1.0, 0.7, 0.5, 0.3, 1e-5, 1e-300])
    np.testing.assert_array_equal(NOISE.radius(q, q), NOISE.radius(q))
    np.testing.assert_array_equal(NOISE.radius(q, 1.0), NOISE.radius(q))
    assert NOISE.radius(0.6, 0.2) == pytest.approx(
        SIGMA / 2 * (stats.norm.isf(0.6) + stats.norm.isf(0.2))
    )


def test_a_sigma_that_is_none_is_named_with_the_way_out() -> None:
    sigmas: tuple[Any, ...] = (0.0, -1.0, math.nan, math.inf, 1e-7, 1.01e6, "0.5")
    check_refusals(
        (
            partial(Gaussian, sigma),
            Refusal(BadValue, f"sigma={sigma!r}", "0.25", field="sigma"),
        )
        for sigma in sigmas
    )


def radius_of(p: float, rivals: list[float], k: int) -> float:
    return float(NOISE.top_k_radius([1.0 - p], [rivals[:k]])[0])


def worst_gap(p: float, rivals: list[float], k: int, r: float) -> float:
    """Largest min over k rivals of P(rival) - P(label) at distance r, over all classifiers the bounds allow.

    Only the coordinate along the perturbation matters; it is cut into cells that may be shared among classes, as a
    second coordinate could share them. Each cell has its mass at the input and its mass at distance r.
    """
    shift, classes = r / SIGMA, len(rivals) + 1
    edges = (
        stats.norm.ppf(np.linspace(0.0, 1.0, CELLS + 1)) + shift / 2.0
    )  # fine at both places
    here, there = np.diff(stats.norm.cdf(edges)), np.diff(stats.norm.cdf(edges - shift))
    rows, limits = [np.r_[np.kron(np.eye(classes)[0], -here), 0.0]], [-p]
    for c, bound in enumerate(rivals, start=1):
        rows.append(np.r_[np.kron(np.eye(classes)[c], here), 0.0])
        limits.append(bound)
    for c in range(1, k + 1):
        rows.append(np.r_[np.kron(np.eye(classes)[0] - np.eye(classes)[c], there), 1.0])
        limits.append(0.0)
    one_class = sparse.hstack(
        [
            sparse.kron(np.ones((1, classes)), sparse.eye(CELLS)),
            sparse.csr_matrix((CELLS, 1)),
        ]
    )
    objective = np.r_[np.zeros(classes * CELLS), -1.0]
    share = [(0.0, 1.0)] * (classes * CELLS) + [(-1.0, 1.0)]
    result = optimize.linprog(
        objective, np.array(rows), limits, one_class, np.ones(CELLS), share
    )
    assert result.status == 0, result.message
    return float(-result.fun)


def test_no_classifier_breaks_the_top_k_radius_and_one_breaks_any_larger() -> None:
    for case in BOUNDS:
        radius = radius_of(*case)
        assert worst_gap(*case, radius + 0.01) > 0.0, case
        if radius > 0.0:
            assert worst_gap(*case, radius - 0.01) < 0.0, case
            assert worst_gap(*case, radius) == pytest.approx(0.0, abs=1e-4), case
    p, rivals, k = (
        0.4,
        [0.3, 0.2, 0.1],
        2,
    )  # the control: subsets of the smallest of all rivals claim too much
    assert worst_gap(p, rivals, k, radius_of(p, rivals[-k:], k)) > 0.01


def test_bounds_that_are_no_probabilities_are_refused() -> None:
    bad = ((0.0, 0.1), (0.5, 0.0), (1.1, 0.1), (0.5, -0.1), (np.nan, 0.1))
    check_refusals(
        (partial(NOISE.top_k_radius, [q], [[rival]]), Refusal(BadValue, "(0, 1]"))
        for q, rival in bad
    )


def test_the_largest_cube_in_the_ball_touches_it() -> None:
    assert linf_radius(0.4347, 3072) == pytest.approx(
        2.0 / 255.0, rel=1e-3
    )  # 2/255 on CIFAR-10 need 0.435 in L2
    r, rng = 0.8, np.random.default_rng(1)
    for d in (1, 2, 7, 3072):
        cube = rng.uniform(-1.0, 1.0, (1000, d)) * linf_radius(r, d)
        assert np.all(np.linalg.norm(cube, axis=1) <= r * (1.0 + 1e-12)), d
        assert np.linalg.norm(np.full(d, linf_radius(r, d))) == pytest.approx(r), d
    np.testing.assert_array_equal(
        linf_radius(np.array([[0.0, 0.5], [1.0, 2.0]]), 4), [[0.0, 0.25], [0.5, 1.0]]
    )
    wrong = ((-0.1, 3), (math.nan, 3), (math.inf, 3), (0.1, 0))
    for bad, d in wrong:
        named = str(bad) if d else "d=0"
        Refusal(BadValue, named).check(problem_of(linf_radius, [0.1, bad], d))


def test_a_printed_radius_is_never_above_the_certified_one() -> None:
    for r, digits, printed in (
        (0.98765, 2, "0.98"),
        (0.3, 3, "0.299"),
        (0.5, 3, "0.500"),
        (1e-9, 2, "0.00"),
    ):
        assert str(round_down(r, digits)) == printed
