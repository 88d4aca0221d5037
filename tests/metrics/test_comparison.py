"""Comparisons: at which radii, what their bands show, and judged together no more than 5% claim what is not."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from metrics.conftest import Make
from metrics.skewed import near_unseen
from models.refusing import problem_of
from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates, from_radii
from randsmooth.errors import BadValue, NotComparable
from randsmooth.metrics.pairing import gains
from randsmooth.metrics.reach import NearerEnd, ParticularRadii, reach
from randsmooth.noise import Gaussian
from randsmooth.report import what_acr_hides
from values import Refusal

Floats = NDArray[np.float64]

SIGMA, N, ALPHA = 0.5, 1000, 0.001
DRAWS = 400


def sampled(p: Floats, rng: np.random.Generator, name: str = "") -> Certificates:
    """A table of images of class 0 whose p_A are `p`, certified with N samples each."""
    hits = rng.binomial(N, p)
    tail = bounds.q_upper(np.maximum(hits, N - hits), N, ALPHA)
    return of_radii(
        np.where(hits > N / 2, 1.0, -1.0) * Gaussian(SIGMA).radius(tail), name
    )


def of_radii(radii: Floats, name: str = "") -> Certificates:
    """A table of images of class 0; a radius below 0 is that of a wrong class."""
    return from_radii(
        np.abs(radii), correct=radii > 0.0, sigma=SIGMA, n=N, alpha=ALPHA, name=name
    )


def claims(tables: Sequence[Certificates], **options: int) -> bool:
    """Whether a report on the tables, the first being the baseline, would hold a verdict or a bold figure."""
    compared = metrics.compare(
        [(table, tables[0]) for table in tables[1:]], [0.0, 0.25, 0.5], **options
    )
    return any(
        one.acr_shown or (one.verdict and one.verdict.outcome != metrics.NO_DIFFERENCE)
        for one in compared
    )


def exchangeable(
    rng: np.random.Generator, methods: int = 10, images: int = 500
) -> list[Certificates]:
    """Methods whose p_A is drawn alike around what an image has in common."""
    hard = rng.normal(0.8, 1.0, images)
    return [
        sampled(special.ndtr(hard + 0.6 * rng.normal(size=images)), rng, str(i))
        for i in range(methods)
    ]


def test_a_known_difference_is_found_where_it_is() -> None:
    # 200 of 500 images reach 0.8 under a and 0.3 under b; the others agree
    rest = np.full(300, 0.5)
    a, b = (
        of_radii(np.concatenate([np.full(200, r), rest]), name)
        for r, name in ((0.8, "a"), (0.3, "b"))
    )
    found = metrics.verdict(a, b)
    (stretch,) = found.stretches
    assert (stretch.low, stretch.high, stretch.ahead, stretch.gaps) == (
        0.302,
        0.8,
        True,
        False,
    )
    assert metrics.verdict(b, a).outcome == metrics.BEHIND_EVERYWHERE
    some = (
        np.arange(500) % 2 == 0
    )  # too few images to rule out a point where none differs
    assert metrics.verdict(b.rows(some), a.rows(some)).outcome == metrics.BEHIND
    (one,) = metrics.compare([(a, b)], [0.25, 0.5])
    assert (one.images, one.scope.pairs, one.scope.figures) == (
        500,
        1,
        len(one.curve.radii) + 1,  # type: ignore[union-attr]
    )
    at = one.at(0.5)
    assert at is not None and (at.only_a, at.only_b, at.shown, at.difference.value) == (
        200,
        0,
        1,
        0.4,
    )
    assert one.at(0.333) is None
    acr = one.acr
    assert (
        acr is not None
        and acr.value == pytest.approx(0.2)
        and acr.low < 0.2 < acr.high
        and one.acr_shown == 1
    )


def test_everywhere_is_said_of_enough_images_and_not_of_a_loss_beyond_delta() -> None:
    rng = np.random.default_rng(0)
    b = rng.normal(0.6, 0.4, 8000)
    found = metrics.verdict(of_radii(np.where(b > 0, b + 0.1, b)), of_radii(b))
    assert found.outcome == metrics.AHEAD_EVERYWHERE and "to within 1 point" in str(
        found
    )
    lost = np.where(rng.random(8000) < 0.02, -0.1, np.where(b > 0, b + 0.1, b))
    assert metrics.verdict(of_radii(lost), of_radii(b)).outcome == metrics.CROSSES
    assert metrics.verdict(of_radii(b), of_radii(b)).outcome == metrics.NO_DIFFERENCE


def test_a_loss_between_two_steps_of_the_grid_is_seen() -> None:
    b = np.random.default_rng(0).normal(0.6, 0.4, 8000)
    b = np.where(np.abs(b - 0.501) < 0.001, 0.6, b)
    a = np.where(b > 0.7, b + 0.1, b)
    assert metrics.verdict(of_radii(a), of_radii(b)).outcome == metrics.AHEAD_EVERYWHERE
    b[:240], a[:240] = (
        0.5015,
        0.5005,
    )  # 3 points are lost between them, and none at 0.5 and 0.502
    found = metrics.verdict(of_radii(a), of_radii(b))
    assert (
        found.outcome == metrics.CROSSES
        and found.stretches[0].low == found.stretches[0].high == 0.5015
    )
    assert metrics.verdict(of_radii(b), of_radii(a)).outcome == metrics.CROSSES
    assert "nowhere" not in what_acr_hides(of_radii(a, "a"), of_radii(b, "b"))


def test_nothing_is_claimed_that_mcnemars_test_does_not_find() -> None:
    for images in (6, 200):
        for only_a in range(4, min(images, 13) + 1):
            for only_b in range(0, min(images - only_a, 4) + 1, 2):
                a, b = np.full(images, 0.5), np.full(images, 0.5)
                b[:only_a] = a[only_a : only_a + only_b] = -0.5
                (one,) = metrics.compare(
                    [(of_radii(a), of_radii(b))], [0.25], draws=DRAWS
                )
                at = one.at(0.25)
                assert at is not None and (at.only_a, at.only_b) == (only_a, only_b)
                assert not at.shown or metrics.mcnemar(only_a, only_b) <= 0.05, (
                    images,
                    only_a,
                    only_b,
                )


def test_a_family_is_judged_more_strictly_and_equal_methods_cost_nothing() -> None:
    tables = exchangeable(np.random.default_rng(0), methods=6)
    alone = metrics.compare([(tables[1], tables[0])])[0].scope.critical
    twice = metrics.compare([(tables[1], tables[0])] * 2)[0].scope.critical
    together = metrics.compare([(table, tables[0]) for table in tables[1:]])[
        0
    ].scope.critical
    assert 1.96 < alone == twice < together < 5.0


def test_the_same_seed_gives_the_same_and_rows_may_come_in_any_order() -> None:
    a, b = exchangeable(np.random.default_rng(1), methods=2)
    first, second = (
        metrics.compare([(a, b)], seed=seed)[0].scope.critical for seed in (0, 0)
    )
    assert first == second != metrics.compare([(a, b)], seed=1)[0].scope.critical
    order = np.random.default_rng(0).permutation(500)
    shuffled = metrics.compare([(a.rows(order), b.rows(order))])[0].scope.critical
    assert shuffled == pytest.approx(
        first, rel=1e-5
    )  # signs go by the image, not by the row


def test_pairs_over_other_images_make_one_family() -> None:
    a, b, c = exchangeable(np.random.default_rng(2), methods=3)
    some = np.arange(500) % 2 == 0
    one, other = metrics.compare([(a, b), (c.rows(some), b.rows(some))])
    assert (one.images, other.images) == (500, 250) and one.scope is other.scope
    assert other.scope.critical > metrics.compare([(a, b)])[0].scope.critical


def test_a_delta_must_be_a_share_and_no_pair_makes_no_comparison(counted: Make) -> None:
    for delta in (0.0, -0.1, 1.0, float("nan")):
        problem = problem_of(
            partial(metrics.verdict, counted([900]), counted([800]), delta=delta)
        )
        Refusal(BadValue, f"delta={delta}", field="delta").check(problem)
    assert metrics.compare([]) == []


def claim_rates(runs: int) -> tuple[float, float]:
    """How often a report on ten equal methods claims anything: judged together, and each by itself (the control)."""
    rng = np.random.default_rng(1)
    said, control = [], []
    for seed in range(runs):
        tables = exchangeable(rng)
        said.append(claims(tables, seed=seed, draws=DRAWS))
        if seed % 5 == 0:
            control.append(
                any(
                    claims([tables[0], one], seed=seed, draws=DRAWS)
                    for one in tables[1:]
                )
            )
    return float(np.mean(said)), float(np.mean(control))


@pytest.mark.slow
def test_ten_equal_methods_are_seldom_told_apart() -> None:
    said, control = claim_rates(600)
    assert said <= 0.05 and control > 0.06


def populations(kind: str, images: int, rng: np.random.Generator) -> list[Certificates]:
    """A baseline and methods whose differences are lopsided, large, or many."""
    b = rng.normal(0.6, 0.5, images)
    noise = rng.normal(0.0, 0.2, (3, images))
    made = {
        "loses 3%": [np.where(rng.random(images) < 0.03, -0.1, b)],
        "a little farther": [b + 0.01],
        "far ahead": [b + 1.0 + noise[0]],
        "three methods": [b + noise[0], b + 0.1 + noise[1], b - 0.2 + noise[2]],
    }[kind]
    return [
        of_radii(np.clip(radii, -0.1, Gaussian(SIGMA).largest_radius(N, ALPHA)))
        for radii in [b, *made]
    ]


def truth(a: Floats, b: Floats, radii: Floats) -> Floats:
    """The difference in certified accuracy of whole populations of `held` radii, and that of ACR after it."""
    fewer = [np.searchsorted(held, radii, side="left") for held in (a, b)]
    return np.append(
        fewer[1] - fewer[0], (np.maximum(a, 0.0) - np.maximum(b, 0.0)).sum()
    ) / len(a)


def held(table: Certificates) -> Floats:
    """Ascending radii, below 0 where the class is wrong."""
    return np.sort(table.radius * table.correct - ~table.correct)


def coverage(kind: str, runs: int) -> tuple[float, float]:
    """How often all intervals of a family hold at once, and the control: Wald's at each radius."""
    rng = np.random.default_rng(0)
    whole = [held(table) for table in populations(kind, 200_000, rng)]
    all_held = control = 0
    for seed in range(runs):
        baseline, *methods = populations(kind, 500, rng)
        inside, alone = [], []
        for k, one in enumerate(
            metrics.compare([(m, baseline) for m in methods], draws=DRAWS, seed=seed)
        ):
            curve, acr = one.curve, one.acr
            assert curve is not None and acr is not None
            true = truth(whole[k + 1], whole[0], curve.radii)
            ends = np.append(curve.low, acr.low), np.append(curve.high, acr.high)
            inside.append(np.all((ends[0] <= true + 1e-3) & (true - 1e-3 <= ends[1])))
            half = 1.96 * np.sqrt(
                ((curve.only_a + curve.only_b) / 500 - curve.value**2) / 500
            )
            alone.append(np.all(np.abs(curve.value - true[:-1]) <= half + 1e-3))
        all_held, control = all_held + all(inside), control + all(alone)
    return all_held / runs, control / runs


