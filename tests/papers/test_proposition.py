"""MACER's proposition 1: against mpmath, against random predictions, and against the loss as it is trained."""

import math
from pathlib import Path

import mpmath
import numpy as np
import pandas as pd
import pytest
import torch

from randsmooth import methods
from randsmooth.papers.reproduction import reproduce
from randsmooth.papers.theory import CLASSES, GAMMAS, derivatives, of_the_proof, searched, sharp

SETTINGS = ((2, 2), (2, 8), (10, 2), (10, 8), (1000, 4), (1000, 16))  # classes, gamma


def probit(p: mpmath.mpf) -> mpmath.mpf:
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


def test_the_least_bounds_are_reached_and_no_more() -> None:
    """Among predictions with xi <= gamma, by bisection in mpmath."""
    for classes, gamma in SETTINGS:
        bound = sharp(classes, gamma)
        with mpmath.workdps(60):
            level = 1 / mpmath.mpf(classes)
            far = mpmath.ncdf(-mpmath.mpf(gamma) / 2)  # q_1 of two classes that share everything
            steepest = max(proposition_slope(far), proposition_slope(level))
            low, high = mpmath.mpf(10) ** -80, level  # of p_2, the rest of the classes level with it
            for _ in range(60):
                middle = mpmath.sqrt(low * high)
                xi = -probit((classes - 1) * middle) - probit(middle)
                low, high = (middle, high) if xi > gamma else (low, middle)
            assert bound[0] == pytest.approx(float(steepest), rel=1e-9), (classes, gamma)
            assert bound[1] == pytest.approx(float(proposition_slope(high)), rel=1e-9), (classes, gamma)
        found = searched(classes, gamma)
        assert 0.9 * bound[0] < found[0] <= bound[0] * (1 + 1e-9), (classes, gamma)
        assert 0.9 * bound[1] < found[1] <= bound[1] * (1 + 1e-9), (classes, gamma)


def proposition_slope(p: mpmath.mpf) -> mpmath.mpf:
    return mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(probit(p) ** 2 / 2)


def test_random_predictions_stay_within_the_bounds() -> None:
    for classes, gamma in SETTINGS:
        rng = np.random.default_rng(classes)
        logits = rng.normal(size=(4000, classes)) * np.geomspace(0.01, 60, 4000)[:, None]
        z = np.exp(logits - logits.max(axis=1, keepdims=True))
        z = -np.sort(-z / z.sum(axis=1, keepdims=True), axis=1)
        by_1, by_2 = derivatives(z[:, 1:].sum(axis=1), z[:, 1], gamma)
        least, proof = sharp(classes, gamma), of_the_proof(classes, gamma)
        assert (by_1 == 0).any() and (by_1 > 0).any(), (classes, gamma)
        assert by_1.max() <= least[0] * (1 + 1e-9) and by_2.max() <= least[1] * (1 + 1e-9), (classes, gamma)
        assert least[0] <= proof[0] * (1 + 1e-9) and least[1] <= proof[1] * (1 + 1e-9), (classes, gamma)
        free, _ = derivatives(z[:, 1:].sum(axis=1), z[:, 1], math.inf)
        assert np.nanmax(free[np.isfinite(free)]) > 1e6 * min(least[0], 1e9), (classes, gamma)  # what the hinge is for


def test_the_loss_that_is_trained_keeps_the_bound() -> None:
    method = methods.create("macer", k=1, gamma=4.0)
    q = torch.logspace(-15, -0.31, 2000, dtype=torch.float64)
    z = torch.stack([1 - q, q], dim=1).requires_grad_()
    method._hinge(z, torch.zeros(len(z), dtype=torch.int64)).sum().backward()  # type: ignore[attr-defined]
    assert z.grad is not None
    bound = sharp(2, 4.0)
    assert 0.99 * bound[0] < z.grad.abs().max().item() <= bound[0] * (1 + 1e-9)
    assert (z.grad[q < 1e-3] == 0).all()


@pytest.mark.slow
def test_the_object(tmp_path: Path) -> None:
    result = reproduce("macer/proposition1", out=tmp_path)
    assert result.made is not None and result.missing == (0, 0)
    assert "within its least bound" in result.made.notes[0] and "at most 7,472" in result.made.notes[1]
    told = pd.read_csv(tmp_path / "macer-proposition1.csv")
    assert len(told) == len(CLASSES) * len(GAMMAS)
    for p in ("p_1", "p_2"):
        assert (told[f"by {p}: largest found"] <= told[f"by {p}: least bound"] * (1 + 1e-9)).all()
        assert (told[f"by {p}: least bound"] <= told[f"by {p}: appendix B"] * (1 + 1e-9)).all()
