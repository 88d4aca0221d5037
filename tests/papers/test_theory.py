"""What the papers prove, against SciPy, mpmath, random predictions, and the numbers that they print."""

import math
from functools import cache
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import special, stats

from randsmooth import methods
from randsmooth.noise import Gaussian
from randsmooth.papers import theory
from randsmooth.papers.reproduction import reproduce
from randsmooth.papers.theory import CLASSES, GAMMAS, least_bounds, slope


def test_figure_2_meets_the_numbers_of_the_text() -> None:
    assert theory.expected_radius(1.0) == pytest.approx(3.8115, abs=1e-4)
    assert theory.expected_radius([0.99, 0.999]) == pytest.approx([2.3, 3.0], abs=0.05)
    assert theory.expected_radius(0.76) == pytest.approx(3.0 - 2.3, abs=0.05)
    assert theory.radius_slope(1 - 1e-5) > 1000 > theory.radius_slope(0.99)


@cache
def radii(n: int, alpha: float, sigma: float) -> np.ndarray:
    """Clopper-Pearson by SciPy's Beta quantile."""
    k = np.arange(1, n + 1)
    return np.concatenate(
        (
            [0.0],
            np.maximum(
                0.0, sigma * stats.norm.ppf(stats.beta.ppf(alpha, k, n - k + 1))
            ),
        )
    )


def test_the_slope_is_that_of_the_expected_radius_at_n() -> None:
    for p in (0.5, 0.503, 0.6, 0.9, 0.99, 0.9999, 0.99999):
        n, sigma, h = 100_000, 0.5, 1e-7
        counts, r = np.arange(n + 1), radii(n, 0.001, sigma)
        below, here, above = (
            stats.binom.pmf(counts, n, x) @ r for x in (p - h, p, p + h)
        )
        assert theory.expected_radius(p, sigma=sigma) == pytest.approx(
            here, rel=1e-9, abs=1e-12
        ), p
        assert theory.radius_slope(p, sigma=sigma) == pytest.approx(
            (above - below) / (2 * h), rel=1e-5, abs=1e-6
        ), p


def test_the_slope_with_p_a_known_is_the_derivative() -> None:
    p, h = np.array([0.51, 0.7, 0.9, 0.99]), 1e-6
    numeric = (
        Gaussian(1.0).radius(1.0 - p - h) - Gaussian(1.0).radius(1.0 - p + h)
    ) / (2 * h)
    assert slope(p) == pytest.approx(numeric, rel=1e-6)


def test_theorem_1_names_a_budget_that_is_enough() -> None:
    for at in ((0.1, 10, 0.5), (0.2, 10, 0.5), (0.5, 2, 1.0), (1.0, 3, 1.0)):
        acr, classes, sigma = at
        n = int(theory.budget_for_acr(acr, classes, sigma))
        assert (
            n
            == math.ceil(
                math.log(0.001) / math.log(stats.norm.cdf(acr * classes / sigma))
            )
            + 1
        ), at
        reached, fewer = (
            Gaussian(sigma).largest_radius(k, 0.001) / classes for k in (n, n - 3)
        )
        assert fewer < acr < reached, at  # and hardly more than enough


def test_theorem_2() -> None:
    frame = theory.theorem_2(dimension=50, sigma=0.3).data[""]
    assert np.ptp(frame["log density"]) < 1e-10
    point = np.full(50, 0.3)  # of the same norm
    assert frame["log density"][0] == pytest.approx(
        stats.norm.logpdf(point, 0, 0.3).sum()
    )


def test_figure_4_draws_the_weights_of_section_5_2() -> None:
    """By SciPy: 16 noises at level .1, over the radius of 12 of them (that curve is nearly straight) or Phi^-1(.75)."""
    ((radius, bound, literal),) = (
        panel.lines for panel in theory.figure_4().panels[""]
    )
    r = radii(16, 0.1, 1.0)[8:]
    assert [*bound.x] == [*literal.x] == [k / 16 for k in range(8, 17)]
    assert bound.y == pytest.approx(np.maximum(1, r / r[4]), rel=1e-9)
    assert bound.y[4:] == pytest.approx([1, 2.138, 3.420, 4.976, 7.206], abs=1e-3)
    assert literal.y == pytest.approx(np.maximum(1, r / stats.norm.ppf(0.75)), rel=1e-9)
    assert radius.y[radius.x == 0.75] == pytest.approx(1.0) and radius.y[
        -1
    ] == pytest.approx(5.784, abs=0.05)


