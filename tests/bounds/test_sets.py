"""Bounds for sets of classes: exact levels by enumeration, tight radii, and controls that must fail."""

import itertools

import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds
from randsmooth.errors import BadValue
from randsmooth.noise import Ablation, Gaussian, Laplace, Noise, Uniform

ALPHA = 0.05
n = 24
K = 4


def all_counts() -> np.ndarray:
    """Return every way in which n samples fall into K classes, (M, K)."""
    cuts = itertools.combinations(range(n + K - 1), K - 1)
    rows = [np.diff([-1, *cut, n + K - 1]) - 1 for cut in cuts]
    return np.array(rows, np.int64)


def true_bounds(p: np.ndarray, members: list[int]) -> tuple[np.ndarray, np.ndarray]:
    q = 1.0 - np.cumsum(p[members])
    return q[None], np.array([np.delete(p, members).max()])


@pytest.mark.parametrize("members", [[0], [0, 1], [1, 0], [0, 1, 2]])
@pytest.mark.parametrize(
    "p",
    [
        (0.5, 0.3, 0.15, 0.05),
        (0.4, 0.35, 0.15, 0.1),
        (0.34, 0.33, 0.165, 0.165),
        (0.25, 0.25, 0.25, 0.25),
        (0.9, 0.08, 0.01, 0.01),
    ],
)
def test_a_claim_beyond_the_truth_has_at_most_probability_alpha(
    p: tuple[float, ...], members: list[int]
) -> None:
    probabilities = np.array(p)
    counts = all_counts()
    weights = stats.multinomial.pmf(counts, n, probabilities)
    q, p_other = bounds.set_bounds(counts, [members] * len(counts), ALPHA)
    q_true, other_true = true_bounds(probabilities, members)
    fails = np.any(q < q_true - 1e-12, axis=1) | (p_other < other_true - 1e-12)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[fails].sum() <= ALPHA
    noise = Gaussian(1.0)
    claimed = noise.set_radius(q, p_other)
    true = noise.set_radius(q_true, other_true)
    assert weights[claimed > true + 1e-9].sum() <= ALPHA


def test_members_picked_by_the_same_samples_break_the_level() -> None:
    """The control: two classes of 1/2 less a little, the larger one of the samples claimed."""
    p = np.array([0.25, 0.25, 0.25, 0.25])
    counts = all_counts()
    weights = stats.multinomial.pmf(counts, n, p)
    picked = counts.argmax(axis=1)[:, None]
    q, p_other = bounds.set_bounds(counts, picked, ALPHA)
    claims = Gaussian(1.0).set_radius(q, p_other) > 0.0
    fixed = np.zeros_like(picked)
    claims_of_fixed = Gaussian(1.0).set_radius(*bounds.set_bounds(counts, fixed, ALPHA))
    assert weights[claims].sum() > 3.0 * weights[claims_of_fixed > 0.0].sum()


@pytest.mark.parametrize("s", [2, 3, 5])
def test_radius_of_a_set_is_reached_by_a_classifier(s: int) -> None:
    # One coordinate beyond a threshold is outside; another coordinate cuts the rest
    # into s equal parts. The set holds the top class until the rest has s times less.
    p_other = 0.04
    radius = float(
        Gaussian(0.5).set_radius([[*[1.0] * (s - 1), p_other]], [p_other])[0]
    )

    def outside_at(distance: float) -> float:
        return float(stats.norm.cdf(stats.norm.ppf(p_other) + distance / 0.5))

    for factor, holds in ((0.999, True), (1.001, False)):
        outside = outside_at(radius * factor)
        assert ((1.0 - outside) / s > outside) is holds


@pytest.mark.parametrize("noise", [Uniform(0.5), Laplace(0.4)])
def test_radius_of_a_set_is_where_the_rest_has_grown(noise: Noise) -> None:
    q_set = 0.1
    radius = float(noise.set_radius([[0.6, q_set]], [q_set])[0])
    if isinstance(noise, Uniform):
        outside = q_set + radius / (2.0 * noise.lam)
    else:
        assert isinstance(noise, Laplace)
        outside = q_set * np.exp(radius / noise.b)
    assert outside == pytest.approx(1.0 / 3.0)


@pytest.mark.parametrize("noise", [Gaussian(0.25), Uniform(0.5), Laplace(0.4)])
def test_radius_of_one_class_is_that_of_the_noise(noise: Noise) -> None:
    q = np.array([[0.3], [0.1], [0.7]])
    p_other = np.array([0.2, 0.1, 0.25])
    assert noise.set_radius(q, p_other) == pytest.approx(noise.radius(q[:, 0], p_other))


def test_strong_member_counts_alone_where_that_proves_more() -> None:
    noise = Gaussian(1.0)
    both = noise.set_radius([[0.3, 0.1]], [0.1])
    alone = noise.radius([0.3], [0.1])
    as_a_set = -stats.norm.ppf(0.1) - stats.norm.ppf(2.0 / 3.0)
    assert both == pytest.approx(alone)
    assert both > as_a_set


def test_noise_that_does_not_prove_it_refuses_several_classes() -> None:
    noise = Ablation(5, d=20)
    assert noise.set_radius([[0.1]], [0.1]).shape == (1,)
    with pytest.raises(BadValue):
        noise.set_radius([[0.5, 0.1]], [0.1])


@pytest.mark.parametrize(
    "members", [[[0, 0]], [[4]], [[-1]], [[0, 1, 2, 3]], [0], [[0], [1]]]
)
def test_impossible_members_are_refused(members: object) -> None:
    with pytest.raises(BadValue):
        bounds.set_bounds([[5, 4, 3, 2]], members, 0.05)  # type: ignore[arg-type]