@pytest.mark.slow
def test_all_intervals_hold_at_once() -> None:
    for kind in ["loses 3%", "a little farther", "far ahead", "three methods"]:
        found, control = coverage(kind, 300)
        assert found >= 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / 300), kind
        assert control < 0.85, kind


@pytest.mark.slow
def test_nine_methods_that_seldom_differ_are_covered() -> None:
    """All nine differences in ACR at once: each method gains on a share of the images of its own."""
    for share, images in [(s, n) for n in (500, 10_000) for s in (0.002, 0.006, 0.02)]:
        rng, runs, inside = np.random.default_rng(0), 300 if images == 500 else 100, []
        for seed in range(runs):
            b = (
                np.maximum(rng.normal(0.4, 0.3, images), 0.0).round(2) + 1e-6
            )  # few radii, so that it stays quick
            gains = np.where(
                rng.random((9, images)) < share,
                0.3 * rng.random((9, images)).round(1),
                0.0,
            )
            compared = metrics.compare(
                [(of_radii(b + gain), of_radii(b)) for gain in gains],
                draws=DRAWS,
                seed=seed,
            )
            acr = [one.acr for one in compared if one.acr]
            inside.append(
                len(acr) == 9
                and all(one.low <= 0.15 * share <= one.high for one in acr)
            )
        assert np.mean(inside) >= 0.94, (share, images)


