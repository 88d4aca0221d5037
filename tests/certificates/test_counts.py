"""Counts of another program become tables, whose radii are ours and which claim no more than the counts do."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from certificates.walks import HEADER, same, table_of
from models.refusing import problem_of
from randsmooth import bounds, metrics
from randsmooth.certificates import (
    Certificates,
    check_file,
    from_counts,
    read,
    write_parquet,
)
from randsmooth.certificates.header import Header
from randsmooth.errors import (
    BadValue,
    Conflict,
    MissingValue,
    NotFound,
    UnknownName,
    WrongFile,
    WrongTable,
)
from randsmooth.noise import Gaussian
from randsmooth.report import remarks
from randsmooth.rules import make_rule
from values import Refusal

Ints = NDArray[np.int64]

COUNTS = np.array([[990, 5, 5], [100, 880, 20], [300, 300, 400], [20, 0, 980]])
COUNTS0 = np.array([[98, 1, 1], [10, 85, 5], [20, 30, 50], [99, 0, 1]])
LABEL = [0, 1, 2, 2]
FACTS: dict[str, Any] = {"sigma": 0.5, "alpha": 0.001}


def radius(n_a: int, alpha: float = 0.001) -> float:
    return float(Gaussian(0.5).radius(bounds.q_upper(n_a, 1000, alpha)))


def test_counts_of_all_classes_are_judged_as_a_run_of_ours_would_be_and_say_what_is_unknown() -> (
    None
):
    table = from_counts(COUNTS, counts0=COUNTS0, label=LABEL, **FACTS)
    assert table.predict.tolist() == [0, 1, -1, -1]
    assert table.radius.tolist() == [
        radius(990),
        radius(880),
        0.0,
        0.0,
    ]  # the last picked a class that it lost
    assert (table.header.n0, table.header.n, table.header.lumped) == (100, 1000, False)
    assert table.samples.tolist() == [1100] * 4 and metrics.p_a(
        table
    ).values.tolist() == [0.99, 0.88, 0.4, 0.98]
    unknown = ("seed", "drawn_by", "model", "data", "backend", "behaviour", "device")
    assert [getattr(table.header, name) for name in unknown] == [None] * len(unknown)
    said = str(table.header.guarantee)
    assert (
        "another program made" in said
        and "Gaussian noise" in said
        and "picked without them" in said
    )
    assert table.header.source == "arrays" and [
        note.kind for note in remarks([table])
    ] == ["counts_of_others"]


def test_how_the_class_was_picked_must_be_said() -> None:
    table = from_counts(
        [990, 880, 400], n=1000, picked=[0, 1, 2], label=[0, 1, 1], **FACTS
    )
    assert table.radius.tolist() == [radius(990), radius(880), 0.0]
    assert (
        table.header.n0 is None
        and table.header.lumped
        and table.samples.tolist() == [1000] * 3
    )
    whole = from_counts(COUNTS, picked=[0, 1, 2, 0], label=LABEL, **FACTS)
    assert (
        whole.header.n0 is None
        and not whole.header.lumped
        and whole.predict.tolist() == [0, 1, -1, -1]
    )
    cases: list[tuple[Any, dict[str, Any]]] = [
        (COUNTS, {}),
        ([[990, 10]] * 4, {}),
        ([990] * 4, {"n": 1000}),
    ]
    for counts, facts in cases:
        Refusal(MissingValue, "bound='any-class'").check(
            problem_of(from_counts, counts, label=LABEL, **facts, **FACTS)
        )
    Refusal(MissingValue).check(
        problem_of(from_counts, [990], n=1000, label=[0], bound="any-class", **FACTS)
    )


def test_the_most_frequent_class_of_the_same_samples_is_judged_at_half_of_alpha() -> (
    None
):
    table = from_counts(COUNTS, label=LABEL, bound="any-class", **FACTS)
    assert table.predict.tolist() == [0, 1, -1, 2]
    assert table.radius[0] == radius(990, 0.0005) < radius(990)
    assert "picked without them" not in str(table.header.guarantee)
    assert "alpha/2, whichever class these samples picked" in str(
        table.header.guarantee
    )


def test_it_errs_no_more_often_than_alpha_where_the_plain_bound_does() -> None:
    rng, alpha, images = np.random.default_rng(1), 0.1, 4000
    counts = rng.multinomial(200, [0.5, 0.5], size=images)
    label = np.zeros(images, np.int64)
    facts: dict[str, Any] = {"label": label, "sigma": 0.5, "alpha": alpha}
    honest = from_counts(counts, bound="any-class", **facts)
    cheated = from_counts(
        counts, picked=counts.argmax(axis=1), **facts
    )  # which says what is not so
    allowed = alpha + 3.0 * np.sqrt(alpha / images)
    assert np.mean(honest.predict >= 0) <= allowed < np.mean(cheated.predict >= 0)


def test_the_looks_of_a_rule_are_judged_as_that_rule_does() -> None:
    for rule in ("radius=0.5", "grid", "dense=1", "anytime"):
        ours = table_of(HEADER.replace(rule=rule), 20)
        counts0, counts = ours.evidence()
        facts: dict[str, Any] = {
            "label": ours.label,
            "path": ours.paths,
            "rule": rule,
            "sigma": 0.5,
            "alpha": 0.05,
        }
        table = from_counts(counts, counts0=counts0, n=2000, idx=ours.idx, **facts)
        assert np.array_equal(table.radius, ours.radius) and np.array_equal(
            table.predict, ours.predict
        ), rule
        alone = from_counts(
            n=2000, picked=counts0.argmax(axis=1), **facts
        )  # the last look is n_A
        assert np.array_equal(alone.radius, ours.radius) and np.array_equal(
            alone.samples, counts.sum(axis=1)
        ), rule
        Refusal(BadValue).check(
            problem_of(
                from_counts,
                counts,
                counts0=counts0,
                label=ours.label,
                rule=rule,
                sigma=0.5,
            )
        )


PICKED: dict[str, Any] = {"label": [0], "picked": [0]}
TWO: dict[str, Any] = {"label": [0, 0], "picked": [0, 0]}
IMPOSSIBLE: list[
    tuple[dict[str, Any], Refusal]
] = [  # what is given, and what the refusal names
    ({**PICKED, "counts": [[990, 10]], "label": [-2]}, Refusal(BadValue, "-2")),
    ({"counts": None, "label": [0]}, Refusal(MissingValue, field="counts")),
    ({**TWO, "counts": [[990, 10], [480]]}, Refusal(BadValue)),
    (
        {**TWO, "counts": [[990, 10], [480, 20]]},
        Refusal(BadValue, "500", "1,000", field="n"),
    ),
    ({**PICKED, "counts": [[990, 10]], "n": 1001}, Refusal(BadValue, "1,000", "1,001")),
    ({**PICKED, "counts": [990]}, Refusal(MissingValue, field="n")),
    ({**PICKED, "counts": [1001], "n": 1000}, Refusal(BadValue, "1001", "1000")),
    ({**PICKED, "counts": [[990.5, 10]]}, Refusal(BadValue, "990.5")),
    (
        {**PICKED, "counts": [[990, 10]], "label": [0, 1]},
        Refusal(BadValue, "(2,)", "(1)"),
    ),
    (
        {**PICKED, "counts": [[990, 10]], "picked": [2]},
        Refusal(BadValue, "2", field="picked"),
    ),
    (
        {"counts": [[990, 10]], "label": [0], "counts0": [[9, 1, 0]]},
        Refusal(BadValue, field="counts0"),
    ),
    (
        {"counts": [[990, 10]], "label": [0], "counts0": [[9, 1]], "picked": [1]},
        Refusal(Conflict, field="picked"),
    ),
    (
        {**PICKED, "counts": [[990, 10]], "bound": "bayes"},
        Refusal(UnknownName, "bayes", field="bound"),
    ),
    (
        {"counts": {"label": [0], "n_A": [5]}, "label": [0]},
        Refusal(Conflict, field="label"),
    ),
    (
        {"counts": {"label": [0], "counts_0": [5], "counts_2": [5]}},
        Refusal(BadValue, "counts_2"),
    ),
    (
        {
            "counts": [10**6] * 100,
            "n": 10**6,
            "label": [10**6] * 100,
            "picked": [0] * 100,
        },
        Refusal(BadValue),
    ),
    (
        {**PICKED, "counts": [[990, 10]], "idx": [0], "seconds": ["x"]},
        Refusal(BadValue),
    ),
    ({**TWO, "counts": [[990, 10]] * 2, "idx": [3, 3]}, Refusal(WrongTable)),
]


def test_what_cannot_be_is_refused() -> None:
    for given, named in IMPOSSIBLE:
        named.check(problem_of(from_counts, **given, **FACTS))


WRITE: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "a.csv": lambda frame, path: frame.to_csv(path, index=False),
    "a.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "a.txt": lambda frame, path: frame.to_csv(path, index=False, sep=";"),
    "a.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}


def frame(*, lists: bool) -> pd.DataFrame:
    columns: dict[str, Any] = {
        "idx": [3, 6, 9, 12],
        "label": LABEL,
        "seconds": [0.5, 1.0, 1.5, 2.0],
        "remark": "abcd",
    }
    if lists:
        return pd.DataFrame(
            columns | {"counts": COUNTS.tolist(), "counts0": COUNTS0.tolist()}
        )
    wide = {f"counts_{k}": COUNTS[:, k] for k in range(3)} | {
        f"counts0_{k}": COUNTS0[:, k] for k in range(3)
    }
    return pd.DataFrame(columns | wide)


def test_files_and_frames_say_what_arrays_do(tmp_path: Path) -> None:
    given = from_counts(
        COUNTS,
        counts0=COUNTS0,
        label=LABEL,
        idx=[3, 6, 9, 12],
        seconds=[0.5, 1.0, 1.5, 2.0],
        **FACTS,
    )
    for name, write in WRITE.items():
        for lists in (False, True):
            rows = frame(lists=lists)
            write(frame(lists=lists and name == "a.jsonl"), tmp_path / name)
            table = from_counts(str(tmp_path / name), **FACTS)
            assert table.header.source == name and table.name == "a", (name, lists)
            assert same(
                replace(table, header=table.header.replace(source="arrays")), given
            ), (name, lists)
            assert same(from_counts(rows, **FACTS), given)
            assert same(
                from_counts({key: list(rows[key]) for key in rows}, **FACTS), given
            )


# A file, its text, and its problem.
NO_COUNTS: list[tuple[str, str, Refusal]] = [
    ("a.csv", "", Refusal(WrongFile, "a.csv")),
    # Nothing says n where no image is counted.
    ("a.csv", "label,picked,n_A\n", Refusal(MissingValue, field="n")),
    ("a.csv", "label,picked,n_A,n\n0,0,990,1000,5\n", Refusal(WrongFile, "a.csv")),
    ("a.csv", "label,picked,n_A,n\n0,0,inf,1000\n", Refusal(BadValue, "n_A", "inf")),
    ("a.csv", "label,label\n0,0\n", Refusal(WrongFile, "'label'")),
    (
        "a.csv",
        'label,picked,n,counts\n0,0,1000,"[990, 10]"\n',
        Refusal(BadValue, "counts", "'[990, 10]'"),
    ),
    (
        "a.csv",
        "label,counts_0,counts_1,counts0_00,counts0_1\n0,5,0,1,0\n",
        Refusal(BadValue, "counts0_0"),
    ),
    ("a.jsonl", "[1, 2]\n", Refusal(BadValue, "a.jsonl")),
    (
        "a.jsonl",
        '{"label": 0, "counts": [[9, 1], [9]]}\n',
        Refusal(BadValue, "counts"),
    ),
    ("a.jsonl", "[" * 100_000, Refusal(WrongFile, "a.jsonl")),
    (
        "a.jsonl",
        '{"label": 0, "n_A": 5}\n{"label": 0}\n',
        Refusal(BadValue, "n_A", "nan", "row 1"),
    ),
    (
        "a.jsonl",
        '{"label": 0, "n_A": 1' + "0" * 400 + "}\n",
        Refusal(WrongFile, "a.jsonl"),
    ),
    ("a.parquet", "PAR1", Refusal(WrongFile, "pandas.read_parquet")),
]


def test_files_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    for name, text, named in NO_COUNTS:
        (tmp_path / name).write_text(text)
        named.check(problem_of(from_counts, tmp_path / name, **FACTS))
    Refusal(NotFound).check(problem_of(from_counts, tmp_path / "none.csv", **FACTS))


TABLES: dict[str, Callable[[], Certificates]] = {
    "all counts": lambda: from_counts(
        COUNTS, counts0=COUNTS0, label=LABEL, dataset="digits", **FACTS
    ),
    "picked before": lambda: from_counts(
        COUNTS, picked=[0, 1, 2, 0], label=LABEL, **FACTS
    ),
    "picked class alone": lambda: from_counts(
        [990, 880], n=1000, picked=[0, 1], label=[0, 5], **FACTS
    ),
    "alone, with votes": lambda: from_counts(
        [990, 880], n=1000, counts0=COUNTS0[:2], label=[0, 1], **FACTS
    ),
    "same samples": lambda: from_counts(
        COUNTS, label=LABEL, bound="any-class", **FACTS
    ),
    "a run of ours": lambda: table_of(HEADER.replace(rule="grid"), 12),
    "two-sided": lambda: table_of(HEADER.replace(bound="two-sided"), 12),
    "without labels": lambda: from_counts(COUNTS, counts0=COUNTS0, **FACTS),
}


def test_tables_are_stored_and_come_back(tmp_path: Path) -> None:
    for what, make in TABLES.items():
        table: Certificates = make()
        write_parquet(table, tmp_path / "t.parquet")
        assert same(read(tmp_path / "t.parquet"), table), what
        assert table.to_pandas()["radius"].tolist() == table.radius.tolist(), what


def test_a_frame_of_counts_is_judged_again() -> None:
    judged = from_counts(COUNTS, label=LABEL, bound="any-class", **FACTS)
    made = judged.to_pandas()
    made.at[0, "radius"] = 9.0  # which is not read
    Refusal(MissingValue, "bound='any-class'").check(
        problem_of(from_counts, made, **FACTS)
    )  # what any-class picked is not called picked
    assert same(from_counts(made, bound="any-class", **FACTS), judged)


def test_verify_says_what_could_not_be_checked(tmp_path: Path) -> None:
    for what in ("picked class alone", "same samples"):
        write_parquet(TABLES[what](), tmp_path / "t.parquet")
        found = check_file(tmp_path / "t.parquet")
        assert (
            "Not checked: Each certificate" in found
            and "the counts, which another program made" in found
        ), what
    write_parquet(TABLES["a run of ours"](), tmp_path / "ours.parquet")
    assert "another program" not in check_file(tmp_path / "ours.parquet")


def test_p_a_of_the_picked_class_alone_is_known_where_it_must_lie_below_a_half() -> (
    None
):
    facts: dict[str, Any] = {"n": 1000, **FACTS}
    right = from_counts([990, 300], picked=[0, 1], label=[0, 1], **facts)
    assert (
        metrics.p_a(right).values.tolist() == [0.99, 0.3]
        and metrics.p_a(right).known_from == 0.0
    )
    wrong = from_counts([990, 600], picked=[0, 1], label=[0, 2], **facts)
    assert (
        np.isnan(metrics.p_a(wrong).values[1]) and metrics.p_a(wrong).known_from == 0.5
    )
    open_ = from_counts(
        [990, 400], picked=[0, 1], label=[0, 2], **facts
    )  # the label may have come out 600 times
    assert not metrics.knows_p_a(open_)
    Refusal(WrongTable).check(problem_of(metrics.p_a, open_))


def test_a_header_that_hides_what_is_unknown_does_not_fit_its_counts(
    tmp_path: Path,
) -> None:
    """Whoever strikes out where the counts come from is found out: a run of ours has n0 samples."""
    table = from_counts(
        [990, 880], n=1000, picked=[0, 1], label=[0, 1], classes=("a", "b"), **FACTS
    )
    for change in (
        {"source": None},
        {"n0": 100},
        {"lumped": False},
        {"bound": "two-sided"},
    ):
        forged = json.loads(table.header.model_dump_json()) | change
        write_parquet(
            replace(table, header=Header.from_facts(forged)), tmp_path / "t.parquet"
        )
        problem_of(read, tmp_path / "t.parquet")


def test_looks_may_end_anywhere_under_anytime_and_under_no_other_rule() -> None:
    facts: dict[str, Any] = {
        "picked": [0, 0, 0],
        "label": [0, 0, 0],
        "sigma": 0.5,
        "n": 1000,
    }
    rule = make_rule("anytime", noise=Gaussian(0.5), n=1000, alpha=0.001)
    paths = [[32], [31, 62, 92], [32, 64, 96, 128]]
    table = from_counts(path=paths, rule="anytime", **facts)
    assert table.radius == pytest.approx(
        [rule.claim(path).radius for path in paths], abs=1e-9
    )
    assert table.samples.tolist() == [32, 96, 128] and table.radius.min() > 0
    for other in ("grid", "dense=1", "radius=0.5"):
        first = make_rule(other, noise=Gaussian(0.5), n=1000, alpha=0.001).next_look([])
        assert first is not None
        Refusal(WrongTable, "looks").check(
            problem_of(from_counts, path=[[first]] * 3, rule=other, **facts)
        )
    Refusal(BadValue, "anytime").check(
        problem_of(from_counts, path=[[32, 64], [32], [500]], rule="anytime", **facts)
    )  # no look of its