def test_guarantees_are_suprema() -> None:
    """By brute force over the free parameter; beta = 1 itself is allowed, and best from p = .945 on."""
    for p in (0.505, 0.7, 0.9, 0.945, 0.95, 0.98, 0.99, 0.999, 0.9999):
        q = 1 - p
        a = 1 + np.geomspace(1e-3, 50, 200_001)
        inside = 2 * (0.5 * (p ** (1 - a) + q ** (1 - a))) ** (1 / (1 - a))
        assert theory.li_radius(p) == pytest.approx(
            np.sqrt(np.maximum(0, -2 / a * np.log(inside))).max(), rel=1e-8
        ), p
        beta = np.linspace(1e-6, min(1, 0.5 * math.log(p / q)), 200_001)
        margin = p - np.exp(2 * beta) * q
        within = margin > 0
        values = beta[within] / np.sqrt(
            2 * np.log(1.25 * (1 + np.exp(beta[within])) / margin[within])
        )
        assert theory.lecuyer_radius(p) == pytest.approx(values.max(), rel=1e-8), p
        assert (
            0 < theory.lecuyer_radius(p) < theory.li_radius(p) < Gaussian(1.0).radius(q)
        ), p
        assert theory.li_radius(p, 0.25) == pytest.approx(0.25 * theory.li_radius(p)), p


def searched(classes: int, gamma: float) -> tuple[float, float]:
    """The largest derivatives of min(xi, gamma) by p_1 and by p_2 over a grid of all that K classes allow."""
    q_1 = np.concatenate(
        (np.geomspace(1e-30, 0.01, 1500), np.linspace(0.01, 1.0 - 1.0 / classes, 1500))
    )[:, None]
    least, greatest = q_1 / (classes - 1), np.minimum(q_1, 1.0 - q_1)  # of p_2
    p_2 = np.minimum(least * (greatest / least) ** np.linspace(0.0, 1.0, 60), greatest)
    held = -special.ndtri(q_1) - special.ndtri(p_2) <= gamma
    by_1, by_2 = (float(np.where(held, slope(p), 0.0).max()) for p in (q_1, p_2))
    return by_1, by_2


SETTINGS = ((2, 2), (2, 8), (10, 2), (10, 8), (1000, 4), (1000, 16))  # classes, gamma


def probit(p: mpmath.mpf) -> mpmath.mpf:
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


def test_the_least_bounds_are_reached_and_no_more() -> None:
    """Among predictions with xi <= gamma, by bisection in mpmath."""
    for classes, gamma in SETTINGS:
        bound = least_bounds(classes, gamma)
        with mpmath.workdps(60):
            level = 1 / mpmath.mpf(classes)
            far = mpmath.ncdf(
                -mpmath.mpf(gamma) / 2
            )  # q_1 of two classes that share everything
            steepest = max(proposition_slope(far), proposition_slope(level))
            low, high = (
                mpmath.mpf(10) ** -80,
                level,
            )  # of p_2, the rest of the classes level with it
            for _ in range(60):
                middle = mpmath.sqrt(low * high)
                xi = -probit((classes - 1) * middle) - probit(middle)
                low, high = (middle, high) if xi > gamma else (low, middle)
            assert bound[0] == pytest.approx(float(steepest), rel=1e-9), (
                classes,
                gamma,
            )
            assert bound[1] == pytest.approx(
                float(proposition_slope(high)), rel=1e-9
            ), (classes, gamma)
        found = searched(classes, gamma)
        assert 0.9 * bound[0] < found[0] <= bound[0] * (1 + 1e-9), (classes, gamma)
        assert 0.9 * bound[1] < found[1] <= bound[1] * (1 + 1e-9), (classes, gamma)


def proposition_slope(p: mpmath.mpf) -> mpmath.mpf:
    return mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(probit(p) ** 2 / 2)


def test_the_loss_that_is_trained_keeps_the_bound() -> None:
    method = methods.create("macer", k=1, gamma=4.0)
    q = torch.logspace(-15, -0.31, 2000, dtype=torch.float64)
    z = torch.stack([1 - q, q], dim=1).requires_grad_()
    method._hinge(z, torch.zeros(len(z), dtype=torch.int64)).sum().backward()  # type: ignore[attr-defined]
    assert z.grad is not None
    bound = least_bounds(2, 4.0)
    assert 0.99 * bound[0] < z.grad.abs().max().item() <= bound[0] * (1 + 1e-9)
    assert (z.grad[q < 1e-3] == 0).all()


def test_the_object(tmp_path: Path) -> None:
    result = reproduce("macer/proposition1", out=tmp_path)
    assert result.made is not None and result.missing == (0, 0)
    assert "at most 7,472" in result.made.notes[0]
    told = pd.read_csv(tmp_path / "macer-proposition1.csv")
    assert len(told) == len(CLASSES) * len(GAMMAS)
    for p in ("p_1", "p_2"):
        assert (
            told[f"by {p}: least bound"] <= told[f"by {p}: appendix B"] * (1 + 1e-9)
        ).all()
