"""Tables of the same images: which rows are paired, an exact test, where a difference comes from, the best of some.

And the p_A of the released CIFAR-10 logs at sigma 0.5, and where their curves cross; tests/papers has their figures.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from metrics.conftest import Make
from models.refusing import check_refusals, problem_of, refusal
from randsmooth import metrics
from randsmooth.certificates import Certificates, read
from randsmooth.errors import BadValue, MissingValue, NotComparable, WrongTable
from values import Refusal

PAIRS = [
    (0, 0),
    (1, 0),
    (0, 5),
    (5, 0),
    (6, 0),
    (3, 3),
    (10, 4),
    (30, 12),
    (249, 1684),
    (800, 801),
]


def indexed(table: Certificates, idx: list[int]) -> Certificates:
    return replace(table, idx=np.array(idx))


def test_shared_images_stay_in_the_order_of_the_first_with_all_their_columns(
    counted: Make, log: Make
) -> None:
    a = indexed(counted([900, 800, 700, 600]), [7, 3, 9, 1])
    b = replace(
        indexed(counted([510, 520, 530, 540]), [1, 9, 5, 7]), seconds=np.arange(4.0)
    )
    first, second = metrics.pair(a, b)
    assert first.idx.tolist() == second.idx.tolist() == [7, 9, 1]
    assert first.paths is not None and [path.tolist() for path in first.paths] == [
        [900],
        [700],
        [600],
    ]
    for column in ("predict", "radius", "seconds", "counts0", "counts"):
        np.testing.assert_array_equal(
            getattr(second, column), getattr(b, column)[[3, 1, 0]]
        )
    every, some = (
        log([(0, 0, 1.0), (1, 1, 2.0), (2, 2, 3.0)]),
        indexed(log([(2, 2, 1.0), (0, 0, 0.5)]), [2, 0]),
    )
    assert metrics.acr_difference(*metrics.pair(every, some)).value == (0.5 + 2.0) / 2


def test_what_cannot_be_paired_is_refused(log: Make, counted: Make) -> None:
    twice, good = (
        indexed(log([(0, 0, 1.0)] * 3, name="T"), [4, 8, 8]),
        indexed(log([(0, 0, 1.0)] * 3), [4, 8, 9]),
    )
    a, b = (
        log([(0, 0, 1.0), (1, 1, 1.0)], name="A"),
        log([(0, 0, 1.0), (2, 2, 1.0)], name="B"),
    )
    for tables in ((twice, good), (good, twice)):
        Refusal(WrongTable).check(problem_of(partial(metrics.pair, *tables)))
    Refusal(NotComparable, "(2 images)").check(
        problem_of(lambda: metrics.pair(a, indexed(b, [5, 6])))
    )
    Refusal(NotComparable).check(problem_of(lambda: metrics.pair(a, b)))
    for compare in (metrics.verdict, metrics.acr_difference):
        for other in (b, counted([900], name="B")):
            problem = problem_of(partial(compare, a, other))
            Refusal(NotComparable, "(2 images)").check(problem)
    Refusal(WrongTable).check(problem_of(lambda: metrics.verdict(log([]), log([]))))
    Refusal(BadValue, "radius -1").check(
        problem_of(lambda: metrics.compare([(a, a)], [-1.0]))
    )
    assert all("k=-1" in refusal(lambda b=b: metrics.mcnemar(-1, b)) for b in (1, 2))
    for only_a, only_b, field in (
        (2, 2, "only_a"),
        (-1, 2, "only_a"),
        (0, -1, "only_b"),
    ):
        Refusal(BadValue, field=field).check(
            problem_of(metrics.fresh_difference, only_a, only_b, 3)
        )


def test_the_difference_of_acrs_is_paired(counted: Make, log: Make) -> None:
    rng = np.random.default_rng(1)
    first, second = (counted(rng.integers(0, 1001, 200)) for _ in range(2))
    gap = metrics.acr_difference(first, second)
    assert gap.value == pytest.approx(
        metrics.acr(first).value - metrics.acr(second).value, abs=1e-12
    )
    hits = rng.integers(500, 950, 5000)
    gap, alone = (
        metrics.acr_difference(counted(hits + 50), counted(hits)),
        metrics.acr(counted(hits)),
    )
    assert (
        gap.low > 0.0
    )  # a gain on every image shows, though each ACR alone is less certain
    assert gap.high - gap.low < (alone.high - alone.low) / 2.0
    small = metrics.acr_difference(counted(hits[:200] + 1), counted(hits[:200]))
    assert (
        small.low < 0.0 < small.value
    )  # one image of 200 that loses all would outweigh it
    wrong = metrics.acr_difference(
        log([(0, 0, 1.0), (1, 0, 9.0)]), log([(0, 0, 0.5), (1, -1, 0.0)])
    )
    assert wrong.value == 0.25


def test_mcnemars_test_is_that_of_statsmodels_and_scipy() -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    for a, b in PAIRS:
        p = metrics.mcnemar(a, b)
        assert p == metrics.mcnemar(b, a) and (a + b or p == 1.0)
        assert p == pytest.approx(
            tables.mcnemar([[9, a], [b, 9]], exact=True).pvalue if a + b else 1.0,
            rel=1e-9,
        )
        assert p == pytest.approx(
            stats.binomtest(a, a + b).pvalue if a + b else 1.0, rel=1e-9
        ), (a, b)


METHOD = [(0, 0, 0.9), (0, -1, 0.0), (1, 0, 0.7), (1, 1, 0.2), (1, 1, 1.0), (2, 2, 0.5)]
REFERENCE = [
    (0, 0, 0.5),
    (0, 0, 0.5),
    (1, 1, 0.1),
    (1, 1, 0.5),
    (1, -1, 0.0),
    (2, 2, 0.5),
]


def test_who_was_given_up_by_hand(log: Make) -> None:
    method, reference = (
        replace(log(rows), idx=np.arange(10, 16)) for rows in (METHOD, REFERENCE)
    )
    at = metrics.given_up(method, reference)
    assert (at.lost.tolist(), at.won.tolist()) == ([11, 12], [14])
    assert (at.classes.tolist(), at.images.tolist()) == ([0, 1, 2], [2, 3, 1])
    assert (at.lost_by_class.tolist(), at.won_by_class.tolist()) == (
        [1, 1, 0],
        [0, 1, 0],
    )
    assert at.worst_class == 0  # net of what it won, and by its size
    farther, back = (
        metrics.given_up(method, reference, 0.5),
        metrics.given_up(reference, method, 0.5),
    )
    assert farther.lost.tolist() == back.won.tolist() == [
        11,
        13,
    ] and farther.won.tolist() == back.lost.tolist() == [14]


def test_parts_by_hand(counted: Make, log: Make) -> None:
    reference = counted([0, 500, 501, 800, 801, 1000])
    a = log(
        [(0, 0, 1.0), (0, 0, 2.0), (0, 0, 4.0), (0, 0, 8.0), (0, 0, 16.0), (0, 1, 99.0)]
    )
    b = log(
        [(0, 0, 1.0), (0, 0, 1.0), (0, -1, 0.0), (0, 0, 2.0), (0, 0, 4.0), (0, 0, 1.0)]
    )
    parts = metrics.waterfall(a, b, reference)
    assert parts.images.tolist() == [
        2,
        1,
        0,
        1,
        1,
        0,
        0,
        1,
    ]  # a border belongs to the bin below it, 0 to the first
    np.testing.assert_allclose(6 * parts.a, [3.0, 4.0, 0.0, 8.0, 16.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(6 * parts.b, [2.0, 0.0, 0.0, 2.0, 4.0, 0.0, 0.0, 1.0])
    assert parts.easy_share == pytest.approx(21.0 / 22.0, abs=1e-15)
    assert np.isnan(metrics.waterfall(reference, reference).easy_share)


def test_parts_sum_to_the_whole(counted: Make) -> None:
    rng = np.random.default_rng(0)
    a, b, reference = (counted(rng.integers(0, 1001, 3000)) for _ in range(3))
    parts = metrics.waterfall(a, b, reference)
    assert [parts.a.sum(), parts.b.sum()] == pytest.approx(
        [metrics.acr(a).value, metrics.acr(b).value], abs=1e-12
    )
    assert parts.difference.sum() == pytest.approx(
        metrics.acr_difference(a, b).value, abs=1e-12
    )
    assert parts.images.sum() == 3000
    above = parts.edges[:-1] >= 0.5
    assert parts.easy_share == pytest.approx(
        parts.difference[above].sum() / parts.difference.sum(), abs=1e-12
    )


def test_alone_a_table_is_its_own_reference(counted: Make, log: Make) -> None:
    table = counted([400, 700, 900, 999])
    parts = metrics.waterfall(table)
    assert parts.images.tolist() == [1, 0, 1, 0, 1, 0, 0, 1]
    assert parts.difference.sum() == pytest.approx(metrics.acr(table).value, abs=1e-15)
    assert (
        parts.easy_share == 1.0 and not parts.b.any()
    )  # only what has p_A > 1/2 is certified
    other = metrics.waterfall(table, None, counted([100, 100, 100, 990]))
    np.testing.assert_allclose(
        other.a[[0, 6]], [table.radius[1:3].sum() / 4, table.radius[3] / 4]
    )
    logged = log(
        [(0, 0, 0.5), (0, 1, 0.5), (0, -1, 0.0)], sigma=0.5, n=1000, alpha=0.001
    )
    assert metrics.waterfall(logged).images.tolist() == [
        2,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
    ]  # wrong ones in the first bin
    for call in (metrics.waterfall, metrics.given_up):
        Refusal(NotComparable).check(problem_of(partial(call, table, logged)))
    Refusal(WrongTable).check(problem_of(lambda: metrics.given_up(log([]), log([]))))


def test_most_of_what_ours_gains_comes_from_images_that_gaussian_had_right(
    logs: Path,
) -> None:
    named = (read(logs / f"{name}.tsv") for name in ("ours", "gaussian"))
    ours, gaussian = (
        table.assuming(sigma=0.5, n=100_000, alpha=0.001) for table in named
    )
    parts = metrics.waterfall(ours, gaussian)
    assert parts.difference.sum() == pytest.approx(
        metrics.acr_difference(ours, gaussian).value, abs=1e-12
    )
    assert parts.easy_share == pytest.approx(0.811, abs=0.001)
    assert parts.images[0] == 3125  # those on which gaussian is wrong or abstains


def test_an_envelope_is_the_best_of_the_tables_themselves(log: Make) -> None:
    level = metrics.envelope([log([(0, 0, 0.5)]), log([(0, 0, 0.5)])], [0.5, 1.0])
    assert level.best.tolist() == [
        0,
        -1,
    ]  # the first of two that are level; none where none certifies
    assert "no one classifier's" in metrics.NO_ONE_CLASSIFIER
    rng = np.random.default_rng(0)
    tables = []
    for sigma in (0.25, 0.5, 1.0):
        predict, radius = (
            rng.integers(-1, 2, 40),
            rng.uniform(0, 4 * sigma, 40).round(2),
        )
        tables.append(
            log(
                [(0, int(p), float(r)) for p, r in zip(predict, radius, strict=True)],
                sigma=sigma,
            )
        )
    found = metrics.envelope(tables)
    for r, share, low, high, best in zip(
        found.radii, found.share, found.low, found.high, found.best, strict=True
    ):
        each = [metrics.certified_accuracy(table, float(r)).value for table in tables]
        assert share == max(each) and each[best] == share and low <= share <= high
        ends = [
            metrics.share_interval(round(40 * one), 40, level=1 - 0.05 / 3)
            for one in each
        ]
        assert (low, high) == pytest.approx(
            (max(e[0] for e in ends), max(e[1] for e in ends))
        )
    grid = np.linspace(0, 5, 77)
    each = [metrics.certified_accuracy(tables[0], r).value for r in grid.tolist()]
    assert metrics.certified_shares(tables[0], grid).tolist() == each


def test_the_interval_covers_the_best_though_it_was_chosen(log: Make) -> None:
    """Ten tables of one accuracy, 1/2: the control, the chosen table's own interval, misses it too often."""
    rng, images, missed, alone = np.random.default_rng(0), 100, 0, 0
    for _ in range(300):
        tables = [
            log([(0, int(wrong), 1.0) for wrong in rng.random(images) < 0.5])
            for _ in range(10)
        ]
        found = metrics.envelope(tables, [0.5])
        missed += not found.low[0] <= 0.5 <= found.high[0]
        low, high = metrics.share_interval(round(images * found.share[0]), images)
        alone += not low <= 0.5 <= high
    assert missed <= 0.05 * 300 + 10 < 0.1 * 300 < alone


