"""Every metric of one table against a slow derivation in plain Python, its intervals by coverage.

And expected figures at a smaller budget: against enumeration and resampling; what cannot be judged anew.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from metrics.conftest import Make
from models.refusing import check_refusals, problem_of, refusal
from randsmooth import bounds, metrics
from randsmooth.certificates import Certificates, Header, from_evidence
from randsmooth.errors import BadValue, TooFewSamples, WrongTable
from randsmooth.noise import Gaussian
from values import Refusal

ROWS = [
    (0, 0, 0.5), (0, -1, 0.0), (1, 1, 1.25), (1, 0, 0.75), (2, 2, 0.0), (2, 2, 0.5), (0, 0, 0.25), (1, -1, 0.0),
]  # fmt: skip
HITS = [0, 100, 499, 500, 501, 620, 700, 999, 1000]
FACTS = {"sigma": 0.5, "n": 1000, "alpha": 0.001}
Z = stats.norm.ppf(0.975)


def test_accuracy_acr_and_area_are_sums_over_the_images(log: Make) -> None:
    table, right = (
        log(ROWS),
        [radius for label, predict, radius in ROWS if label == predict],
    )
    for r in (0.0, 0.2, 0.25, 0.250001, 0.5, 1.25, 2.0):
        estimate = metrics.certified_accuracy(table, r)
        assert (estimate.value, estimate.images) == (
            sum(radius >= r for radius in right) / 8,
            8,
        ), r
        assert estimate.low <= estimate.value <= estimate.high
    assert metrics.acr(table).value == pytest.approx(sum(right) / 8, abs=1e-15)
    assert metrics.abstention(table).value == 2 / 8
    radii, shares = metrics.accuracy_curve(table)
    assert radii.tolist() == [0.0, 0.25, 0.5, 1.25]
    assert shares.tolist() == [
        metrics.certified_accuracy(table, r).value for r in radii.tolist()
    ]
    for up_to in (
        0.1,
        0.25,
        0.4,
        1.0,
        1.25,
        3.0,
    ):  # the integral of the staircase, which is ACR far enough
        area = metrics.accuracy_area(table, up_to)
        assert area.value == pytest.approx(
            float(np.diff(np.minimum(radii, up_to)) @ shares[1:]), abs=1e-15
        ), up_to
        assert area.low <= area.value <= area.high
    assert metrics.accuracy_area(table, 1.25) == metrics.acr(table)
    farther = log([(label, predict, 2.0 * radius) for label, predict, radius in ROWS])
    assert (
        metrics.accuracy_area(farther, 0.25).value
        == metrics.accuracy_area(table, 0.25).value
    )


def test_a_summary_has_the_usual_radii_unless_others_are_asked_for(log: Make) -> None:
    table = log(ROWS)
    assert metrics.usual_radii([table]) == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]
    assert metrics.usual_radii([log([(0, 1, 9.0)])]) == [0.0]
    assert list(metrics.summarise(table).accuracy) == metrics.usual_radii([table])
    assert list(metrics.summarise(table, [0.3]).accuracy) == [0.3]
    assert (
        str(metrics.Estimate(0.2278, 0.127, 0.3341, 20))
        == "0.228 (0.127 to 0.334, 20 images)"
    )
    assert str(metrics.mean([1.0], (0.0, 1.0))) == "1.000 (0.025 to 1.000, 1 image)"


def test_a_label_aware_table_does_not_tell_abstention(log: Make) -> None:
    """Images whose picked class missed the label took no samples: whether they would be abstained on is not known."""
    table = log(ROWS, "aware", label_aware=True)
    Refusal(WrongTable, "label_aware=False").check(
        problem_of(lambda: metrics.abstention(table))
    )
    told, untold = metrics.summarise(log(ROWS), [0.5]), metrics.summarise(table, [0.5])
    assert untold.abstention is None and told.abstention == metrics.abstention(
        log(ROWS)
    )
    assert (untold.acr, untold.accuracy) == (
        told.acr,
        told.accuracy,
    )  # what it tells all the same


def test_what_makes_no_sense_is_refused(log: Make, counted: Make) -> None:
    table, empty = log(ROWS), log([], sigma=0.5, n=100, alpha=0.01)
    for metric in (
        metrics.acr,
        metrics.abstention,
        metrics.p_a,
        lambda t: metrics.certified_accuracy(t, 0.0),
    ):
        Refusal(WrongTable).check(problem_of(partial(metric, empty)))
    for r in (-0.1, math.nan, math.inf):
        Refusal(BadValue, f"radius {r}").check(
            problem_of(partial(metrics.certified_accuracy, table, r))
        )
        Refusal(BadValue, f"radius {r}").check(
            problem_of(partial(metrics.accuracy_area, table, r))
        )
    Refusal(BadValue, "up_to=0").check(
        problem_of(lambda: metrics.accuracy_area(table, 0.0))
    )
    for q in (0.0, 1.0, -0.1, math.nan):
        Refusal(BadValue, f"q={q}", field="q").check(
            problem_of(partial(metrics.p_a_quantiles, counted([900]), [q]))
        )
    for ends in ((0.0, 0.5), (0.5, 1.0)):
        Refusal(BadValue, "0.2", "0.7").check(
            problem_of(partial(metrics.mean, [0.2, 0.7], ends))
        )


def test_an_interval_of_a_share_is_clopper_and_pearsons() -> None:
    for k, n in [(0, 1), (1, 1), (0, 50), (50, 50), (1, 50), (17, 50), (6875, 10_000)]:
        low = stats.beta.ppf(0.025, k, n - k + 1) if k else 0.0
        high = stats.beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
        estimate = metrics.share(np.arange(n) < k)
        assert (estimate.value, estimate.images) == (k / n, n)
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-12), (
            k,
            n,
        )
        assert [float(end) for end in metrics.share_interval(k, n)] == pytest.approx(
            [low, high], abs=1e-12
        )
    Refusal(BadValue, "k=3", "n=2").check(
        problem_of(lambda: metrics.share_interval(3, 2))
    )


def wilson(
    k: NDArray[np.int64], n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The control: Wilson's score interval at 95%, which no share between 0 and 1 is sure to lie in."""
    p = k / n
    half = Z * np.sqrt(p * (1.0 - p) / n + Z * Z / (4.0 * n * n)) / (1.0 + Z * Z / n)
    centre = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def test_intervals_of_shares_hold_near_0_and_1_too() -> None:
    """Exactly, by the probabilities of all counts."""
    least = {"exact": 1.0, "Wilson": 1.0}
    for images in (20, 100, 500, 10_000):
        k = np.arange(images + 1)
        each = {"exact": metrics.share_interval(k, images), "Wilson": wilson(k, images)}
        expected = np.array([0.02, 0.1, 0.17, 0.5, 1.0, 3.0, 8.0])
        for p in [*(expected / images), *(1.0 - expected / images), 0.5]:
            chances = stats.binom.pmf(k, images, p)
            for name, (low, high) in each.items():
                least[name] = min(least[name], chances[(low <= p) & (p <= high)].sum())
    assert least["exact"] >= 0.95 - 1e-9
    assert least["Wilson"] < 0.86


