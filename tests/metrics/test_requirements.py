"""Conditions on certified accuracy: levels enumerated, bounds by SciPy, refusals by kind."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from randsmooth.certificates import Certificates, from_radii
from randsmooth.errors import BadValue, MissingValue, NotComparable, Problem, WrongTable
from randsmooth.metrics.requirements import (
    NOT_ENOUGH,
    REFUTED,
    SHOWN,
    AtLeast,
    Counts,
    NoWorse,
    check,
)

AT = 0.5


def table_of(certified: int, images: int, name: str = "new") -> Certificates:
    """Return a table that certifies the first images at AT, and the others at less."""
    radii = np.where(np.arange(images) < certified, 0.8, 0.1)
    return from_radii(radii, name=name)


@pytest.mark.parametrize("images", [1, 30])
@pytest.mark.parametrize("least", [0.05, 0.5, 0.9])
def test_a_share_is_judged_by_clopper_and_pearsons_bounds(
    images: int, least: float
) -> None:
    for hits in range(images + 1):
        low = stats.beta.ppf(0.05, hits, images - hits + 1) if hits else 0.0
        high = stats.beta.isf(0.05, hits + 1, images - hits) if hits < images else 1.0
        checked = check(table_of(hits, images), AT, least)

        (judged,) = checked.conditions
        assert judged.estimate.low == pytest.approx(low, abs=1e-9)
        assert judged.estimate.high == pytest.approx(high, abs=1e-9)
        expected = SHOWN if low >= least else REFUTED if high < least else NOT_ENOUGH
        assert checked.outcome == expected, (hits, images)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.6, 0.97])
@pytest.mark.parametrize("images", [10, 60, 200])
def test_a_share_is_shown_or_refuted_falsely_as_rarely_as_said(
    p: float, images: int
) -> None:
    """Every number of hits, weighted by its probability."""
    hits = np.arange(images + 1, dtype=np.int64)
    probability = stats.binom.pmf(hits, images, p)
    outcomes_above = [outcome_at(AtLeast(AT, p + 1e-9), k, images) for k in hits]
    outcomes_at = [outcome_at(AtLeast(AT, p), k, images) for k in hits]

    falsely_shown = probability[[o == SHOWN for o in outcomes_above]].sum()
    falsely_refuted = probability[[o == REFUTED for o in outcomes_at]].sum()
    assert max(falsely_shown, falsely_refuted) <= 0.05


def outcome_at(condition: AtLeast, hits: np.int64, images: int) -> str:
    counts = Counts(images, int(hits))
    low, high = condition.ends(counts, 0.05, 0.05)
    if low >= condition.threshold:
        return SHOWN
    return REFUTED if high < condition.threshold else NOT_ENOUGH


@pytest.mark.parametrize(("gained", "lost"), [(0.0, 0.1), (0.2, 0.3), (0.05, 0.15)])
def test_a_loss_is_shown_or_refuted_falsely_as_rarely_as_said(
    gained: float, lost: float
) -> None:
    """Every pair of counts among 25 images, whose true loss is the margin or just more."""
    images = 25
    margin = lost - gained
    baseline = table_of(0, 1)
    condition = NoWorse(AT, margin, baseline)
    worse = NoWorse(AT, margin - 1e-9, baseline)

    shown = refuted = 0.0
    for a, b in itertools.product(range(images + 1), repeat=2):
        if a + b > images:
            continue
        probability = stats.multinomial.pmf(
            [a, b, images - a - b], images, [gained, lost, 1.0 - gained - lost]
        )
        if probability < 1e-9:
            continue
        counts = Counts(images, hits=a, losses=b)
        low, _ = worse.ends(counts, 0.05, 0.05)
        _, high = condition.ends(counts, 0.05, 0.05)
        shown += probability * (low >= worse.threshold)
        refuted += probability * (high < condition.threshold)
    assert max(shown, refuted) <= 0.05


def test_a_plain_share_in_place_of_a_bound_would_err_far_more_often() -> None:
    """The control: the enumeration above tells a gate without an interval."""
    hits = np.arange(201)
    probability = stats.binom.pmf(hits, 200, 0.6)
    assert probability[hits / 200 > 0.6].sum() > 0.4


def test_several_conditions_are_shown_together_and_refuted_by_one() -> None:
    table = table_of(150, 200)
    both = [AtLeast(AT, 0.6), AtLeast(0.05, 0.9)]
    assert check(table, conditions=both).outcome == SHOWN
    assert check(table, conditions=[*both, AtLeast(AT, 0.9)]).outcome == REFUTED
    assert check(table, conditions=[*both, AtLeast(AT, 0.74)]).outcome == NOT_ENOUGH

    # Shown at the level of one, refuted at a level divided by their number.
    alone = check(table, AT, 0.806).conditions[0]
    among = check(table, conditions=[AtLeast(AT, 0.806), *both]).conditions[0]
    assert alone.outcome == REFUTED and among.outcome == NOT_ENOUGH
    assert among.estimate.low == alone.estimate.low
    assert among.estimate.high > alone.estimate.high


def test_checks_that_are_repeated_err_together_as_rarely_as_one() -> None:
    table = table_of(150, 200)
    once = check(table, AT, 0.69).conditions[0].estimate
    of_twenty = check(table, AT, 0.69, runs=20).conditions[0].estimate
    expected = stats.beta.ppf(0.05 / 20, 150, 51)
    assert of_twenty.low == pytest.approx(expected, abs=1e-9)
    assert of_twenty.low < once.low


@pytest.mark.parametrize("least", [0.69, 0.7, 0.78, 0.8])
def test_so_many_images_decide_as_are_said_to_be_needed(least: float) -> None:
    judged = check(table_of(150, 200), AT, least).conditions[0]
    needed = judged.images_needed
    if judged.outcome != NOT_ENOUGH:
        assert needed is None
        return
    assert needed is not None and needed > 200

    def decided(images: int) -> bool:
        certified = round(0.75 * images)
        return check(table_of(certified, images), AT, least).outcome != NOT_ENOUGH

    assert decided(needed)
    assert not decided(int(0.9 * needed))


def test_no_number_of_images_decides_what_is_exactly_so() -> None:
    checked = check(table_of(150, 200), AT, 0.75)
    assert checked.outcome == NOT_ENOUGH and checked.images_needed is None


def test_a_loss_counts_the_images_that_one_table_alone_certifies() -> None:
    old = from_radii([0.8] * 60 + [0.1] * 40, name="old")
    new = from_radii([0.1] * 5 + [0.8] * 58 + [0.1] * 37, name="new")
    checked = check(new, AT, baseline=old, margin=0.1)
    (judged,) = checked.conditions
    assert judged.estimate.value == pytest.approx((3 - 5) / 100)
    assert judged.condition.measure(new) == Counts(100, hits=3, losses=5)
    assert checked.outcome == SHOWN
    assert check(new, AT, baseline=old, margin=0.01).outcome == NOT_ENOUGH


def one_radius() -> Certificates:
    """Return a table whose samples answer radius 0.5 alone."""
    table = from_radii([0.5, 0.5], sigma=0.5, n=1000, alpha=0.001)
    return replace(table, header=table.header.replace(rule="radius=0.5"))


REFUSED: list[tuple[type[Problem], str | None, Callable[[], Any]]] = [
    (MissingValue, "at", lambda: check(table_of(1, 2))),
    (MissingValue, "at", lambda: check(table_of(1, 2), least=0.5)),
    (MissingValue, "least", lambda: check(table_of(1, 2), AT)),
    (
        MissingValue,
        "margin",
        lambda: check(table_of(1, 2), AT, baseline=table_of(1, 2)),
    ),
    (MissingValue, "baseline", lambda: check(table_of(1, 2), AT, margin=0.02)),
    (BadValue, "least", lambda: check(table_of(1, 2), AT, 60)),
    (BadValue, "confidence", lambda: check(table_of(1, 2), AT, 0.5, confidence=95)),
    (BadValue, "runs", lambda: check(table_of(1, 2), AT, 0.5, runs=0)),
    (BadValue, "radius", lambda: check(table_of(1, 2), -1.0, 0.5)),
    (BadValue, "at", lambda: check(one_radius(), 0.25, 0.5)),
    (
        BadValue,
        "at",
        lambda: check(from_radii([0.3], sigma=0.5, n=1000, alpha=0.001), 2.0, 0.5),
    ),
    (
        NotComparable,
        None,
        lambda: check(table_of(1, 2), AT, baseline=table_of(1, 1), margin=0.1),
    ),
    (WrongTable, None, lambda: check(from_radii([]), AT, 0.5)),
]


@pytest.mark.parametrize(("kind", "field", "ask"), REFUSED)
def test_what_cannot_be_checked_is_refused(
    kind: type[Problem], field: str | None, ask: Callable[[], Any]
) -> None:
    with pytest.raises(kind) as refused:
        ask()
    assert refused.value.field == field