def test_an_envelope_of_tables_that_certify_next_to_nothing_is_covered(
    log: Make,
) -> None:
    """Four tables that certify 0.12% of all images, beside Wilson's ends at the same level, the control."""
    rng, images, share, missed, by_wilson = np.random.default_rng(0), 100, 0.0012, 0, 0
    z = float(stats.norm.isf(0.05 / 4 / 2))
    for _ in range(200):
        hits = rng.random((4, images)) < share
        found = metrics.envelope(
            [log([(0, int(not hit), 1.0) for hit in row]) for row in hits], [0.5]
        )
        missed += not found.low[0] <= share <= found.high[0]
        p = hits.mean(axis=1)
        centre = (p + z * z / (2.0 * images)) / (1.0 + z * z / images)
        half = (
            z
            * np.sqrt(p * (1.0 - p) / images + (z / images) ** 2 / 4.0)
            / (1.0 + z * z / images)
        )
        by_wilson += bool((centre - half).max() > share)
    assert missed <= 0.05 * 200
    assert by_wilson > 0.2 * 200


def test_what_has_no_envelope_is_refused(log: Make) -> None:
    one, other = log([(0, 0, 1.0)], name="one"), log([(1, 1, 1.0)], name="other")
    check_refusals(
        [
            (lambda: metrics.envelope([]), Refusal(MissingValue)),
            (lambda: metrics.envelope([log([])]), Refusal(WrongTable)),
            (
                lambda: metrics.envelope([one, other]),
                Refusal(NotComparable, "(1 images)"),
            ),
            (lambda: metrics.envelope([one], [-1.0]), Refusal(BadValue, "radius -1.0")),
        ]
    )


