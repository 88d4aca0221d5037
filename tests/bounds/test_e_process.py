"""The e-process of the truncated uniform prior: against integration, its inversion, and coverage at every sample."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from bounds.paths import naive_claim, successes
from randsmooth.bounds.anytime import anytime_q_upper, log_e
from randsmooth.bounds.binomial import q_upper


def log_e_by_integration(s: int, n: int, q0: float) -> float:
    """ln of the mean likelihood ratio over p in (p0, 1), as its definition says, scaled by its greatest value."""

    def log_ratio(x: float) -> float:  # x = 1 - p
        return float(special.xlogy(n - s, x / q0) + s * (math.log1p(-x) - math.log1p(-q0)))

    best = min((n - s) / n, q0)
    top, width = log_ratio(best), math.sqrt(max(best, 1.0 / n) * (1.0 - best) / n)
    points = sorted({x for z in (-30, -8, -2, -0.3, -0.03, 0, 2, 8, 30) if 0.0 < (x := best + z * width) < q0})
    area, _ = integrate.quad(lambda x: math.exp(log_ratio(x) - top), 0.0, q0, points=points, limit=500, epsrel=1e-11)
    return top + math.log(area / q0)


CASES = [
    (n - f, n, q0)
    for n in (1, 7, 100, 5_000, 1_000_000)
    for q0 in (0.9, 0.5, 0.16, 1e-3, 1e-6)
    for f in sorted({min(n, max(0, int(n * q0 + z * math.sqrt(n * q0)))) for z in (-1e9, -6, -1, 0, 1, 6, 45)})
]


def test_log_e_is_the_mean_likelihood_ratio() -> None:
    for s, n, q0 in CASES:
        expected = log_e_by_integration(s, n, q0)
        assert log_e(s, n, q0) == pytest.approx(expected, rel=1e-8, abs=1e-8), (s, n, q0)


def test_end_points_are_exact() -> None:
    for n in [1, 10, 100_000, 10_000_000]:
        for q0 in [0.5, 0.1, 1e-3, 1e-6]:
            # Only successes: the integral of (p / p0)^n. Only failures: of ((1 - p) / q0)^n, which is 1 / (n + 1).
            power = (n + 1) * math.log1p(-q0)
            only = math.log(-math.expm1(power)) - power + math.log1p(-q0) - math.log((n + 1) * q0)
            assert log_e(n, n, q0) == pytest.approx(only, rel=1e-9, abs=1e-7), (n, q0)
            assert log_e(0, n, q0) == pytest.approx(-math.log(n + 1), rel=1e-12), (n, q0)
            assert anytime_q_upper(0, n, 0.001) == 1.0, (n, q0)


def test_the_tail_is_where_the_evidence_reaches_its_threshold() -> None:
    for n in [1, 30, 1_000, 100_000, 10_000_000]:
        for alpha in [0.9, 0.3, 0.05, 0.001, 1e-9]:
            s = np.unique(np.linspace(0, n, 12).astype(int))
            q = anytime_q_upper(s, n, alpha)
            assert np.all(np.diff(q) <= 0), (n, alpha)
            inside = q < 1.0 - 1e-9
            assert np.all(log_e(s[inside], n, q[inside]) >= -math.log(alpha)), (n, alpha)  # sound
            assert np.all(log_e(s[inside], n, q[inside] * (1.0 - 1e-4)) < -math.log(alpha)), (n, alpha)  # and tight
            assert q[0] == 1.0 and q[-1] < 1.0, (n, alpha)
            assert np.all(q[s > 0] >= q_upper(s[s > 0], n, alpha)), (n, alpha)  # the price of any n


@pytest.mark.parametrize("q0", [pytest.param(0.5, marks=pytest.mark.slow), 0.16])
def test_coverage_at_any_number_of_samples(q0: float) -> None:
    alpha = 0.05
    n = np.concatenate([np.arange(1, 100), np.geomspace(100, 10_000, 50).astype(int)])
    s = successes(n, q0, seed=6)
    rate = np.mean((log_e(s, n, q0) >= -math.log(alpha)).any(axis=1))
    assert 0.5 * alpha < rate < alpha
    naive = np.mean((s >= naive_claim(n, q0, alpha)).any(axis=1))
    assert naive > 5.0 * alpha  # the control
