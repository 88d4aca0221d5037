"""Certified accuracy with high probability: SciPy's binomial, Bernstein's looser form, coverage, and a known slip."""

import itertools
import math

import numpy as np
from scipy import stats

from randsmooth.bounds.finite_populations import assured_accuracy, most_failures

GRID = list(itertools.product([1, 10, 500, 10_000], [1e-6, 0.001, 0.05, 0.5], [1e-9, 0.001, 0.05, 0.5]))
PATHS = 20_000


def test_failures_are_scipys_quantile_and_no_smaller_number_will_do() -> None:
    for m, alpha, rho in GRID:
        w = most_failures(m, alpha, rho)
        assert stats.binom.sf(w, m, alpha) <= rho, (m, alpha, rho)
        assert w == 0 or stats.binom.sf(w - 1, m, alpha) > rho, (m, alpha, rho)
        assert w == stats.binom.isf(rho, m, alpha), (m, alpha, rho)


def test_the_share_is_overstated_no_more_often_than_rho() -> None:
    for equal in [True, False]:
        for m, alpha, rho in [(500, 0.05, 0.05), (500, 0.001, 0.05), (50, 0.3, 0.01)]:
            rng = np.random.default_rng(1)
            risks = np.full(m, alpha) if equal else rng.uniform(0.0, alpha, m)
            truly = m // 2
            wrong = np.zeros(PATHS, int)
            for risk in risks:  # every certificate that fails is counted as right
                wrong += rng.random(PATHS) < risk
            over = assured_accuracy(np.minimum(m, truly + wrong), m, alpha, rho) > truly / m
            assert over.mean() <= rho + 3.0 * math.sqrt(rho * (1.0 - rho) / PATHS), (equal, m, alpha, rho)
            if equal and alpha > 0.01:
                assert over.mean() > rho / 4.0, (equal, m, alpha, rho)  # not vacuous
            if equal:
                assert np.mean(wrong > 0) > 2.0 * rho, (equal, m, alpha, rho)  # control: the share as printed


def test_control_bernsteins_bound_without_its_factor_2_fails_too_often() -> None:
    m, alpha, rho = 10_000, 0.05, 0.001
    lost = m * alpha + math.sqrt(m * alpha * (1.0 - alpha) * -math.log(rho)) - math.log(rho) / 3.0
    assert stats.binom.sf(math.floor(lost), m, alpha) > 2.0 * rho
    assert stats.binom.sf(most_failures(m, alpha, rho), m, alpha) <= rho
