"""Bounds and boundaries for any class: exact error rates of all together, and plain ones as controls."""

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from models.refusing import check_refusals
from randsmooth import bounds
from randsmooth.bounds import any_class_boundary, boundary, crossing_probability, looks
from randsmooth.bounds.binomial import Ints
from randsmooth.bounds.boundaries import SHARE_OF_OTHER_CLASSES, _grows
from randsmooth.errors import BadValue
from randsmooth.noise import Gaussian
from randsmooth.rules import make_rule
from values import Refusal


def tail(r: float) -> float:
    """q0 of a radius of `r` sigma."""
    return float(special.ndtr(-r))


def falsely_crossed(claim: Ints, n: Ints, p: tuple[float, ...], p0: float) -> float:
    """P(some class of probability <= p0 crosses at some look), by following the counts of all classes together."""
    false = [k for k, share in enumerate(p) if share <= p0]
    alive: dict[tuple[int, ...], float] = {(0,) * len(p): 1.0}
    crossed = 0.0
    for c, m in zip(claim.tolist(), np.diff(n, prepend=0).tolist(), strict=True):
        steps = [x for x in product(range(m + 1), repeat=len(p) - 1) if sum(x) <= m]
        drawn = {
            (*x, m - sum(x)): float(stats.multinomial.pmf((*x, m - sum(x)), m, p))
            for x in steps
        }
        after: dict[tuple[int, ...], float] = {}
        for counts, mass in alive.items():
            for more, chance in drawn.items():
                now = tuple(a + b for a, b in zip(counts, more, strict=True))
                after[now] = after.get(now, 0.0) + mass * chance
        crossed += sum(
            mass for counts, mass in after.items() if max(counts[k] for k in false) >= c
        )
        alive = {
            counts: mass
            for counts, mass in after.items()
            if max(counts[k] for k in false) < c
        }
    return crossed


SMALL = np.array([6, 12, 18])


def test_all_classes_together_cross_falsely_no_more_often_than_two_at_p0_and_q0() -> (
    None
):
    """The theorem, whether or not its price is affordable: at the boundary of full alpha."""
    for q0, alpha in [(0.35, 0.2), (0.3, 0.1), (0.2, 0.3)]:
        p0, claim = 1.0 - q0, boundary(q0, SMALL, alpha).claim
        assert _grows(claim, SMALL, q0), (q0, alpha)
        worst = crossing_probability(claim, SMALL, q0) + crossing_probability(
            claim, SMALL, p0
        )
        two = [(p, 1.0 - p) for p in np.linspace(0.5, p0, 8)] + [(0.9, 0.1)]
        three = [
            (1 / 3, 1 / 3, 1 / 3),
            (0.5, 0.25, 0.25),
            (p0, q0 / 2, q0 / 2),
            (0.45, 0.45, 0.1),
        ]
        found = [falsely_crossed(claim, SMALL, p, p0) for p in (*two, *three)]
        assert max(found) <= worst * (1.0 + 1e-9), (q0, alpha)
        assert falsely_crossed(claim, SMALL, (p0, q0), p0) > 0.95 * worst, (
            q0,
            alpha,
        )  # which it nearly reaches


def test_the_level_is_kept_and_used_at_every_radius() -> None:
    for cap in [1_000, 100_000]:
        for r in [0.15, 0.25, 0.5, 1.0, 2.0]:
            for alpha in [0.05, 0.001]:
                n, q0 = looks(cap), tail(r)
                table = any_class_boundary(q0, n, alpha)
                claim = table.claim
                assert np.all(table.give_up < claim) and table.alpha == pytest.approx(
                    (1.0 - SHARE_OF_OTHER_CLASSES) * alpha
                )
                level = crossing_probability(claim, n, q0) + crossing_probability(
                    claim, n, 1.0 - q0
                )
                assert level <= alpha, (cap, r, alpha)
                assert (
                    level > (0.95 if cap * q0 * (1.0 - q0) > 1600 else 0.4) * alpha
                ), (cap, r, alpha)


def test_from_which_radius_on_no_samples_need_pick_the_class() -> None:
    for n, refused, taken in [(1_000, 0.070, 0.071), (100_000, 0.023, 0.0235)]:
        facts: dict[str, Any] = {
            "noise": Gaussian(1.0),
            "n": n,
            "alpha": 0.001,
            "bound": "any-class",
        }
        check_refusals(
            [
                (
                    partial(make_rule, f"radius={refused}", **facts),
                    Refusal(BadValue, f"radius={refused:g}", field="radius"),
                )
            ]
        )
        assert make_rule(f"radius={taken}", **facts).n == n, (n, refused, taken)


