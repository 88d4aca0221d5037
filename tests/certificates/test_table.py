"""The table: derived numbers follow from the counts, at any alpha and smaller n; impossible evidence is refused."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from certificates.walks import HEADER, RULES, SEQUENTIAL, evidence_of, same, table_of
from models.refusing import problem_of
from randsmooth import metrics
from randsmooth.certificates import Header, Machine, from_radii, read_tsv, write_tsv
from randsmooth.certificates.evidence import ABSTAIN
from randsmooth.certificates.table import Certificates, decide, from_evidence
from randsmooth.errors import BadValue, TooFewSamples, WrongTable
from randsmooth.noise import Gaussian
from randsmooth.notes import Note
from randsmooth.rules import Evidence, make_rule
from values import Refusal

Floats = NDArray[np.float64]
Make = Callable[..., Certificates]


def made(rule: str, **facts: object) -> Certificates:
    return table_of(HEADER.model_copy(update={"rule": rule, **facts}))


def test_decisions_follow_the_paper(make: Make) -> None:
    table = make(60)
    for row in range(len(table)):
        counts0, counts = table.evidence()
        picked = int(counts0[row].argmax())
        k, n = int(counts[row, picked]), 200
        p_lower = 0.0 if k == 0 else float(stats.beta.ppf(0.01, k, n - k + 1))
        if p_lower > 0.5:
            assert table.predict[row] == picked
            assert table.radius[row] == pytest.approx(
                0.5 * stats.norm.ppf(p_lower), abs=1e-12
            )
        else:
            assert (table.predict[row], table.radius[row]) == (ABSTAIN, 0.0)
    assert {ABSTAIN, 0, 1, 2} == set(table.predict.tolist())


def test_another_alpha_is_a_direct_recomputation(make: Make) -> None:
    table = make(60)
    for alpha in (0.2, 0.01, 1e-5):
        again = table.at(alpha=alpha)
        rule = make_rule("fixed", noise=Gaussian(0.5), n=200, alpha=alpha)
        predict, radius = decide(rule, Evidence.of(*table.evidence()))
        assert np.array_equal(again.predict, predict) and np.array_equal(
            again.radius, radius
        ), alpha
        assert again.header.alpha == alpha and (
            again.header.notes == table.header.notes
        ) == (alpha == 0.01)


def test_a_smaller_n_is_a_hypergeometric_draw(make: Make) -> None:
    table = make(3)
    counts = table.evidence()[1]
    drawn = np.stack([table.at(n=80, seed=seed).evidence()[1] for seed in range(400)])
    assert np.all(drawn.sum(axis=2) == 80) and np.all((drawn >= 0) & (drawn <= counts))
    share = counts / 200
    std = np.sqrt(80 * share * (1.0 - share) * (200 - 80) / (200 - 1))
    assert np.all(
        np.abs(drawn.mean(axis=0) - 80 * share) <= 4.5 * std / np.sqrt(len(drawn))
    )
    assert np.all(np.abs(drawn.std(axis=0) - std) <= 0.2 * std)
    a, b, c = table.at(n=50, seed=1), table.at(n=50, seed=1), table.at(n=50, seed=2)
    assert same(a, b) and np.any(a.evidence()[1] != c.evidence()[1])
    assert a.header.n == 50
    assert a.header.notes[-1] == Note("thinned", before=200, now=50, seed=1)
    np.testing.assert_array_equal(a.evidence()[0], table.evidence()[0])
    aware = made("fixed", label_aware=True)
    sums = aware.at(n=500, alpha=0.01).evidence()[1].sum(axis=1)
    assert set(sums) == {0, 500} and np.array_equal(
        sums > 0, aware.evidence()[1].sum(axis=1) > 0
    )
    own = made("fixed", n0=0, bound="any-class").at(
        n=50
    )  # fewer samples of any class pick their own
    assert (
        np.array_equal(
            own.evidence()[0].argmax(axis=1), own.evidence()[1].argmax(axis=1)
        )
        and own.correct.any()
    )


def test_bad_budgets_and_what_holds_as_it_is_only_are_refused(make: Make) -> None:
    table = make(3)
    changes: list[tuple[dict[str, Any], Refusal]] = [
        ({"n": 201}, Refusal(WrongTable, "201", "200")),
        ({"n": 5}, Refusal(TooFewSamples, "7", field="n")),
        ({"alpha": 0.0}, Refusal(BadValue, "0.0", field="alpha")),
        ({"alpha": float("nan")}, Refusal(BadValue, "nan", field="alpha")),
    ]
    for change, refused in changes:
        refused.check(problem_of(table.at, **change))
    for rule in RULES[1:]:
        Refusal(WrongTable).check(problem_of(made(rule).at, alpha=0.01))
    log = Certificates(
        Header(), table.idx, table.label, table.predict, table.radius, table.seconds
    )
    Refusal(WrongTable).check(problem_of(log.at, alpha=0.1))
    assert (
        log.assuming(sigma=0.5).header.sigma == 0.5
        and table.assuming(sigma=9.0).header.sigma == 0.5
    )


def test_samples_that_stopped_early_tell_no_p_a_and_the_refusal_says_what_would() -> (
    None
):
    assert metrics.knows_p_a(made("fixed")) and not metrics.knows_p_a(
        made("fixed", label_aware=True)
    )
    for rule in SEQUENTIAL:
        table = made(rule)
        assert not metrics.knows_p_a(table), rule
        Refusal(WrongTable).check(problem_of(metrics.p_a, table))
    label_aware = made("fixed", label_aware=True)
    Refusal(WrongTable).check(problem_of(metrics.p_a, label_aware))


def test_label_aware_tables_spend_nothing_on_what_is_wrong() -> None:
    for rule in RULES:
        table = made(rule, label_aware=True)
        counts0, counts = table.evidence()
        wrong = counts0.argmax(axis=1) != table.label
        assert (
            wrong.any()
            and np.all(counts[wrong] == 0)
            and np.all(table.predict[wrong] == ABSTAIN)
        ), rule
        assert np.all(table.samples[wrong] == HEADER.n0)
        paths = list(table.paths or ())  # samples that the header says were not drawn
        paths[int(np.argmax(wrong))] = paths[int(np.argmin(wrong))]
        Refusal(WrongTable).check(
            problem_of(
                from_evidence, table.header, **evidence_of(table) | {"paths": paths}
            )
        )


def test_looks_that_do_not_fit_the_counts_are_refused() -> None:
    for rule in SEQUENTIAL:
        table = made(rule)
        row = int(np.argmax([len(path) for path in table.paths or ()]))
        path = (table.paths or ())[row].tolist()
        first, second, *rest = path
        for torn in (
            path[:-1],
            [first + 40, second, *rest],
            [second + 1, first, *rest],
            [],
            [*path, path[-1]],
        ):
            paths = list(table.paths or ())
            paths[row] = np.array(torn, np.int64)
            problem = problem_of(
                from_evidence, table.header, **evidence_of(table) | {"paths": paths}
            )
            Refusal(WrongTable, str(table.idx[row])).check(problem)


def test_counts_that_picked_their_own_class_are_not_judged_as_if_others_had() -> None:
    usual: dict[str, Any] = {"rule": "fixed", "n0": 0}
    cases: list[dict[str, Any]] = [
        {},
        {"bound": "two-sided"},
        {"rule": "grid"},
        {"rule": "radius=0.5"},
    ]
    for facts in cases:
        Refusal(WrongTable).check(problem_of(made, **usual | facts))


def test_the_mark_of_a_class_that_no_samples_picked_is_checked() -> None:
    aware, own = {"n0": 0, "label_aware": True}, {"n0": 0, "bound": "any-class"}
    cases: list[tuple[str, dict[str, Any]]] = [
        ("radius=0.5", own),
        ("fixed", own),
        *((rule, aware) for rule in RULES),
    ]
    for rule, facts in cases:
        table = made(rule, **facts)
        counts0, counts = table.evidence()
        assert "counts0" not in table.to_pandas() and (counts0.sum(axis=1) == 1).all()
        assert np.array_equal(table.samples, counts.sum(axis=1)) and table.correct.any()
        others = evidence_of(table) | {"counts0": np.roll(counts0, 1, axis=1)}
        Refusal(WrongTable).check(problem_of(from_evidence, table.header, **others))


HUGE = np.array([[2**62] * 4 + [200]])
NODE = Machine(host="node7", device="cpu")
BENT: list[tuple[str, dict[str, Any], Refusal]] = [
    ("no array", {"idx": [0, 1, 2]}, Refusal(WrongTable)),
    ("fractions", {"label": np.zeros(3)}, Refusal(WrongTable, "64")),
    (
        "other classes",
        {"counts0": np.zeros((3, 2), np.int64)},
        Refusal(WrongTable, "(3, 3)"),
    ),
    ("an image below 0", {"idx": np.array([0, -1, 2])}, Refusal(WrongTable, "-1")),
    ("an image twice", {"idx": np.array([5, 1, 5])}, Refusal(WrongTable)),
    (
        "four classes",
        {"counts0": np.zeros((3, 4), np.int64), "counts": np.zeros((3, 4), np.int64)},
        Refusal(WrongTable),
    ),
    ("no time", {"seconds": np.array([1.0, np.nan, 1.0])}, Refusal(WrongTable, "nan")),
    ("too few paths", {"paths": (np.array([1]),)}, Refusal(WrongTable)),
    ("a path of texts", {"paths": (np.array(["1"]),) * 3}, Refusal(WrongTable)),
    ("no such label", {"label": np.array([0, 3, 0])}, Refusal(WrongTable)),
    ("a label gone", {"label": np.array([0, -1, 0])}, Refusal(WrongTable, "-1")),
    ("no such machine", {"machine": np.array([0, 0, 1])}, Refusal(WrongTable)),
    (
        "a short address",
        {"image": np.zeros((3, 31), np.uint8)},
        Refusal(WrongTable, "(3, 32)"),
    ),
    (
        "a number that no bound asked for",
        {"u": np.full(3, 0.5)},
        Refusal(WrongTable, "randomised"),
    ),
]


def test_evidence_that_is_no_table_is_named(make: Make) -> None:
    table = make(3, machines=(NODE,))
    for _, other, named in BENT:
        named.check(
            problem_of(from_evidence, table.header, **evidence_of(table) | other)
        )
    Refusal(WrongTable, "u=None").check(
        problem_of(
            from_evidence,
            table.header.replace(bound="randomised"),
            **evidence_of(table),
        )
    )
    one = make(1, classes=None)
    assert HUGE.sum() == 200  # it wraps round
    wrapped = {"counts": HUGE, "counts0": np.array([[20, 0, 0, 0, 0]]), "paths": None}
    Refusal(WrongTable).check(
        problem_of(from_evidence, one.header, **evidence_of(one) | wrapped)
    )


UNSAYABLE: list[dict[str, Any]] = [{"rule": rule} for rule in RULES[1:]]
UNSAYABLE += [
    {"bound": "two-sided"},
    {"bound": "randomised"},
    {"label_aware": True},
    {"n0": 0, "bound": "any-class"},
]


def test_what_a_log_cannot_say_is_not_written_as_one(tmp_path: Path) -> None:
    """A reader would judge it as n samples by Clopper-Pearson."""
    for facts in UNSAYABLE:
        table = table_of(HEADER.model_copy(update=facts))
        Refusal(WrongTable).check(problem_of(write_tsv, table, tmp_path / "a.tsv"))
        assert not list(tmp_path.iterdir()), facts


def test_a_log_keeps_the_decisions_and_p_a(tmp_path: Path) -> None:
    """And, as a control, one of a single radius whose rule was stripped would tell a false p_A."""
    for table, true in (
        (made("fixed"), True),
        (replace(made("radius=0.5"), header=HEADER), False),
    ):
        write_tsv(table, tmp_path / "a.tsv")
        log = read_tsv(tmp_path / "a.tsv").assuming(
            sigma=HEADER.sigma, n=HEADER.n, alpha=HEADER.alpha
        )
        assert np.array_equal(log.predict, table.predict)
        assert np.all((log.radius <= table.radius) & (log.radius > table.radius - 1e-6))
        _, counts = table.evidence()
        off = np.abs(metrics.p_a(log).values - counts.max(axis=1) / counts.sum(axis=1))[
            table.correct
        ]
        assert np.max(off) == 0.0 if true else np.max(off) > 0.1


def test_radii_of_another_program_make_a_table(tmp_path: Path) -> None:
    table = from_radii([0.0, 0.5, 1.5], sigma=0.5, n=1000, alpha=0.001, name="other")
    assert (
        table.is_log
        and table.name == "other"
        and table.predict.tolist() == [ABSTAIN, 0, 0]
    )
    assert (table.header.sigma, table.header.n, table.header.alpha) == (
        0.5,
        1000,
        0.001,
    )
    assert metrics.acr(table).value == 2 / 3 and len(from_radii([])) == 0
    table = from_radii([0.25, 0.0, 0.5], label=[2, 0, 1], predict=[2, -1, 0])
    write_tsv(table, tmp_path / "log.tsv")
    assert same(read_tsv(tmp_path / "log.tsv"), table)
    wrong: list[tuple[dict[str, Any], Refusal]] = [
        ({"radius": [0.1, -0.1]}, Refusal(BadValue, "radius=-0.1")),
        ({"radius": [np.nan]}, Refusal(BadValue, "radius=nan")),
        ({"radius": [0.1], "label": [-1]}, Refusal(BadValue, "label=-1")),
        ({"radius": [0.1], "predict": [-1]}, Refusal(BadValue, "predict=-1")),
        ({"radius": [0.1], "predict": [0.5]}, Refusal(BadValue, "0.5")),
    ]
    for given, named in wrong:
        named.check(problem_of(from_radii, **given))


def test_a_table_of_ten_million_samples_is_compared_in_seconds(make: Make) -> None:
    """Its expected radii need the counts that can come out, not all ten million."""
    counts = np.array(
        [[9_000_000, 1_000_000, 0], [5_100_000, 0, 4_900_000], [10**7, 0, 0]]
    )
    columns = evidence_of(make(3)) | {
        "counts": counts,
        "counts0": np.tile([20, 0, 0], (3, 1)),
        "paths": None,
    }
    columns["label"] = np.zeros(3, np.int64)
    table = from_evidence(make(0).header.replace(n=10**7), **columns)
    began = time.process_time()
    assert metrics.expected_radius(table) == pytest.approx(table.radius, rel=1e-12)
    assert (
        metrics.chance_certified(table, 0.1).tolist() == (table.radius >= 0.1).tolist()
    )
    assert time.process_time() - began < 1.0