def shifted(
    images: int, gain: float, lost: float, methods: int, rng: np.random.Generator
) -> list[Floats]:
    """Radii of a baseline and of methods that gain a little on every image, but for a share of the images lost."""
    farthest = Gaussian(SIGMA).largest_radius(N, ALPHA)
    b = np.clip(rng.normal(0.6, 0.4, images), -0.1, farthest - 0.1)
    farther = 2.0 * gain * rng.random((methods, images)) * (b >= 0.0)
    return [b, *np.where(rng.random((methods, images)) < lost, -0.1, b + farther)]


def families(
    images: int, gain: float, lost: float, runs: int, methods: int = 1
) -> dict[str, float]:
    """How often a family claims anything false, ACR alone does, and the control does: its intervals at the same z."""
    whole = shifted(1_000_000, gain, lost, methods, np.random.default_rng(9))
    mean = [
        float((np.maximum(a, 0.0) - np.maximum(whole[0], 0.0)).mean())
        for a in whole[1:]
    ]
    ordered = [np.sort(radii) for radii in whole]
    rng, false = np.random.default_rng(0), dict.fromkeys(["any", "acr", "acr, near"], 0)
    for seed in range(runs):
        tables = [
            of_radii(radii) for radii in shifted(images, gain, lost, methods, rng)
        ]
        wrong = dict.fromkeys(false, False)
        compared = metrics.compare(
            [(table, tables[0]) for table in tables[1:]], draws=DRAWS, seed=seed
        )
        for one, table, its_mean, own in zip(
            compared, tables[1:], mean, ordered[1:], strict=True
        ):
            curve, acr = one.curve, one.acr
            assert curve is not None and acr is not None
            true = (
                np.searchsorted(ordered[0], curve.radii)
                - np.searchsorted(own, curve.radii)
            ) / len(own)
            near = near_unseen(*gains(table, tables[0]), one.scope.critical)
            for name, low, high in (("acr", acr.low, acr.high), ("acr, near", *near)):
                wrong[name] |= bool(low > 0.0 >= its_mean or high < 0.0 <= its_mean)
            wrong["any"] |= wrong["acr"] or bool(
                np.any(curve.above & (true < -1e-4) | curve.below & (true > 1e-4))
            )
        false = {name: count + wrong[name] for name, count in false.items()}
    return {name: count / runs for name, count in false.items()}