def test_the_best_of_equal_tables_is_covered_once_the_choice_is_allowed_for() -> None:
    rng, images, p = np.random.default_rng(0), 500, 0.8
    for tables, too_high in ((10, 0.02), (20, 0.025), (40, 0.03)):
        best = rng.binomial(images, p, (1000, tables)).max(axis=1)
        found = [metrics.share(np.arange(images) < k) for k in best.tolist()]
        chosen = [metrics.share_if_chosen(one, tables) for one in found]
        assert np.mean([one.value for one in found]) > p + too_high
        assert np.mean([not one.low <= p <= one.high for one in chosen]) <= 0.05
        assert (
            np.mean([not one.low <= p <= one.high for one in found]) > 0.15
        )  # the control: its own interval
    assert metrics.share_if_chosen(found[0], 1) == found[0]
    Refusal(BadValue, "tables=0", field="tables").check(
        problem_of(lambda: metrics.share_if_chosen(found[0], 0))
    )


def test_p_a_is_the_labels_share_and_a_log_gives_back_that_of_right_images(
    counted: Make, log: Make
) -> None:
    table = counted(HITS)
    measured, right = metrics.p_a(table), table.correct
    assert (
        measured.values.tolist() == [k / 1000 for k in HITS]
        and measured.known_from == 0.0
    )
    for x in (0.0, 0.1, 0.5, 0.57, 0.62, 0.700001, 1.0):
        expected = sum(k / 1000 >= x for k in HITS) / len(HITS)
        assert (
            metrics.p_a_curve(table, np.array([x]))[0]
            == expected
            == measured.share(x).value
        )
    logged = log(
        list(zip(table.label, table.predict, table.radius, strict=True)), **FACTS
    )
    recovered = metrics.p_a(logged)
    np.testing.assert_array_equal(recovered.values[right], np.array(HITS)[right] / 1000)
    assert np.all(np.isnan(recovered.values[~right])) and recovered.known_from == 0.5
    assert np.isnan(metrics.p_a_curve(logged, np.array([0.0, 0.49]))).all()
    Refusal(WrongTable, "0.49").check(problem_of(lambda: recovered.share(0.49)))
    for lacking in FACTS:
        bare = log(
            [(0, 0, 0.5)],
            **{name: fact for name, fact in FACTS.items() if name != lacking},
        )
        assert f"give {lacking}" in refusal(
            partial(metrics.p_a, bare)
        ) and not metrics.knows_p_a(bare)


