"""The rule `dense`: its exact errors, why they are kept, and what its samples buy."""

import numpy as np
import pytest
from scipy import stats

from randsmooth import bounds
from randsmooth.noise import Gaussian
from randsmooth.rules import Dense, Rule, make_rule
from randsmooth.testing import evidence_of, walks

SIGMA, N, ALPHA = 0.5, 2000, 0.05


def rule(price: float = 1.0, *, n: int = N, alpha: float = ALPHA) -> Dense:
    made = make_rule(f"dense={price}", noise=Gaussian(SIGMA), n=n, alpha=alpha)
    assert isinstance(made, Dense)
    return made


def exact_error(judge: Dense, i: int) -> float:
    """P(radius i or more is claimed) where the true radius is just below it, by following all paths until they stop."""
    q = float(Gaussian(SIGMA).tail(judge.radii[i]))
    drawn, wrong, density = 0, 0.0, np.ones(1)
    for k, look in enumerate(judge.looks):
        step = stats.binom.pmf(np.arange(look - drawn + 1), look - drawn, 1.0 - q)
        density = np.convolve(density, step)
        successes, drawn = np.arange(density.size), int(look)
        crosses = successes >= judge.needed[i, k]
        wrong += density[crosses].sum()
        density = np.where(crosses | (successes <= judge.enough[k]), 0.0, density)
    assert density.sum() == 0.0
    return float(wrong)


def test_no_radius_is_claimed_falsely_more_often_than_alpha() -> None:
    for alpha in (0.05, 0.001):
        judge = rule(n=1000, alpha=alpha)
        errors = [exact_error(judge, i) for i in range(0, len(judge.radii), 30)]
        assert (
            0.4 * alpha < max(errors) <= alpha
        )  # stopping as it does, it never comes to the rest


@pytest.mark.slow
def test_every_radius_of_a_usual_run_keeps_its_level() -> None:
    for price in [0.25, 1.0]:
        judge = rule(price, n=20_000, alpha=0.001)
        for i, claim in enumerate(judge.needed):
            assert (
                bounds.crossing_probability(
                    claim, judge.looks, judge._q0(judge.radii[i])
                )
                <= 0.001
            ), price


def wrong_share(judge: Rule, r: float, paths: list[tuple[int, ...]]) -> float:
    q, radius = judge.claims(evidence_of(judge, paths))
    return float(np.mean((q < 0.5) & (radius >= r)))


def test_simulated_errors_are_those_that_were_computed() -> None:
    judge = rule(n=1000)
    for i in (0, 40, 120):
        q = np.full(4000, float(Gaussian(SIGMA).tail(judge.radii[i])) + 1e-9)
        share = wrong_share(
            judge, judge.radii[i], walks(judge, q, np.random.default_rng(i))
        )
        assert share == pytest.approx(
            exact_error(judge, i), abs=4.0 * np.sqrt(ALPHA / 4000)
        ), i


def test_control_radii_claimed_from_the_largest_on_err_too_often() -> None:
    """Not smallest first: each image claims the radius nearest to its proportion of successes, wherever that lies.

    Thresholds chosen by the samples are no fixed sequence; without the boundary of that radius, chance alone claims.
    """
    judge = rule(n=1000)
    r = judge.radii[40]
    q = np.full(4000, float(Gaussian(SIGMA).tail(r)) + 1e-9)
    paths = walks(judge, q, np.random.default_rng(5))
    share = np.mean(
        [Gaussian(SIGMA).radius(1.0 - p[-1] / judge.samples(p)) >= r for p in paths]
    )
    assert share > 4 * ALPHA > wrong_share(judge, r, paths)


def test_control_plain_bounds_at_the_look_where_one_stops_err_too_often() -> None:
    """Best of all looks by Clopper-Pearson at the full alpha: peeking without paying."""
    judge = rule(n=1000)
    r = judge.radii[60]
    q0 = float(Gaussian(SIGMA).tail(r))
    paths = walks(judge, np.full(4000, q0 + 1e-9), np.random.default_rng(6))
    best = [bounds.q_upper(p, judge.looks[: len(p)], ALPHA).min() <= q0 for p in paths]
    assert np.mean(best) > 1.5 * ALPHA > wrong_share(judge, r, paths)


def test_it_stops_where_no_later_look_is_worth_its_samples() -> None:
    """Derived again, look by look, with SciPy's Beta quantile."""
    judge = rule(0.25, n=5000)

    def radius(n: float, q: float) -> float:
        upper = stats.beta.isf(ALPHA, n * q + 1.0, n * (1.0 - q))
        return float(-stats.norm.ppf(min(0.5, upper)))

    for k in range(0, len(judge.looks) - 1, 5):
        n = int(judge.looks[k])
        for successes, ends in ((judge.enough[k], True), (judge.enough[k] + 1, False)):
            if not 0 <= successes <= n:
                continue
            q = (n - successes + 0.5) / (n + 1.0)
            q = max(0.0, q - (3.0 if n < 2000 else 0.75) * np.sqrt(q * (1.0 - q) / n))
            worth = [radius(m, q) - 0.25 * m / 5000 for m in judge.looks]
            assert (int(np.argmax(worth)) <= k) == ends


def test_harder_images_are_not_drawn_on_longer_and_a_higher_price_draws_fewer() -> None:
    cheap, dear = rule(0.25), rule(1.0)
    assert np.all(np.diff(dear.enough) >= 0) and np.all(dear.enough >= cheap.enough)
    q = np.random.default_rng(0).beta(0.3, 1.5, 300)
    drawn = [
        np.mean([r.samples(p) for p in walks(r, q, np.random.default_rng(1))])
        for r in (cheap, dear)
    ]
    assert drawn[1] < 0.8 * drawn[0] < 0.8 * N
