"""Rules: the contract that all keep, how often they err, controls that err too often, and what they refuse."""

import re

import numpy as np
import pytest
from scipy import stats

from certificates.walks import RULES, SEQUENTIAL
from randsmooth import bounds, testing
from randsmooth.certificates import decide
from randsmooth.errors import Problem
from randsmooth.noise import Gaussian
from randsmooth.rules import CONFIDENCE_BOUNDS, Evidence, Grid, Rule, make_rule
from randsmooth.rules import RULES as NAMED
from randsmooth.testing import evidence_of, walks

SIGMA, N, ALPHA, PATHS = 0.5, 2000, 0.05, 20_000
NOISE = Gaussian(SIGMA)
FEW = 2500  # paths of rules that are far from erring so often, and slow to walk


def allowed(paths: int) -> float:
    return ALPHA + 3.0 * float(np.sqrt(ALPHA * (1.0 - ALPHA) / paths))


ALLOWED = allowed(PATHS)


def rule(
    text: str, *, n: int = N, alpha: float = ALPHA, bound: str = "clopper-pearson"
) -> Rule:
    return make_rule(text, noise=NOISE, n=n, alpha=alpha, bound=bound)


def refused(text: str, **facts: object) -> str:
    """Why the rule is refused."""
    with pytest.raises(Problem) as error:
        rule(text, **facts)  # type: ignore[arg-type]
    return str(error.value)


def tail(r: float) -> float:
    """The failure probability at which the true radius is `r`."""
    return float(NOISE.tail(r))


def test_every_rule_of_ours_keeps_the_contract_that_others_run_on_theirs() -> None:
    ours = {name for name in NAMED if NAMED.source(name) == "randsmooth"}
    assert {text.partition("=")[0] for text in RULES} == ours - {
        "exact"
    }  # which has no samples: see test_noises
    assert {text for text in RULES if rule(text).sequential} == set(SEQUENTIAL)
    for text in RULES:
        testing.check_rule(text, n=120 if text.startswith("anytime") else 250)
    testing.check_rule(rule("radius=0.25", n=500, bound="any-class"))


def test_a_path_that_nobody_can_walk_has_no_samples() -> None:
    for text in SEQUENTIAL:
        judge = rule(text)
        for path in ([(judge.next_look([]) or 0) + 1], [20, 10], [-1]):
            assert judge.samples(path) == 0, (text, path)


EXACT = [
    ("radius=0", 0.0),
    ("radius=0.5", 0.5),
    ("grid", 0.25),
    ("grid", 0.5),
    ("fixed", 0.4),
]
CAUTIOUS = [
    ("screen=0.5", 0.5),
    ("upto=0.5", 0.5),
    ("dense=1", 0.25),
    ("anytime", 0.3),
    ("anytime=0.3", 0.3),
]


@pytest.mark.parametrize("share", [0.25, pytest.param(1.0, marks=pytest.mark.slow)])
def test_rules_err_no_more_often_than_alpha(share: float) -> None:
    """Where the true radius is a hair below `r`, so that claiming it is an error."""
    for text, r in EXACT + CAUTIOUS:
        judge = rule(text, n=N if text == "fixed" else 300)
        walked = int(share * (PATHS if (text, r) in EXACT else FEW))
        paths = walks(judge, np.full(walked, tail(r) + 1e-9), np.random.default_rng(11))
        q, radius = judge.claims(evidence_of(judge, paths))
        wrong = np.mean((q < 0.5) & (radius >= r))
        assert wrong <= allowed(walked), (text, r)
        assert wrong > ALPHA / 2 or text.startswith(
            ("screen", "upto", "dense", "anytime")
        ), (
            text,
            r,
        )  # the level is used up


# Bound -> how seldom it may err on three classes, as a part of alpha.
LEAST_ERRORS = {
    "clopper-pearson": 0.5,
    "two-sided": 0.01,
    "pairwise": 0.05,
    "randomised": 0.7,
    "any-class": 0.2,
}


def test_bounds_of_the_fixed_rule_err_no_more_often_than_alpha() -> None:
    """Samples of p = (0.6, 0.25, 0.15): an error is a radius beyond the one that the bound is about."""
    assert set(LEAST_ERRORS) == set(CONFIDENCE_BOUNDS)
    p = np.array([0.6, 0.25, 0.15])
    for bound, least in LEAST_ERRORS.items():
        judge, rng = rule("fixed", n=500, bound=bound), np.random.default_rng(17)
        counts = rng.multinomial(500, p, PATHS)
        counts0 = np.tile([1, 0, 0], (PATHS, 1))
        predict, radius = decide(
            judge, Evidence.of(counts0, counts, u=rng.uniform(size=PATHS))
        )
        p_b = p[1] if bound in ("two-sided", "pairwise") else 1.0 - p[0]
        wrong = np.mean((predict == 0) & (radius > NOISE.radius(1.0 - p[0], p_b)))
        assert least * ALPHA < wrong <= ALLOWED, bound