def test_few_runs_bear_out_that_rare_losses_make_no_false_claim() -> None:
    found = families(100, gain=0.004, lost=0.008, runs=40)
    assert found["any"] <= 0.05
    assert found["acr, near"] > 0.2  # the control


@pytest.mark.slow
def test_none_of_a_familys_claims_is_false_where_a_few_images_lose_all() -> None:
    controls = dict[int, float]()
    for images, gain, lost, runs in [
        (100, 0.004, 0.008, 600),
        (100, 0.0015, 0.003, 200),
        (500, 0.004, 0.008, 200),
        (500, 0.0015, 0.003, 400),
        (10_000, 0.004, 0.008, 40),
        (10_000, 0.0015, 0.003, 40),
        (10_000, 0.00007, 0.00013, 60),
    ]:
        for methods in (1, 4) if images < 10_000 else (1,):
            found = families(images, gain, lost, runs // methods, methods)
            assert found["any"] <= 0.05, (images, lost, methods, found)
            controls[images] = max(controls.get(images, 0.0), found["acr, near"])
    assert min(controls.values()) > 0.15, controls


HITS = [600, 900, 1000]


def under(table: Certificates, **facts: object) -> Certificates:
    """`table` as though its header said so."""
    return replace(table, header=table.header.replace(**facts))


def test_a_curve_reaches_through_the_farthest_that_n_allows(counted: Make) -> None:
    table = counted(HITS)
    at = reach(table, table, [0.25, 9.0])
    end = Gaussian(0.5).largest_radius(1000, 0.001)
    assert (
        at.radii[0] == 0.0
        and end - 1e-3 < at.radii[-1] <= end
        and at.whole
        and at.limit is None
    )
    assert np.diff(at.radii).max() <= 0.01 and 0.25 in at.radii


def test_the_nearer_end_counts_and_is_named(counted: Make) -> None:
    far, near = counted(HITS, name="far"), counted(HITS, name="near", sigma=0.25)
    fewer = counted([60, 90, 100], n=100, name="fewer")
    for pair in ((far, near), (near, far)):
        at = reach(*pair)
        assert (
            at.radii[-1]
            <= metrics.farthest(near)
            == pytest.approx(metrics.farthest(far) / 2.0)
        )
        assert isinstance(at.limit, NearerEnd)
        assert at.limit.table == "near" and at.limit.missing == ()
        assert at.limit.end == pytest.approx(at.radii[-1], rel=1e-3)
    limit = reach(far, fewer).limit
    assert isinstance(limit, NearerEnd) and limit.table == "fewer"
    two = under(far, bound="two-sided")
    assert metrics.farthest(two) == pytest.approx(
        Gaussian(0.5).largest_radius(1000, 0.0005)
    )


def test_a_log_without_its_facts_reaches_as_far_as_it_certifies(
    log: Make, counted: Make
) -> None:
    bare = log([(0, 0, 0.7), (0, 1, 0.9), (0, 0, 0.2)], name="bare")
    assert metrics.farthest(bare) == 0.9
    limit = reach(bare, counted(HITS)).limit
    assert limit == NearerEnd("bare", 0.9, missing=("sigma", "n", "alpha"))


def test_a_rule_that_answers_few_radii_is_compared_at_those(counted: Make) -> None:
    table = counted(HITS, name="fixed")
    half, steps = (
        under(table.renamed("half"), rule="radius=0.5"),
        under(table.renamed("steps"), rule="grid=0.25"),
    )
    at = reach(half, table, [0.0, 0.5, 1.0])
    assert (at.radii.tolist(), at.whole) == ([0.5], False)
    assert at.limit == ParticularRadii(("half",), radii=(0.5,))
    assert reach(table, steps).radii.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert reach(table, steps).limit == ParticularRadii(
        ("steps",), radii=(0.0, 0.25, 0.5, 0.75, 1.0)
    )
    assert reach(half, steps).limit == ParticularRadii(("half", "steps"), radii=(0.5,))
    other = under(table, rule="radius=0.6")
    nowhere = reach(half, other).limit
    assert nowhere == ParticularRadii(("half", other.name), radii=())
    assert (
        metrics.farthest(under(table, rule="anytime=0.4")) == 0.4
    )  # samples stopped there
    assert (
        0.9 < metrics.farthest(under(table, rule="anytime")) < metrics.farthest(table)
    )


def test_what_such_rules_do_not_answer_is_not_compared(counted: Make) -> None:
    table = counted([600] * 50 + [1000] * 50)
    few = replace(
        under(table, rule="radius=0.5"),
        radius=np.where(table.radius >= 0.5, 0.5, 0.0),
        name="few",
    )
    (one,) = metrics.compare([(few, table)], [0.0, 0.5, 1.0])
    assert (
        one.acr is None
        and one.acr_shown == 0
        and one.at(0.0) is None
        and one.at(1.0) is None
    )
    assert one.verdict is not None and one.verdict.outcome == metrics.NO_DIFFERENCE
    (none,) = metrics.compare([(few, under(table, rule="radius=0.6"))], [0.5])
    assert none.curve is None and none.verdict is None and none.at(0.5) is None
    Refusal(NotComparable).check(
        problem_of(lambda: metrics.verdict(few, under(table, rule="radius=0.6")))
    )


def test_a_table_can_certify_what_it_has_and_what_its_budget_allows(
    counted: Make, log: Make
) -> None:
    table = counted([600, 700])
    end = Gaussian(0.5).largest_radius(1000, 0.001)
    assert [metrics.can_certify(table, r) for r in (0.0, end, end + 0.001)] == [
        True,
        True,
        False,
    ]
    assert metrics.can_certify(under(table, bound="randomised"), end + 0.001)
    rows, facts = (
        [(0, 0, round(end + 0.004, 2))],
        {"sigma": 0.5, "n": 1000, "alpha": 0.001},
    )
    assert rows[0][2] > end and metrics.can_certify(
        log(rows, **facts), rows[0][2]
    )  # printed, and rounded up
    assert not metrics.can_certify(log(rows, **facts), rows[0][2] + 0.001)
    assert metrics.can_certify(
        log(rows), 9.0
    )  # of what it was made with nothing is known


def band(
    low: list[float], high: list[float], *, whole: bool = True
) -> metrics.Difference:
    """At r = 0, 0.1, 0.2, ..., in percentage points; the difference lies in the middle."""
    ends = np.array([low, high]) / 100.0
    count = np.zeros(len(low), np.int64)
    radii = np.round(np.arange(len(low)) / 10, 9)
    return metrics.Difference(
        radii, ends.mean(axis=0), ends[0], ends[1], count, count, whole
    )


CASES: list[tuple[list[float], list[float], str]] = [
    (
        [-9, -8, -4, -2, 1, 2],
        [-5, -4, 2, 4, 5, 6],
        "behind up to r = 0.1, ahead from 0.4 (the curves cross near 0.3)",
    ),
    (
        [1, -9, 1],
        [2, -1, 2],
        "ahead up to r = 0, behind from 0.1 to 0.1, ahead from 0.2 (the curves cross near 0.1 and 0.2)",
    ),
    ([-3, 1, 2, 1], [2, 4, 5, 4], "ahead from r = 0.1 to 0.3, nowhere shown behind"),
    (
        [-5, -3, -4],
        [-1, 2, -1],
        "behind from r = 0 to 0.2 with gaps, nowhere shown ahead",
    ),
    ([-1, 2, -2], [1, 4, 3], "ahead at r = 0.1, nowhere shown behind"),
    (
        [-0.9, 1, 2, -0.5],
        [3, 4, 5, 0.5],
        "ahead everywhere to within 1 point from r = 0 to 0.3 (beyond chance from r = 0.1 to 0.2)",
    ),
    (
        [-3, -4, -2],
        [0.9, -1, 0.2],
        "behind everywhere to within 1 point from r = 0 to 0.2 (beyond chance at r = 0.1)",
    ),
    ([-0.5, -0.5], [0.5, 0.5], "no difference shown"),
]


def test_each_outcome_is_said() -> None:
    for low, high, words in CASES:
        verdict = metrics.judge(band(low, high))
        assert str(verdict) == words and verdict.outcome in words.replace(
            "cross ", "crosses "
        )
        mirrored = metrics.judge(band([-x for x in high], [-x for x in low]))
        swap = {"ahead": "behind", "behind": "ahead"}
        assert str(mirrored) == "".join(
            swap.get(part, part) for part in re.split("(ahead|behind)", words)
        ), words


def test_everywhere_needs_delta_and_every_radius() -> None:
    low, high = [-0.9, 1.0], [3.0, 4.0]
    assert metrics.judge(band(low, high)).outcome == metrics.AHEAD_EVERYWHERE
    assert metrics.judge(band(low, high), delta=0.008).outcome == metrics.AHEAD
    assert metrics.judge(band(low, high, whole=False)).outcome == metrics.AHEAD
    assert "within 0.95 points" in str(metrics.judge(band(low, high), delta=0.0095))
    assert metrics.judge(band([1.0, -1.1], [3.0, 4.0])).outcome == metrics.AHEAD


def test_the_place_explains_the_differences_best() -> None:
    # -2, -1, +1, -1.5, +2, +2 between the stretches: the one point ahead at r = 0.3 is not yet the new lead
    value = np.array([-9, -2, -1, 1, -1.5, 2, 2, 9]) / 100.0
    shown = np.array([-1, 0, 0, 0, 0, 0, 0, 1])
    ends = (
        value - np.where(shown > 0, 0.0, 0.03),
        value + np.where(shown < 0, 0.0, 0.03),
    )
    none = np.zeros(8, np.int64)
    (crossing,) = metrics.judge(
        metrics.Difference(np.arange(8) / 10, value, *ends, none, none, True)
    ).crossings
    assert (crossing.radius, crossing.low, crossing.high, crossing.ahead) == (
        0.5,
        0.0,
        0.7,
        True,
    )
