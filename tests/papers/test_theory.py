"""What the papers prove, against SciPy and against the numbers that they print."""

import math

import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds
from randsmooth.errors import InputError
from randsmooth.papers import theory


def test_figure_2_meets_the_numbers_of_the_text() -> None:
    assert theory.certified_radius(1.0) == pytest.approx(3.8115, abs=1e-4)
    assert theory.certified_radius([0.99, 0.999]) == pytest.approx([2.3, 3.0], abs=0.05)
    assert theory.certified_radius(0.76) == pytest.approx(3.0 - 2.3, abs=0.05)
    assert theory.radius_slope(1 - 1e-5) > 1000 > theory.radius_slope(0.99)


def test_the_slope_is_the_derivative() -> None:
    p, h = np.array([0.51, 0.7, 0.9, 0.99]), 1e-6
    numeric = (bounds.radius(p + h, 0.5) - bounds.radius(p - h, 0.5)) / (2 * h)
    assert theory.radius_slope(p, 0.5) == pytest.approx(numeric, rel=1e-6)
    assert theory.radius_slope(0.4) == 0.0


@pytest.mark.parametrize(("acr", "classes", "sigma"), [(0.1, 10, 0.5), (0.2, 10, 0.5), (0.5, 2, 1.0), (1.0, 3, 1.0)])
def test_theorem_1_names_a_budget_that_is_enough(acr: float, classes: int, sigma: float) -> None:
    n = int(theory.budget_for_acr(acr, classes, sigma))
    assert theory.constant_acr(n, 1 / classes, sigma) > acr
    assert theory.constant_acr(n - 3, 1 / classes, sigma) < acr  # and hardly more than enough
    assert n == math.ceil(math.log(0.001) / math.log(stats.norm.cdf(acr * classes / sigma))) + 1


def test_as_printed_theorem_1_is_upside_down() -> None:
    """The paper's ratio log Phi(M K / sigma) / log alpha is below 1: a budget of 2 samples certifies nothing."""
    ratio = math.log(stats.norm.cdf(0.1 * 10 / 0.5)) / math.log(0.001)
    assert math.ceil(ratio) + 1 == 2
    assert theory.constant_acr(2, 0.1, 0.5) == 0.0


def test_a_budget_beyond_floats_is_infinite() -> None:
    assert theory.budget_for_acr(3.0, 10, 0.5) == math.inf
    with pytest.raises(InputError, match="must be above 0"):
        theory.budget_for_acr(0.0, 10, 0.5)


def test_theorem_2() -> None:
    frame = theory.theorem_2(dimension=50, sigma=0.3)
    assert np.ptp(frame["log density"]) < 1e-10
    point = np.full(50, 0.3)  # of the same norm
    assert frame["log density"][0] == pytest.approx(stats.norm.logpdf(point, 0, 0.3).sum())


def test_weights_are_those_of_section_5_2() -> None:
    weights = theory.sampling_weight(np.array([0, 11, 12, 13, 14, 15, 16]) / 16)
    assert weights == pytest.approx([1, 1, 1, 2.138, 3.420, 4.976, 7.206], abs=1e-3)


@pytest.mark.parametrize("p", [0.55, 0.7, 0.9, 0.99, 0.999])
def test_guarantees_keep_their_order(p: float) -> None:
    assert 0 < theory.lecuyer_radius(p) < theory.li_radius(p) < bounds.radius(p, 1.0)
    assert theory.li_radius(p, 0.25) == pytest.approx(0.25 * theory.li_radius(p))


def test_guarantees_are_suprema() -> None:
    """By brute force over the free parameter."""
    p, q = 0.9, 0.1
    a = 1 + np.geomspace(1e-3, 200, 200_001)
    inside = 2 * (0.5 * (p ** (1 - a) + q ** (1 - a))) ** (1 / (1 - a))
    assert theory.li_radius(p) == pytest.approx(np.sqrt(np.maximum(0, -2 / a * np.log(inside))).max(), rel=1e-6)
    beta = np.linspace(1e-6, min(1, 0.5 * math.log(p / q)), 200_001)[:-1]
    margin = p - np.exp(2 * beta) * q
    values = beta / np.sqrt(2 * np.log(1.25 * (1 + np.exp(beta)) / np.maximum(margin, 1e-300)))
    assert theory.lecuyer_radius(p) == pytest.approx(values[margin > 0].max(), rel=1e-6)


def test_below_one_half_nothing_is_guaranteed() -> None:
    assert theory.lecuyer_radius(0.5) == theory.li_radius(0.4) == 0.0
