"""The rule `upto`: its exact errors, what it foresees, and what giving up by price saves."""

import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds
from randsmooth.bounds.foresight import (
    PRIOR_FAILURES,
    PRIOR_SUCCESSES,
    QUANTILES,
    Waiting,
    give_up_by_price,
)
from randsmooth.noise import Gaussian, Uniform
from randsmooth.rules import Grid, UpTo, make_rule
from randsmooth.rules.upto import PRICE
from randsmooth.testing import walks

NOISE = Gaussian(0.5)


def rule(text: str = "upto=0.75", *, n: int = 2000, alpha: float = 0.05) -> Grid:
    made = make_rule(text, noise=NOISE, n=n, alpha=alpha)
    assert isinstance(made, Grid)
    return made


def test_no_radius_is_claimed_falsely_more_often_than_alpha() -> None:
    """Enumerated, whether one obeys the giving up or not."""
    for n, alpha in ((300, 0.05), (2000, 0.05), (20_000, 0.001)):
        judge = rule(n=n, alpha=alpha)
        errors = [
            bounds.crossing_probability(claim, judge.looks, float(NOISE.tail(r)))
            for claim, r in zip(judge.needed, judge.radii, strict=True)
        ]
        assert 0.9 * alpha < max(errors) <= alpha


def test_control_the_boundary_at_one_success_less_errs_too_often() -> None:
    judge = rule()
    for claim, r in zip(judge.needed, judge.radii, strict=True):
        q = float(NOISE.tail(r))
        assert bounds.crossing_probability(claim - 1, judge.looks, q) > 0.05


def test_the_radii_are_the_steps_up_to_the_last_one() -> None:
    for last, radii in (
        (1.0, (0.0, 0.25, 0.5, 0.75, 1.0)),
        (0.6, (0.0, 0.25, 0.5, 0.6)),
        (0.1, (0.0, 0.1)),
        (0.0, (0.0,)),
    ):
        judge = UpTo(NOISE, 2000, 0.05, last=last)
        assert judge.radii == judge.asked_radii == radii
        assert judge.farthest == last
    # Three times a tenth is more than 0.3 in floating point.
    assert UpTo(Uniform(1.0), 2000, 0.05, last=0.3).radii[-1] == 0.3


def expected_claims(image: Waiting, successes: int) -> np.ndarray:
    """By SciPy's distributions, one threshold and one look after the other."""
    failures = image.n - successes
    posterior = stats.beta(failures + PRIOR_FAILURES, successes + PRIOR_SUCCESSES)
    p = 1.0 - posterior.ppf(QUANTILES)
    claims = np.zeros(len(image.samples))
    for look, samples in enumerate(image.samples):
        for claim in image.claim[:, look]:
            claims[look] += stats.binom.sf(claim - successes - 1, samples, p).mean()
    return claims


def test_an_image_is_given_up_where_no_later_look_is_worth_its_samples() -> None:
    """Derived again by trying each number of successes from the largest down."""
    judge = rule(n=300)
    price = PRICE / 300
    _, give_up = judge._tables
    for k in (0, 3, 6):
        later = [j for j in (k + 1, k + 2, k + 4, k + 8) if j < len(judge.looks) - 1]
        later.append(len(judge.looks) - 1)
        samples = judge.looks[later] - judge.looks[k]
        for r in range(len(judge.radii)):
            claim = judge.needed[r:, later]
            image = Waiting(int(judge.looks[k]), samples, claim, price)
            successes = int(judge.needed[r, k]) - 1
            while successes >= 0:
                if np.all(expected_claims(image, successes) <= price * samples):
                    break
                successes -= 1
            assert give_up[r, k] == successes, (k, r)


def test_a_dearer_sample_gives_up_no_later() -> None:
    judge = rule()
    cheap = give_up_by_price(judge.needed, judge.looks, 0.05 / 2000)
    dear = give_up_by_price(judge.needed, judge.looks, 0.5 / 2000)
    assert np.all(dear >= cheap) and np.any(dear > cheap)
    assert np.all(cheap[:, -1] == judge.looks[-1])
    # A farther radius is given up at no fewer successes.
    assert np.all(np.diff(dear, axis=0) >= 0)


def certified(judge: Grid, q: np.ndarray) -> tuple[float, float]:
    """Return the mean samples, and how many radii up to 0.75 an image is certified at."""
    paths = walks(judge, q, np.random.default_rng(1))
    samples = np.mean([judge.samples(path) for path in paths])
    radius = np.array([judge.claim(path).radius for path in paths])
    q_upper = np.array([judge.claim(path).q for path in paths])
    reached = [np.mean((radius >= r) & (q_upper < 0.5)) for r in (0.0, 0.25, 0.5, 0.75)]
    return float(samples), float(np.sum(reached))


@pytest.mark.slow
def test_it_certifies_more_than_grid_from_fewer_samples() -> None:
    q = np.random.default_rng(0).beta(0.3, 1.0, 1500)
    samples, radii = certified(rule(n=10_000, alpha=0.001), q)
    of_grid = certified(rule("grid", n=5000, alpha=0.001), q)
    assert samples < 0.8 * of_grid[0]
    assert radii > of_grid[1] - 0.02
