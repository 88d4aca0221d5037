"""Rules: the contract that all keep, how often they err, controls that err too often, and what they refuse."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from certificates.walks import RULES, SEQUENTIAL
from randsmooth import bounds
from randsmooth.certificates import decide
from randsmooth.errors import InputError
from randsmooth.noise import Gaussian
from randsmooth.rules import CONFIDENCE_BOUNDS, Evidence, Rule, make_rule
from randsmooth.rules import RULES as NAMED
from randsmooth.rules.tolerance import PILOT
from randsmooth.testing.walks import evidence_of, walks

SIGMA, N, ALPHA, PATHS = 0.5, 2000, 0.05, 20_000
FEW = 2500  # paths of rules that are far from erring so often, and slow to walk


def allowed(paths: int) -> float:
    return ALPHA + 3.0 * float(np.sqrt(ALPHA * (1.0 - ALPHA) / paths))


ALLOWED = allowed(PATHS)


def rule(text: str, *, n: int = N, alpha: float = ALPHA) -> Rule:
    return make_rule(text, sigma=SIGMA, n=n, alpha=alpha)


def tail(r: float) -> float:
    """The failure probability at which the true radius is `r`."""
    return float(Gaussian(SIGMA).tail(r))


def looks_of(judge: Rule, path: Sequence[int]) -> list[int]:
    return [judge.samples(path[: i + 1]) for i in range(len(path))]


@pytest.mark.parametrize("text", RULES)
def test_looks_grow_up_to_n_by_whole_blocks(text: str) -> None:
    judge = rule(text)
    q = np.random.default_rng(0).uniform(0.0, 0.6, 100)
    for path in walks(judge, q, np.random.default_rng(1)):
        looks = looks_of(judge, path)
        assert looks[0] > 0 and np.all(np.diff(looks) > 0) and looks[-1] <= N
        assert judge.next_look(path) is None
        if judge.block is not None:
            assert all(look % judge.block == 0 for look in looks if look != N)


@pytest.mark.parametrize("text", RULES)
def test_a_table_is_judged_as_its_images_are(text: str) -> None:
    judge = rule(text)
    paths = walks(judge, np.random.default_rng(2).uniform(0.0, 0.6, 200), np.random.default_rng(3))
    q, radius = judge.claims(evidence_of(judge, paths))
    claims = [judge.claim(path) for path in paths]
    assert q == pytest.approx([claim.q for claim in claims])
    assert radius == pytest.approx([claim.radius for claim in claims])
    assert np.all((radius > 0) <= (q < 0.5))
    assert np.all(radius <= np.where(q < 0.5, Gaussian(SIGMA).radius(q), 0.0) + 1e-9)


@pytest.mark.parametrize("text", RULES)
def test_all_successes_certify_and_all_failures_do_not(text: str) -> None:
    judge = rule(text)
    (sure,) = walks(judge, np.zeros(1), np.random.default_rng(0))
    (never,) = walks(judge, np.ones(1), np.random.default_rng(0))
    assert judge.claim(sure).q < 0.5
    assert judge.claim(never).q >= 0.5 and judge.claim(never).radius == 0.0
    assert judge.claim(sure).radius >= judge.farthest
    assert judge.samples(never) <= judge.samples(sure) <= N
    first = judge.next_look([])
    assert judge.samples(never) == first  # a hopeless image is given up at the first look
    assert first == N if text == "fixed" else first is not None and first < N


@pytest.mark.parametrize("text", RULES)
def test_more_successes_never_prove_less(text: str) -> None:
    judge = rule(text)
    rng, compared = np.random.default_rng(5), 0
    for path in walks(judge, rng.uniform(0.0, 0.5, 100), rng):
        before = path[:-1]
        most = judge.samples(path) - judge.samples(before) + (before[-1] if before else 0)
        better = (*before, min(path[-1] + 5, most))
        if judge.samples(better) == judge.samples(path) and better != path:
            assert judge.claim(better).radius >= judge.claim(path).radius
            compared += 1
    assert compared > 80


@pytest.mark.parametrize("text", SEQUENTIAL)
def test_a_path_that_nobody_can_walk_has_no_samples(text: str) -> None:
    judge = rule(text)
    assert judge.samples([(judge.next_look([]) or 0) + 1]) == 0
    assert judge.samples([20, 10]) == 0
    assert judge.samples([-1]) == 0


@pytest.mark.parametrize("text", RULES)
def test_a_guarantee_is_one_sentence_with_its_level(text: str) -> None:
    sentence = rule(text).guarantee()
    assert sentence.startswith("Each certificate is wrong with probability at most 0.05")
    assert sentence.endswith(".") and not re.search(r"\.\s", sentence)


EXACT = [("radius=0", 0.0), ("radius=0.5", 0.5), ("grid", 0.25), ("grid", 0.5), ("fixed", 0.4), ("tolerance=0.3", 0.4)]
CAUTIOUS = [("screen=0.5", 0.5), ("union", 0.25), ("dense=1", 0.25), ("anytime", 0.3), ("anytime=0.3", 0.3)]


@pytest.mark.parametrize(
    ("text", "r", "walked"),
    [
        *((*worst, PATHS // 4) for worst in EXACT),
        *((*worst, FEW // 2) for worst in CAUTIOUS),
        *(pytest.param(*worst, PATHS, marks=pytest.mark.slow) for worst in (*EXACT, *CAUTIOUS)),
    ],
)
def test_rules_err_no_more_often_than_alpha(text: str, r: float, walked: int) -> None:
    """Where the true radius is a hair below `r`, so that claiming it is an error."""
    judge = rule(text, n=300 if judge_is_sequential(text) else N)
    paths = walks(judge, np.full(walked, tail(r) + 1e-9), np.random.default_rng(11))
    q, radius = judge.claims(evidence_of(judge, paths))
    wrong = np.mean((q < 0.5) & (radius >= r))
    assert wrong <= allowed(walked)
    if text.startswith(("radius", "grid", "fixed")):
        assert wrong > ALPHA / 2  # the level is used up, not given away


def test_every_rule_is_tested() -> None:
    """Those that walk through the contract, and those whose errors are counted."""
    ours = [name for name in NAMED if NAMED.source(name) == "randsmooth"]
    assert {text.partition("=")[0] for text in RULES} == set(ours)
    assert {text.partition("=")[0] for text, _ in EXACT + CAUTIOUS} == set(ours)
    assert {text for text in RULES if rule(text).sequential} == set(SEQUENTIAL)


# Bound -> how seldom it may err on three classes, as a part of alpha.
LEAST_ERRORS = {"clopper-pearson": 0.5, "two-sided": 0.01, "pairwise": 0.05, "randomised": 0.7, "any-class": 0.2}


def test_every_bound_is_tested() -> None:
    assert set(LEAST_ERRORS) == set(CONFIDENCE_BOUNDS)


@pytest.mark.parametrize(
    "bound", [pytest.param(bound, marks=pytest.mark.slow if bound == "randomised" else []) for bound in LEAST_ERRORS]
)
def test_bounds_of_the_fixed_rule_err_no_more_often_than_alpha(bound: str) -> None:
    """Samples of p = (0.6, 0.25, 0.15): an error is a radius beyond the one that the bound is about."""
    p = np.array([0.6, 0.25, 0.15])
    judge, rng = make_rule("fixed", sigma=SIGMA, n=500, alpha=ALPHA, bound=bound), np.random.default_rng(17)
    counts = rng.multinomial(500, p, PATHS)
    counts0 = np.tile([1, 0, 0], (PATHS, 1))
    predict, radius = decide(judge, Evidence.of(counts0, counts, u=rng.uniform(size=PATHS)))
    p_b = p[1] if bound in ("two-sided", "pairwise") else 1.0 - p[0]
    wrong = np.mean((predict == 0) & (radius > Gaussian(SIGMA).radius(1.0 - p[0], p_b)))
    assert LEAST_ERRORS[bound] * ALPHA < wrong <= ALLOWED


def judge_is_sequential(text: str) -> bool:
    return NAMED[text.partition("=")[0]].load().sequential


def test_control_peeking_without_paying_errs_too_often() -> None:
    judge = rule("radius=0.5", n=600)
    rng, q0 = np.random.default_rng(12), tail(0.5)
    looks = np.array(judge.looks)  # type: ignore[attr-defined]
    drawn = np.diff(looks, prepend=0)
    successes = looks - rng.binomial(drawn, q0, size=(PATHS, len(looks))).cumsum(axis=1)
    peeked = (bounds.q_upper(successes, looks, ALPHA) <= q0).any(axis=1)
    assert peeked.mean() > 2 * ALPHA > ALLOWED


def test_control_a_pilot_counted_again_errs_too_often() -> None:
    """Stopping where the pilot looks good and counting it along proves too much."""
    rng, q0 = np.random.default_rng(13), tail(0.4)
    pilot = PILOT - rng.binomial(PILOT, q0, PATHS)
    alone = bounds.q_upper(pilot, PILOT, ALPHA) <= q0  # a lucky pilot is enough, and draws nothing more
    more = N - PILOT
    both = bounds.q_upper(pilot + more - rng.binomial(more, q0, PATHS), N, ALPHA) <= q0
    assert np.mean(alone | both) > ALLOWED


@pytest.mark.slow
def test_control_uniform_numbers_drawn_again_err_too_often() -> None:
    rng, n, q0 = np.random.default_rng(14), 200, tail(0.3)
    k = n - rng.binomial(n, q0, PATHS)
    once = bounds.randomised_q_upper(k, n, ALPHA, rng.uniform(size=PATHS)) < q0
    luckiest = bounds.randomised_q_upper(k, n, ALPHA, rng.uniform(size=(10, PATHS)).min(axis=0)) < q0
    assert once.mean() == pytest.approx(ALPHA, abs=ALLOWED - ALPHA)
    assert luckiest.mean() > ALLOWED


@pytest.mark.parametrize(("text", "most"), [("radius=0.5", 0.05), ("grid", 0.35), ("tolerance=0.05", 0.75)])
def test_easy_and_hopeless_images_take_few_samples(text: str, most: float) -> None:
    judge = rule(text, n=100_000, alpha=0.001)
    paths = walks(judge, np.array([0.0, 0.7, 0.9]), np.random.default_rng(15))
    assert np.mean([judge.samples(path) for path in paths]) < most * 100_000


BAD = [
    ("radus=0.5", r"unknown rule 'radus'.*radius"),
    ("radius", r"'radius' needs a number: radius=R"),
    ("radius=", r"'' is no number"),
    ("radius=half", r"'half' is no number"),
    ("radius=nan", r"'nan' is no number"),
    ("radius=-0.5", r"radius=-0.5 must be a finite number >= 0"),
    ("fixed=3", r"takes no number"),
    ("grid=0", r"step 0.0 must be a finite radius above 0"),
    ("grid=0.0001", r"more than 1000 radii .* take a step of at least"),
    ("tolerance", r"'tolerance' needs a number"),
    ("tolerance=0", r"tolerance=0.0 must lie strictly between 0 and 1 sigma"),
    ("tolerance=4", r"tolerance=4.0 must lie strictly between 0 and 1 sigma"),
    ("radius=9", r"even if all agree: no n up to 10,000,000 suffices; ask for a radius of at most"),
    ("tolerance=wide", r"write it as in tolerance=0.5"),
    ("anytime=-1", r"anytime=-1.0 must be a finite radius >= 0"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_is_no_rule_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rule(text)


def test_bounds_are_the_fixed_rules() -> None:
    with pytest.raises(InputError, match="unknown bound 'wald'"):
        make_rule("fixed", sigma=SIGMA, n=N, alpha=ALPHA, bound="wald")
    with pytest.raises(InputError, match="bound=randomised is for the fixed rule; grid has a bound of its own"):
        make_rule("grid", sigma=SIGMA, n=N, alpha=ALPHA, bound="randomised")


@pytest.mark.parametrize("text", ["fixed", "radius=1.5", "grid", "union", "dense=1", "anytime=1", "tolerance=0.05"])
def test_the_cap_that_an_error_names_works_and_one_less_does_not(text: str) -> None:
    with pytest.raises(InputError, match=r"n >= (\d+)") as told:
        rule(text, n=3, alpha=0.001)
    least = int(re.search(r"n >= (\d+)", str(told.value))[1])  # type: ignore[index]
    judge = rule(text, n=least, alpha=0.001)
    (sure,) = walks(judge, np.zeros(1), np.random.default_rng(0))
    assert judge.claim(sure).q < 0.5
    if not text.startswith(("anytime", "tolerance")):  # their caps are named to a tenth and a hundredth
        with pytest.raises(InputError):
            rule(text, n=least - 1, alpha=0.001)


def test_a_radius_beyond_any_cap_names_the_farthest_within_reach() -> None:
    with pytest.raises(InputError, match=r"ask for a radius of at most (\S+)") as told:
        rule("radius=9", alpha=0.001)
    farthest = float(re.search(r"at most ([\d.]+)", str(told.value))[1])  # type: ignore[index]
    assert "no n up to 10,000,000 suffices" in str(told.value)
    assert 0 < farthest <= Gaussian(SIGMA).largest_radius(N, 0.001)
    (sure,) = walks(judge := rule(f"radius={farthest}", alpha=0.001), np.zeros(1), np.random.default_rng(0))
    assert judge.claim(sure).radius == farthest


def test_radii_out_of_a_grids_reach_are_dropped_with_a_note() -> None:
    judge = rule("grid", n=1000, alpha=0.001)
    (note,) = judge.notes
    dropped = float(re.search(r"radii from ([\d.]+) on", note)[1])  # type: ignore[index]
    assert dropped == judge.radii[-1] + 0.25  # type: ignore[attr-defined]
    with pytest.raises(InputError):
        rule(f"radius={dropped}", n=1000, alpha=0.001)
    rule(f"radius={dropped - 0.25}", n=1000, alpha=0.001)