def test_quantiles_are_order_statistics_and_a_log_tells_upper_ones_only(
    log: Make, counted: Make
) -> None:
    q = (0.01, 0.07, 0.1, 0.5, 0.9, 0.99)
    for images in (1, 9, 10, 100):
        hits = np.random.default_rng(images).integers(0, 1001, images)
        for share, one in metrics.p_a_quantiles(counted(hits), q).items():
            rank = math.ceil(
                Fraction(str(share)) * images
            )  # NumPy's inverted_cdf takes the 8th of 100 for 0.07
            assert (
                one.value == np.sort(hits)[rank - 1] / 1000 and one.images == images
            ), (images, share)
            assert one.low <= one.value <= one.high
    rows = [(0, 0, float(counted([900]).radius[0]))] * 50 + [(0, 1, 0.5)] * 40
    found = metrics.p_a_quantiles(log(rows, **FACTS), [0.2, 0.5, 0.9])
    assert np.isnan([found[0.2].value, found[0.2].low, found[0.2].high]).all()
    assert (found[0.5].value, found[0.5].high) == (0.9, 0.9) and np.isnan(
        found[0.5].low
    )
    assert (found[0.9].value, found[0.9].low, found[0.9].high) == (0.9, 0.9, 0.9)


def rate(held: Callable[[np.random.Generator], bool], runs: int = 200) -> float:
    rng = np.random.default_rng(0)
    return sum(held(rng) for _ in range(runs)) / runs


LEAST = 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / 200)


def test_the_interval_of_a_quantile_covers_and_one_narrower_would_not(
    counted: Make,
) -> None:
    for images, q in [
        (20, 0.5),
        (150, 0.05),
        (150, 0.9),
    ]:  # of p_A uniform on (0, 1), to the 1e-6 of n

        def inside(
            rng: np.random.Generator, cut: float, images: int = images, q: float = q
        ) -> bool:
            one = metrics.p_a_quantiles(
                counted(rng.integers(0, 10**6, images), n=10**6), [q]
            )[q]
            return (
                one.low + cut * (one.high - one.low)
                <= q
                <= one.high - cut * (one.high - one.low)
            )

        assert rate(lambda rng: inside(rng, 0.0)) >= LEAST, (images, q)
        assert rate(lambda rng: inside(rng, 0.25)) < 0.85, (images, q)


def test_the_band_covers_the_whole_p_a_curve(counted: Make, log: Make) -> None:
    n, truth = 500, (501 - np.arange(501)) / 501  # p_A uniform on 0, 1/n, ..., 1
    grid = np.arange(n + 1) / n
    for images in (20, 200):

        def whole(
            rng: np.random.Generator, pointwise: bool, images: int = images
        ) -> bool:
            table = counted(rng.integers(0, n + 1, images), n=n)
            hits = np.rint(metrics.p_a_curve(table, grid) * images)
            ends = (
                metrics.share_interval(hits, images)
                if pointwise
                else metrics.p_a_band(table, grid)
            )
            return bool(np.all((ends[0] <= truth) & (truth <= ends[1])))

        assert rate(lambda rng: whole(rng, False)) >= LEAST
        assert (
            rate(lambda rng: whole(rng, True)) < 0.85
        )  # the control: intervals of single points
    low, high = metrics.p_a_band(counted([400] * 5_000 + [600] * 5_000), [0.0, 0.5])
    assert [low[0], high[0]] == pytest.approx(
        [1.0 - 0.013581, 1.0], abs=1e-6
    )  # Massart's
    assert [low[1], high[1]] == pytest.approx(
        [0.5 - 0.013581, 0.5 + 0.013581], abs=1e-6
    )
    unknown = np.array(metrics.p_a_band(log([(0, 0, 0.5)], **FACTS), [0.4, 0.6]))
    assert np.isnan(unknown[:, 0]).all() and unknown[1, 1] == 1.0


