"""Clopper-Pearson at several looks by a union bound: levels, values and coverage."""

import numpy as np
import pytest

from bounds.paths import error_of, naive_claim, successes
from randsmooth.bounds.binomial import q_upper
from randsmooth.bounds.boundaries import crossing_probability
from randsmooth.bounds.look_times import looks
from randsmooth.bounds.union import union_levels, union_q_upper
from randsmooth.errors import InputError


@pytest.mark.parametrize("K", [1, 2, 3, 71])
def test_levels_share_alpha(K: int) -> None:
    levels = union_levels(K, 0.001)
    assert levels.shape == (K,) and levels.sum() == pytest.approx(0.001, rel=1e-12)
    assert levels[-1] == (0.001 if K == 1 else 0.0005)
    assert np.all(levels[:-1] == levels[0])


def test_one_look_is_clopper_pearson() -> None:
    s = np.arange(101)
    np.testing.assert_array_equal(union_q_upper(s[:, None], [100], 0.05), q_upper(s, 100, 0.05))


@pytest.mark.parametrize("k", [1, 2, 7, 22, 23])
def test_the_bound_is_the_best_of_the_looks_made(k: int) -> None:
    n, alpha = looks(1_000), 0.05
    s = successes(n, 0.1, seed=3, paths=5)[:, :k]
    levels = union_levels(n.size, alpha)
    by_hand = [[float(q_upper(s[i, j], n[j], levels[j])) for j in range(k)] for i in range(5)]
    tail = union_q_upper(s, n, alpha)
    assert tail.shape == (5,)
    np.testing.assert_allclose(tail, np.min(by_hand, axis=1), rtol=1e-15)
    assert union_q_upper(s[2], n, alpha) == tail[2]


def test_more_looks_never_loosen_it() -> None:
    n = looks(5_000, ratio=1.5)
    s = successes(n, 0.02, seed=4, paths=50)
    tails = np.stack([union_q_upper(s[:, :k], n, 0.001) for k in range(1, n.size + 1)])
    assert np.all(np.diff(tails, axis=0) <= 0) and np.all(tails[-1] < tails[0])


@pytest.mark.parametrize("q", [0.5, 0.16])
def test_coverage_over_all_looks(q: float) -> None:
    n, alpha = looks(10_000, ratio=1.25), 0.05
    s = successes(n, q, seed=5)
    rate = np.mean(union_q_upper(s, n, alpha) < q)
    assert 0.5 * alpha < rate < alpha
    # The same, exactly, from the smallest successes that bound q at each look.
    claim = np.array([naive_claim(m, q, level) for m, level in zip(n, union_levels(n.size, alpha), strict=True)])
    level = crossing_probability(claim, n, q)
    assert abs(rate - level) < error_of(level)
    assert np.mean((s >= naive_claim(n, q, alpha)).any(axis=1)) > 3.0 * alpha  # the control: every look at alpha


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: union_levels(0, 0.05), "K=0"),
        (lambda: union_levels(2.0, 0.05), "K=2.0"),  # type: ignore[arg-type]
        (lambda: union_levels(2, 0.0), "alpha=0.0"),
        (lambda: union_q_upper([1], [4, 8], 1.0), "alpha=1.0"),
        (lambda: union_q_upper(3, [4, 8], 0.05), "shape \\(\\)"),
        (lambda: union_q_upper([], [4, 8], 0.05), "shape \\(0,\\)"),
        (lambda: union_q_upper([1, 2, 3], [4, 8], 0.05), "shape \\(3,\\)"),
        (lambda: union_q_upper([5], [4, 8], 0.05), "successes must count"),
        (lambda: union_q_upper([3, 2], [4, 8], 0.05), "successes must count"),
        (lambda: union_q_upper([1, 6], [4, 8], 0.05), "successes must count"),
        (lambda: union_q_upper([1], [8, 4], 0.05), "looks must"),
    ],
)
def test_bad_input_is_named(call, named: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=named):
        call()
