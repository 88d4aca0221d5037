"""Whose noise an image gets: its own, the same however it is asked for."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import stats

import randsmooth as rs
from certification.planes import HalfSpace, beside
from randsmooth import SmoothedClassifier
from randsmooth.certification import certify_soft
from randsmooth.certification.scheduler import Job

SIGMA, ALPHA, N0, N = 0.5, 0.05, 51, 60
IMAGES, SEEDS = 300, 20
K = 42  # of N answers claim a radius; the images lie just outside it
DISTANCE = float(rs.noise.Gaussian(SIGMA).radius(rs.bounds.q_upper(K, N, ALPHA))) - 1e-4
P_A = stats.norm.cdf(DISTANCE / SIGMA)
WRONG = float(
    stats.binom.sf(K - 1, N, P_A) * stats.binom.sf(N0 // 2, N0, P_A)
)  # P(a radius above DISTANCE)


def false_claims(images: torch.Tensor) -> np.ndarray:
    """(SEEDS,) how many of these images, certified in a call each, get a radius beyond their distance."""
    totals = []
    for seed in range(SEEDS):
        smoothed = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, seed=seed)
        radii = [smoothed.certify(x, n0=N0, n=N, alpha=ALPHA).radius[0] for x in images]
        totals.append(sum(radius > DISTANCE for radius in radii))
    return np.array(totals)


@pytest.fixture(scope="module")
def totals() -> np.ndarray:
    return false_claims(beside(DISTANCE, IMAGES))


def chance_of_spread(totals: np.ndarray) -> float:
    """P(chi^2 at least as large) of draws of Bin(IMAGES, WRONG): next to 0 where errors come together."""
    expected = IMAGES * WRONG
    return float(
        stats.chi2.sf(
            np.sum((totals - expected) ** 2) / (expected * (1 - WRONG)), SEEDS
        )
    )


@pytest.mark.slow
def test_false_claims_of_a_loop_are_no_more_than_chance(totals: np.ndarray) -> None:
    assert 0.8 * ALPHA < WRONG < ALPHA
    assert stats.binom.sf(totals.sum() - 1, SEEDS * IMAGES, ALPHA) > 1e-3
    assert stats.binomtest(int(totals.sum()), SEEDS * IMAGES, WRONG).pvalue > 1e-3
    assert chance_of_spread(totals) > 1e-3
    assert max(totals) <= stats.binom.isf(1e-4, IMAGES, ALPHA)


def test_with_one_address_for_all_errors_would_come_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The control: as if every call numbered its only image 0."""
    monkeypatch.setattr(Job, "__post_init__", lambda job: setattr(job, "address", 0))
    few = 10
    shared = false_claims(beside(DISTANCE, few))
    assert set(shared.tolist()) <= {0, few}  # all or none
    assert chance_of_spread(shared * (IMAGES // few)) < 1e-12


Ask = Callable[[SmoothedClassifier, torch.Tensor], np.ndarray]
ASKS: dict[str, Ask] = {
    "certify": lambda s, x: s.certify(x, n=500).counts,
    "select": lambda s, x: s.certify(x, n=500).counts0,
    "randomised": lambda s, x: s.certify(x, n=500, bound="randomised").radius[:, None],
    "grid": lambda s, x: s.certify(x, n=2000, rule="grid").counts,
    "predict": lambda s, x: s.predict(x, n=30, alpha=0.5)[:, None],
    "soft": lambda s, x: certify_soft(s, x, n=500, betas=(2.0,)).mean[0],
}


def test_a_loop_a_batch_another_order_and_another_start_agree() -> None:
    images, order = beside(0.1, 24), np.random.default_rng(0).permutation(24)
    smoothed, other = (
        SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, seed=seed)
        for seed in (3, 4)
    )
    for ask, answer in ASKS.items():
        batch = answer(smoothed, images)
        assert np.array_equal(
            np.concatenate([answer(smoothed, x) for x in images]), batch
        ), ask
        assert np.array_equal(answer(smoothed, images[order]), batch[order]), ask
        assert np.array_equal(answer(smoothed, images[7:]), batch[7:]), ask
        assert not np.array_equal(answer(other, images), batch), ask


def test_equal_images_share_their_certificate_and_others_share_no_noise() -> None:
    images = beside(0.1, 400)
    counts = (
        SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, seed=0)
        .certify(images, n=400)
        .counts[:, 1]
    )
    p = stats.norm.cdf(0.1 / SIGMA)
    statistic = np.sum((counts - 400 * p) ** 2) / (400 * p * (1 - p))
    assert (
        1e-3 < stats.chi2.sf(statistic, len(images)) < 1 - 1e-3
    )  # as spread as independent draws
    after = stats.pearsonr(counts[:-1], counts[1:])
    assert after.pvalue > 1e-3
    twice = SmoothedClassifier(HalfSpace().eval(), sigma=SIGMA, seed=0).certify(
        images[[5, 9, 5]], n=400
    )
    assert (
        np.array_equal(twice.counts[0], twice.counts[2])
        and twice.radius[0] == twice.radius[2]
    )
    assert not np.array_equal(twice.counts[0], twice.counts[1])