def test_a_class_that_other_samples_picked_is_certified_falsely_no_more_often_than_alpha() -> (
    None
):
    """Of two classes and of twenty equal ones; the control picks by the samples that bound the class."""
    rng = np.random.default_rng(1)
    for p in (
        *([p_a, 1.0 - p_a] for p_a in (0.5, 0.51, 0.55, 0.7, 0.9, 0.99, 0.999)),
        [0.05] * 20,
    ):
        counts0, counts = rng.multinomial(20, p, PATHS), rng.multinomial(500, p, PATHS)
        predict, radius = decide(rule("fixed", n=500), Evidence.of(counts0, counts))
        true = SIGMA * stats.norm.ppf(np.array(p)[predict])
        wrong = np.mean((predict >= 0) & (radius > true))
        assert wrong <= ALLOWED, p
        assert not 0.55 < p[0] < 0.99 or wrong > ALPHA / 3, (
            p
        )  # the bound is used up, not vacuous
        if p[0] == 0.5:
            assert (
                np.mean(
                    decide(rule("fixed", n=500), Evidence.of(counts, counts))[0] >= 0
                )
                > ALLOWED
            )


def test_control_peeking_without_paying_errs_too_often() -> None:
    judge = rule("radius=0.5", n=600)
    assert isinstance(judge, Grid)
    rng, q0, looks = np.random.default_rng(12), tail(0.5), judge.looks
    successes = looks - rng.binomial(
        np.diff(looks, prepend=0), q0, size=(PATHS, len(looks))
    ).cumsum(axis=1)
    assert (
        (bounds.q_upper(successes, looks, ALPHA) <= q0).any(axis=1).mean()
        > 2 * ALPHA
        > ALLOWED
    )


def test_control_uniform_numbers_drawn_again_err_too_often() -> None:
    rng, n, q0 = np.random.default_rng(14), 200, tail(0.3)
    k = n - rng.binomial(n, q0, PATHS)
    once = bounds.randomised_q_upper(k, n, ALPHA, rng.uniform(size=PATHS)) < q0
    luckiest = (
        bounds.randomised_q_upper(
            k, n, ALPHA, rng.uniform(size=(10, PATHS)).min(axis=0)
        )
        < q0
    )
    assert once.mean() == pytest.approx(ALPHA, abs=ALLOWED - ALPHA)
    assert luckiest.mean() > ALLOWED


def test_what_is_no_rule_is_refused_with_the_way_out() -> None:
    for text, *said in (
        ("radus=0.5", "'radus'", "radius"),
        ("radius", "'radius' needs a number: radius=R"),
        ("radius=-0.5", "radius=-0.5", ">= 0"),
        ("fixed=3", "takes no number", "are n"),
        ("grid=0", "step 0.0"),
        ("grid=0.0001", "more than 1000 radii", "a step of at least"),
        ("radius=9", "no n up to 10,000,000 suffices", "a radius of at most"),
        ("upto", "'upto' needs a number: upto=R"),
        ("upto=9", "no n up to 10,000,000 suffices", "a radius of at most"),
        ("dense=0", "dense=0", "0.25 is usual"),
        ("dense=much", "'much'", "dense=0.5"),
        ("anytime=-1", "anytime=-1.0", ">= 0"),
    ):
        message = refused(text)
        assert all(word in message for word in said), (text, message)
    assert "'wald'" in refused("fixed", bound="wald")
    assert "bound='randomised' is for the fixed rule" in refused(
        "grid", bound="randomised"
    )
    assert "n=3000000 must be a whole number of samples from 1 to 2,000,000" in refused(
        "dense", n=3_000_000, alpha=0.001
    )


def test_the_cap_that_an_error_names_works_and_one_less_does_not() -> None:
    for text in ("fixed", "radius=1.5", "grid", "upto=1", "dense=1", "anytime=1"):
        least = int(re.search(r"n >= (\d+)", refused(text, n=3, alpha=0.001))[1])  # type: ignore[index]
        judge = rule(text, n=least, alpha=0.001)
        (sure,) = walks(judge, np.zeros(1), np.random.default_rng(0))
        assert judge.claim(sure).q < 0.5, text
        if text != "anytime=1":  # whose cap is named to a tenth
            refused(text, n=least - 1, alpha=0.001)


def test_a_radius_out_of_reach_names_the_farthest_within() -> None:
    farthest = float(
        re.search(r"at most ([\d.]+)", refused("radius=9", alpha=0.001))[1]  # type: ignore[index]
    )
    assert 0 < farthest <= NOISE.largest_radius(N, 0.001)
    (sure,) = walks(
        judge := rule(f"radius={farthest}", alpha=0.001),
        np.zeros(1),
        np.random.default_rng(0),
    )
    assert judge.claim(sure).radius == farthest