def test_control_at_radius_0_the_boundary_of_one_class_errs_twice_as_often() -> None:
    claim = boundary(0.5, SMALL, 0.1).claim
    assert falsely_crossed(claim, SMALL, (0.5, 0.5), 0.5) > 1.5 * crossing_probability(
        claim, SMALL, 0.5
    )


def test_simulated_classes_cross_falsely_no_more_often_than_alpha() -> None:
    """At the worst p: the top class a hair below p0, all others far below."""
    for p in [(0.6, 0.4), (0.6, 0.2, 0.2), (0.6, *[0.04] * 10)]:
        n, alpha, paths = looks(2_000), 0.05, 20_000
        claim = any_class_boundary(0.4 - 1e-9, n, alpha).claim
        crossed = _most_frequent(p, n, paths) >= claim
        assert (
            0.8 * alpha
            < crossed.any(axis=1).mean()
            < alpha + 4.0 * np.sqrt(alpha * (1.0 - alpha) / paths)
        ), p


def _most_frequent(p: tuple[float, ...], n: Ints, paths: int) -> NDArray[np.int64]:
    """(paths, looks) how often the most frequent class had come out."""
    rng, counts = np.random.default_rng(1), np.zeros((paths, len(p)), np.int64)
    most = []
    for drawn in np.diff(n, prepend=0).tolist():
        counts = counts + rng.multinomial(drawn, p, size=paths)
        most.append(counts.max(axis=1))
    return np.stack(most, axis=1)


def test_claims_that_the_proof_does_not_cover_are_found() -> None:
    n = np.array([10, 20])
    assert _grows(np.array([11, 20]), n, 0.4)  # a look that cannot claim is no matter
    assert not _grows(
        np.array([5, 20]), n, 0.4
    )  # half of the samples: two classes may cross at once
    assert not _grows(
        np.array([52]), np.array([100]), 0.49
    )  # two of 1/2 may cross more often than p0 and q0
    assert (60 - 30) / (60 - 70) <= (0.7 / 0.3) ** (
        2 * 60 - 100
    )  # c = 60 < n p0 = 70: so the inequality holds
    p = np.array([0.6, 0.7])
    assert (
        np.diff(p**60 * (1 - p) ** 40 + (1 - p) ** 60 * p**40)[0] < 0
    )  # and yet the sum falls
    assert not _grows(np.array([60]), np.array([100]), 0.3)


Floats = NDArray[np.float64]


def falsely_claimed(q_of: Floats, p: Floats) -> float:
    """Sum over the classes of P(the class is claimed, at more than its probability); q_of[k] for k successes."""
    n = len(q_of) - 1
    claimed = (q_of < 0.5)[:, None] & (1.0 - q_of[:, None] > p[None])
    return float(
        (claimed * stats.binom.pmf(np.arange(n + 1)[:, None], n, p[None])).sum()
    )


def test_all_classes_together_are_claimed_falsely_with_probability_alpha_at_most() -> (
    None
):
    for alpha in [0.3, 0.1, 0.01]:
        for n in [7, 12, 25, 100, 1000]:
            rng, q = (
                np.random.default_rng(n),
                bounds.any_class_q_upper(np.arange(n + 1), n, alpha),
            )
            worst = [
                np.array([0.5, 0.5]),
                np.array([0.5, 0.25, 0.25]),
                np.array([0.51, 0.49]),
                np.full(10, 0.1),
            ]
            drawn = [
                rng.dirichlet(np.full(K, c))
                for K in (2, 3, 5, 10)
                for c in (0.2, 1.0, 5.0)
                for _ in range(30)
            ]
            one_big = [np.array([p, 1.0 - p]) for p in np.linspace(0.5, 1.0, 101)]
            assert max(
                falsely_claimed(q, p) for p in (*worst, *drawn, *one_big)
            ) <= alpha * (1.0 + 1e-12), (alpha, n)


def test_the_plain_bound_fails_where_the_same_samples_pick_the_class() -> None:
    n, alpha, half = 1000, 0.1, np.array([0.5, 0.5])
    plain, halved = (
        tail(np.arange(n + 1), n, alpha)
        for tail in (bounds.q_upper, bounds.any_class_q_upper)
    )
    assert (
        falsely_claimed(plain, half) > 1.8 * alpha
    )  # nearly twice as often as it should
    assert (
        0.8 * alpha < falsely_claimed(halved, half) <= alpha
    )  # and no less than half of alpha would do


def test_it_is_clopper_pearson_at_half_alpha_where_it_claims_anything() -> None:
    k = np.arange(101)
    q, plain = bounds.any_class_q_upper(k, 100, 0.02), bounds.q_upper(k, 100, 0.01)
    assert np.array_equal(q[plain < 0.5], plain[plain < 0.5])
    assert set(q[plain >= 0.5]) == {1.0}