# share of images with p_A >= 0.5, 0.75, 0.9, 0.99
P_A = {
    "gaussian": (0.6875, 0.5433, 0.3972, 0.1933),
    "smoothadv": (0.6641, 0.5616, 0.4647, 0.3074),
    "catrs": (0.6229, 0.5487, 0.4732, 0.3534),
    "ours": (0.5927, 0.5329, 0.4676, 0.3596),
}


def table(logs: Path, method: str) -> Certificates:
    return read(logs / f"{method}.tsv").assuming(sigma=0.5, n=100_000, alpha=0.001)


def test_p_a(logs: Path) -> None:
    for method, shares in P_A.items():
        found = metrics.p_a_curve(
            table(logs, method), np.array([0.4, 0.5, 0.75, 0.9, 0.99])
        )
        np.testing.assert_allclose(
            found, [np.nan, *shares], rtol=0, atol=0.001, err_msg=method
        )


# By the p_A curves' change of sign, each with a bootstrap interval, as they were published here before.
CROSSINGS = {
    "catrs": 0.307,
    "consistency": 0.273,
    "macer": 0.297,
    "ours": 0.371,
    "smoothadv": 0.197,
}


def test_all_cross_gaussian(logs: Path) -> None:
    gaussian = table(logs, "gaussian")
    for one in metrics.compare(
        [(table(logs, method), gaussian) for method in CROSSINGS]
    ):
        assert one.verdict is not None and one.verdict.outcome == metrics.CROSSES
        (crossing,) = one.verdict.crossings
        assert (
            crossing.radius == pytest.approx(CROSSINGS[one.a], abs=0.01)
            and crossing.ahead
        )
        assert crossing.low < crossing.radius < crossing.high


def test_ours_is_not_worse_than_catrs_everywhere(logs: Path) -> None:
    ours, catrs = table(logs, "ours"), table(logs, "catrs")
    (compared,) = metrics.compare([(ours, catrs)], [1.25], draws=10)
    at = compared.at(1.25)
    assert at is not None and (at.only_a, at.only_b) == (497, 358)
    (one,) = metrics.compare([(ours, catrs)], [1.25, 1.5, 1.75])
    assert one.verdict is not None and one.verdict.outcome == metrics.CROSSES
    assert [point.shown for r in (1.25, 1.5, 1.75) if (point := one.at(r))] == [1, 1, 1]
