"""The bound for a class that the same samples picked: exact error rates, and the plain bound as a control."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from randsmooth import bounds

Floats = NDArray[np.float64]


def falsely_claimed(q_of: Floats, p: Floats) -> float:
    """Sum over the classes of P(the class is claimed, at more than its probability); q_of[k] for k successes."""
    n = len(q_of) - 1
    claimed = (q_of < 0.5)[:, None] & (1.0 - q_of[:, None] > p[None])
    return float((claimed * stats.binom.pmf(np.arange(n + 1)[:, None], n, p[None])).sum())


def test_all_classes_together_are_claimed_falsely_with_probability_alpha_at_most() -> None:
    for alpha in [0.3, 0.1, 0.01]:
        for n in [7, 12, 25, 100, 1000]:
            rng, q = np.random.default_rng(n), bounds.any_class_q_upper(np.arange(n + 1), n, alpha)
            worst = [np.array([0.5, 0.5]), np.array([0.5, 0.25, 0.25]), np.array([0.51, 0.49]), np.full(10, 0.1)]
            drawn = [rng.dirichlet(np.full(K, c)) for K in (2, 3, 5, 10) for c in (0.2, 1.0, 5.0) for _ in range(30)]
            one_big = [np.array([p, 1.0 - p]) for p in np.linspace(0.5, 1.0, 101)]
            assert max(falsely_claimed(q, p) for p in (*worst, *drawn, *one_big)) <= alpha * (1.0 + 1e-12), (alpha, n)


def test_the_plain_bound_fails_where_the_same_samples_pick_the_class() -> None:
    n, alpha, half = 1000, 0.1, np.array([0.5, 0.5])
    plain, halved = (tail(np.arange(n + 1), n, alpha) for tail in (bounds.q_upper, bounds.any_class_q_upper))
    assert falsely_claimed(plain, half) > 1.8 * alpha  # nearly twice as often as it should
    assert 0.8 * alpha < falsely_claimed(halved, half) <= alpha  # and no less than half of alpha would do


def test_it_is_clopper_pearson_at_half_alpha_where_it_claims_anything() -> None:
    k = np.arange(101)
    q, plain = bounds.any_class_q_upper(k, 100, 0.02), bounds.q_upper(k, 100, 0.01)
    assert np.array_equal(q[plain < 0.5], plain[plain < 0.5])
    assert set(q[plain >= 0.5]) == {1.0}
