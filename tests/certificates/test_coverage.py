"""CERTIFY errs no more often than alpha allows; rules that reuse samples, or peek, do."""

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from randsmooth import bounds
from randsmooth.certificates import ABSTAIN, decide
from randsmooth.noise import Gaussian
from randsmooth.rules import Evidence, make_rule

ALPHA, SIGMA, PATHS = 0.05, 0.5, 20_000
ALLOWED = ALPHA + 3.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / PATHS)


def draw(p: NDArray[np.float64], n: int, seed: int) -> NDArray[np.int64]:
    """(PATHS, K) class counts of n samples."""
    return np.asarray(np.random.default_rng(seed).multinomial(n, p, size=PATHS), np.int64)


def true_radius(p: NDArray[np.float64], classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Radius that each class may truly claim; negative without a majority."""
    return np.asarray(SIGMA * stats.norm.ppf(p[classes]))


def judged(counts0: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    rule = make_rule("fixed", noise=Gaussian(SIGMA), n=int(counts[0].sum()), alpha=ALPHA)
    return decide(rule, Evidence.of(counts0, counts))


def two_classes(p_a: float) -> NDArray[np.float64]:
    return np.array([p_a, 1.0 - p_a])


def test_certificates_fail_no_more_often_than_alpha() -> None:
    for p_a in (0.5, 0.51, 0.55, 0.7, 0.9, 0.99, 0.999):
        p = two_classes(p_a)
        predict, radius = judged(draw(p, 20, seed=1), draw(p, 500, seed=2))
        claimed = predict != ABSTAIN
        wrong = claimed & (radius > true_radius(p, np.where(claimed, predict, 0)))
        assert wrong.mean() <= ALLOWED, p_a
        assert not 0.55 < p_a < 0.99 or wrong.mean() > ALPHA / 3, p_a  # the bound is used up, not vacuous


def test_many_near_equal_classes_are_covered_too() -> None:
    p = np.full(20, 0.05)
    predict, radius = judged(draw(p, 20, seed=3), draw(p, 40, seed=4))
    assert np.mean((predict != ABSTAIN) & (radius > true_radius(p, np.maximum(predict, 0)))) <= ALLOWED


def test_control_picking_and_bounding_with_the_same_counts_fails_too_often() -> None:
    p = two_classes(0.5)
    counts = draw(p, 500, seed=5)
    predict, _ = judged(counts, counts)
    assert np.mean(predict != ABSTAIN) > ALLOWED  # nothing may be certified at p_A = 1/2


def test_control_the_largest_of_many_classes_breaks_its_own_bound() -> None:
    p = np.full(20, 0.05)
    counts = draw(p, 500, seed=6)
    reused = bounds.lower(counts.max(axis=1), 500, ALPHA) > 0.05
    fresh = bounds.lower(counts[:, 0], 500, ALPHA) > 0.05
    assert fresh.mean() <= ALLOWED < reused.mean()


def test_control_peeking_until_it_certifies_fails_too_often() -> None:
    rng = np.random.default_rng(7)
    successes = np.cumsum(rng.binomial(50, 0.5, size=(PATHS, 10)), axis=1)
    looks = bounds.lower(successes, 50 * np.arange(1, 11), ALPHA) > 0.5
    assert looks[:, -1].mean() <= ALLOWED < looks.any(axis=1).mean()