def three_classes(
    images: int = 40, n: int = 400, alpha: float = 0.01, seed: int = 0
) -> Certificates:
    """Counts of three classes, some images picked wrongly and some not certified."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1.0, 0.5, 0.5], size=images)
    header, idx, label = (
        Header(sigma=0.5, n0=10, n=n, alpha=alpha),
        np.arange(images),
        rng.integers(0, 2, images),
    )
    counts0, counts = rng.multinomial(10, p), rng.multinomial(n, p)
    return from_evidence(
        header,
        idx=idx,
        label=label,
        counts0=counts0,
        counts=counts,
        seconds=np.zeros(images),
        name="three",
    )


def test_every_subset_of_a_small_table(counted: Make) -> None:
    n, stored, alpha = 5, 10, 0.2
    for hits in range(stored + 1):
        table = counted([hits], n=stored)
        samples = [1] * hits + [0] * (stored - hits)
        k = np.array([sum(chosen) for chosen in combinations(samples, n)])
        radii = Gaussian(0.5).radius(bounds.q_upper(k, n, alpha))
        right = (
            2 * hits >= stored
        )  # else the selection samples, here the same, picked the other class
        expected = metrics.expected_radius(table, n, alpha)
        assert expected[0] == pytest.approx(right * radii.mean(), abs=1e-12)
        for r in (0.0, 0.1, 0.4):
            held = (bounds.q_upper(k, n, alpha) < 0.5) & (radii >= r)
            chance = metrics.chance_certified(table, r, n, alpha)
            assert chance[0] == pytest.approx(right * held.mean(), abs=1e-12)


def test_resampling_has_this_mean() -> None:
    for n, alpha in [(50, None), (20, 0.1)]:
        table = three_classes()
        redrawn = [table.at(n=n, alpha=alpha, seed=seed) for seed in range(300)]
        figures_of = [(metrics.acr_at(table, n, alpha), metrics.acr)]
        for r in (0.0, 0.3):
            figures_of.append(
                (
                    metrics.accuracy_at(table, r, n, alpha),
                    partial(metrics.certified_accuracy, r=r),
                )
            )
        for exact, metric in figures_of:
            figures = [metric(again).value for again in redrawn]
            error = np.std(figures) / np.sqrt(len(figures))
            assert exact.value == pytest.approx(
                np.mean(figures), abs=4.0 * error + 1e-12
            ), (n, alpha)


def test_at_the_stored_n_it_is_the_table() -> None:
    table = three_classes()
    np.testing.assert_allclose(
        metrics.expected_radius(table), table.radius * table.correct, rtol=0, atol=1e-15
    )
    assert metrics.acr_at(table).value == pytest.approx(
        metrics.acr(table).value, abs=1e-15
    )
    for r in (0.0, 0.2, 0.6):
        np.testing.assert_array_equal(
            metrics.chance_certified(table, r), metrics.certified(table, r)
        )
    stricter = table.at(alpha=1e-6)
    expected = metrics.expected_radius(table, alpha=1e-6)
    np.testing.assert_allclose(
        expected, stricter.radius * stricter.correct, rtol=0, atol=1e-15
    )


def test_a_log_gives_what_its_counts_give_but_for_abstentions() -> None:
    table = three_classes(images=200)
    log = replace(
        table,
        counts0=None,
        counts=None,
        paths=None,
        header=Header(sigma=0.5, n=400, alpha=0.01),
    )
    of_log, of_counts = (
        metrics.expected_radius(log, 100),
        metrics.expected_radius(table, 100),
    )
    np.testing.assert_allclose(
        of_log[table.correct], of_counts[table.correct], rtol=0, atol=1e-15
    )
    assert not of_log[~table.correct].any()
    abstained = of_counts[~table.correct]
    assert (
        0.0 < abstained.max() < 0.02
    )  # the luck of few samples, which a log cannot tell


def test_what_cannot_be_judged_anew_is_refused(log: Make) -> None:
    table = three_classes()

    def under(**facts: object) -> Certificates:
        return replace(table, header=table.header.replace(**facts))

    check_refusals(
        [
            (
                lambda: metrics.acr_at(table, 401),
                Refusal(BadValue, "n=401", "1..400", field="n"),
            ),
            (
                lambda: metrics.accuracy_at(table, 0.0, 6),
                Refusal(TooFewSamples, "n >= 7", "n=6"),
            ),
            (
                lambda: metrics.acr_at(table, alpha=1.5),
                Refusal(BadValue, "alpha=1.5", field="alpha"),
            ),
            (lambda: metrics.accuracy_at(table, -1.0), Refusal(BadValue, "radius -1")),
            (
                lambda: metrics.acr_at(under(rule="radius=0.5"), 100),
                Refusal(WrongTable, "three", "radius=0.5"),
            ),
            (
                lambda: metrics.acr_at(under(label_aware=True), 100),
                Refusal(WrongTable),
            ),
            (
                lambda: metrics.acr_at(under(bound="two-sided"), 100),
                Refusal(WrongTable),
            ),
            (lambda: metrics.acr_at(log([(0, 0, 0.5)]), 100), Refusal(WrongTable)),
            (
                lambda: metrics.acr_at(log([], sigma=0.5, n=100, alpha=0.01)),
                Refusal(WrongTable),
            ),
        ]
    )
