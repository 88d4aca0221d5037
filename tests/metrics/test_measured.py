"""Accuracy from two passes: what it covers, how often, and choices that must fail."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from models.refusing import check_refusals
from randsmooth import bounds
from randsmooth.certificates import Certificates, Header, from_evidence, rule_of
from randsmooth.errors import BadValue, NotComparable, WrongTable
from randsmooth.metrics import (
    certified_accuracy,
    left_open,
    measured_accuracy,
    to_resolve,
)
from randsmooth.noise import Gaussian
from randsmooth.testing import walks
from values import Refusal

IMAGES, N, R, WITHIN, RUNS = 300, 4000, 0.5, 0.03, 20_000
HEADER = Header(
    sigma=0.5, n0=0, n=N, alpha=0.05, rule=f"radius={R}", label_aware=True, seed=0
)
SCREEN = HEADER.replace(rule=f"screen={R}")


def table(header: Header, paths: list[tuple[int, ...]], name: str) -> Certificates:
    """Images of two classes, of which the first is picked and right."""
    rule = rule_of(header)
    counts = np.array(
        [(path[-1], rule.samples(path) - path[-1]) for path in paths], np.int64
    )
    idx, label = np.arange(len(paths)), np.zeros(len(paths), np.int64)
    what = {
        "counts0": np.tile(np.array([1, 0]), (len(paths), 1)),
        "counts": counts,
        "seconds": label * 1.0,
    }
    taken = [np.array(path, np.int64) for path in paths]
    return from_evidence(header, idx=idx, label=label, paths=taken, name=name, **what)


def both(q: NDArray[np.float64], seed: int) -> tuple[Certificates, Certificates]:
    """The first pass over images of these failure probabilities, and the table of all of them certified to the end."""
    paths = walks(rule_of(HEADER), q, np.random.default_rng(seed))
    screen, cut = rule_of(SCREEN), []
    for path in paths:
        k = 0
        while k < len(path) and screen.next_look(path[:k]) is not None:
            k += 1
        cut.append(path[:k])
    return table(SCREEN, cut, "first"), table(HEADER, paths, "whole")


@pytest.fixture(scope="module")
def passes() -> tuple[Certificates, Certificates]:
    return both(np.random.default_rng(1).uniform(0.0, 0.35, IMAGES), seed=2)


def with_seed(
    tables: tuple[Certificates, Certificates], seed: int
) -> tuple[Certificates, Certificates]:
    """The same under another seed in the headers, by which chance chooses."""
    first, whole = (
        replace(each, header=each.header.replace(seed=seed)) for each in tables
    )
    return first, whole


def rows(whole: Certificates, idx: NDArray[np.int64]) -> Certificates:
    return whole.rows(np.isin(whole.idx, idx)).renamed("second")


@pytest.mark.slow
def test_the_interval_covers_what_the_whole_table_shows(
    passes: tuple[Certificates, Certificates],
) -> None:
    truth, missed, short = certified_accuracy(passes[1], R).value, 0, 0
    for seed in range(60):
        first, whole = with_seed(passes, seed)
        found = measured_accuracy(first, rows(whole, to_resolve(first, WITHIN)))
        missed += not found.low <= truth <= found.high
        short += (found.high - found.low) / 2.0 <= WITHIN
        assert (
            found.low <= found.value <= found.high
            and 0 < found.resolved < found.left_open
        )
    assert short == 60
    assert missed <= 8  # 3 are expected at most; more than 8 have probability 0.005


def test_all_resolved_is_the_whole_table_and_none_is_what_is_left(
    passes: tuple[Certificates, Certificates],
) -> None:
    first, whole = passes
    truth = certified_accuracy(whole, R).value
    every, none = (
        measured_accuracy(first, rows(whole, left_open(first))),
        measured_accuracy(first),
    )
    assert every.low == every.value == every.high == pytest.approx(truth)
    assert none.low == certified_accuracy(first, R).value < truth < none.high
    assert none.high - none.low == none.left_open / IMAGES


def test_wider_intervals_take_fewer_images_and_a_narrower_one_adds_to_them(
    passes: tuple[Certificates, Certificates],
) -> None:
    first, _ = passes
    chosen = [
        set(to_resolve(first, within).tolist()) for within in (0.4, 0.05, 0.02, 0.001)
    ]
    assert (
        chosen[0]
        == set()
        < chosen[1]
        < chosen[2]
        < chosen[3]
        == set(left_open(first).tolist())
    )


def test_control_images_chosen_by_their_samples_mislead(
    passes: tuple[Certificates, Certificates],
) -> None:
    """Those with the most successes are the likeliest to be certified: as if they stood for all that are left open."""
    first, whole = passes
    open_, drawn = left_open(first), len(to_resolve(first, WITHIN))
    assert first.counts is not None
    likely = open_[
        np.argsort(-first.counts[open_, 0] / first.counts[open_].sum(axis=1))
    ][:drawn]
    hits = int((rows(whole, likely).radius >= R).sum())
    truth = int((rows(whole, open_).radius >= R).sum())
    low, high = bounds.finite_share_interval(hits, drawn, len(open_), 0.05)
    assert not low <= truth <= high


def missed_by_any(
    tries: tuple[float, ...],
    level: float,
    total: int,
    hits: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """(RUNS,) whether some interval misses: of ever more of `total` open images of 10,000, `hits` to be certified."""
    found, left, drawn, missed = (
        np.zeros(RUNS, np.int64),
        np.full(RUNS, hits),
        0,
        np.zeros(RUNS, bool),
    )
    for within in tries:
        number = bounds.enough_drawn(total, 2.0 * within * 10_000, level)
        more = rng.hypergeometric(left, total - drawn - left, number - drawn)
        found, left, drawn = found + more, left - more, number
        ends = {
            k: bounds.finite_share_interval(k, drawn, total, level)
            for k in np.unique(found).tolist()
        }
        low, high = np.array([ends[k] for k in found.tolist()]).T
        missed |= (hits < low) | (hits > high)
    return missed


def test_an_ever_smaller_within_misses_more_often_unless_its_level_allows_for_the_tries() -> (
    None
):
    tries, rng = (0.1, 0.07, 0.05, 0.03, 0.02, 0.015, 0.01), np.random.default_rng(24)
    assert missed_by_any(tries[-1:], 0.05, 2_000, 900, rng).mean() < 0.05
    assert (
        0.14 < missed_by_any(tries, 0.05, 2_000, 900, rng).mean() < 0.16
    )  # as certification.md says
    assert missed_by_any(tries, 0.05 / len(tries), 2_000, 900, rng).mean() < 0.05


@pytest.mark.slow
def test_false_certificates_are_allowed_for() -> None:
    """Every image a hair below the radius: whatever is certified is false, and nothing may be assured."""
    q = np.full(60, float(Gaussian(0.5).tail(R)) + 1e-9)
    assured, counted = 0, 0
    for seed in range(30):
        first, whole = both(q, seed)
        found = measured_accuracy(first, rows(whole, left_open(first)))
        assured += found.assured > 0.0
        counted += found.low > 0.0
    assert assured <= 5  # 1.5 are expected at most; more than 5 have probability 0.004
    assert counted > 25  # the lower end itself counts them


def test_passes_that_do_not_belong_together_are_refused(
    passes: tuple[Certificates, Certificates],
) -> None:
    first, whole = passes
    second = rows(whole, to_resolve(first, WITHIN))
    other = rows(
        both(np.random.default_rng(1).uniform(0.0, 0.35, IMAGES), seed=3)[1], second.idx
    )
    few = rows(whole, left_open(first)[:5])
    check_refusals(
        [
            (lambda: left_open(whole), Refusal(WrongTable, "radius=0.5", "screen=R")),
            (
                lambda: measured_accuracy(first, first),
                Refusal(WrongTable, "screen=0.5", "radius=R"),
            ),
            (
                lambda: measured_accuracy(first, with_seed((first, second), 5)[1]),
                Refusal(NotComparable),
            ),
            (lambda: measured_accuracy(first, few), Refusal(NotComparable)),
            (
                lambda: measured_accuracy(first, other),
                Refusal(NotComparable),
            ),
            (
                lambda: to_resolve(first, 0.0),
                Refusal(BadValue, "within=0.0", field="within"),
            ),
            (
                lambda: to_resolve(first, 0.5),
                Refusal(BadValue, "within=0.5", field="within"),
            ),
        ]
    )
