"""Tables whose images stopped at different looks: kept whole on disk, refused when damaged, and honest about limits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from certificates.walks import HEADER, RULES, SEQUENTIAL, table_of
from randsmooth import metrics
from randsmooth.certificates import (
    ABSTAIN,
    Certificates,
    Journal,
    JournalRow,
    from_evidence,
    read_parquet,
    read_tsv,
    write_parquet,
    write_tsv,
)
from randsmooth.errors import InputError

COLUMNS = ("idx", "label", "predict", "radius", "seconds", "counts0", "counts")


def made(rule: str, **facts: object) -> Certificates:
    return table_of(HEADER.model_copy(update={"rule": rule, **facts}))


def same(a: Certificates, b: Certificates) -> bool:
    paths = all(map(np.array_equal, a.paths or (), b.paths or ()))
    return a.header == b.header and paths and all(np.array_equal(getattr(a, c), getattr(b, c)) for c in COLUMNS)


@pytest.mark.parametrize("label_aware", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_parquet_gives_back_every_look(rule: str, label_aware: bool, tmp_path: Path) -> None:
    table = made(rule, label_aware=label_aware)
    write_parquet(table, tmp_path / "a.parquet")
    assert same(read_parquet(tmp_path / "a.parquet"), table)
    assert 0 < np.sum(table.predict != ABSTAIN) < len(table)


@pytest.mark.parametrize(
    ("rule", "facts"),
    [
        *((rule, {"n0": 0, "label_aware": True}) for rule in RULES),
        ("radius=0.5", {"n0": 0, "bound": "any-class"}),
        ("fixed", {"n0": 0, "bound": "any-class"}),
    ],
)
def test_a_table_without_a_selection_marks_the_class(rule: str, facts: dict[str, object], tmp_path: Path) -> None:
    table = made(rule, **facts)
    write_parquet(table, tmp_path / "a.parquet")
    assert same(read_parquet(tmp_path / "a.parquet"), table)
    assert same(Certificates.from_pandas(table.to_pandas()), table)
    counts0, counts = table.evidence()
    assert "counts0" not in table.to_pandas() and (counts0.sum(axis=1) == 1).all()
    assert np.array_equal(table.samples, counts.sum(axis=1)) and table.correct.any()
    assert "verified" not in (table.header.guarantee or "")
    others = replace(table, counts0=np.roll(counts0, 1, axis=1))
    columns = {c: getattr(table, c) for c in ("idx", "label", "seconds")}
    with pytest.raises(InputError, match=r"marks another class than its (label|most frequent class): .*damaged"):
        from_evidence(table.header, counts0=others.evidence()[0], counts=counts, paths=table.paths, **columns)


@pytest.mark.parametrize("rule", ["radius=0.5", "grid", "union"])
def test_a_table_of_an_older_format_is_judged_by_the_rule_of_its_time(rule: str, tmp_path: Path) -> None:
    older = made(rule, version=3)
    write_parquet(older, tmp_path / "a.parquet")
    read = read_parquet(tmp_path / "a.parquet")
    assert (
        same(read, older) and type(read.rule).__name__.endswith("V3") and type(made(rule).rule) is not type(read.rule)
    )
    columns = {c: getattr(older, c) for c in ("idx", "label", "seconds", "counts0", "counts")}
    with pytest.raises(InputError, match="the table is damaged"):  # it went on where images are now given up
        from_evidence(older.header.having(version=4), paths=older.paths, **columns)


def test_fewer_samples_of_any_class_pick_their_own(tmp_path: Path) -> None:
    table = made("fixed", n0=0, bound="any-class")
    few = table.at(n=50)
    counts0, counts = few.evidence()
    assert np.array_equal(counts0.argmax(axis=1), counts.argmax(axis=1)) and few.header.n == 50
    assert (few.radius <= table.radius.max()).all() and few.correct.any()


@pytest.mark.parametrize("rule", RULES)
def test_a_journal_holds_every_look(rule: str, tmp_path: Path) -> None:
    table = made(rule)
    journal = Journal.create(tmp_path / "a.partial", table.header)
    counts0, counts = table.evidence()
    for i, path in enumerate(table.paths or ()):
        journal.append(
            JournalRow(int(table.idx[i]), int(table.label[i]), counts0[i], counts[i], path, float(table.seconds[i]))
        )
    resumed = Journal.resume(tmp_path / "a.partial", table.header)
    assert same(resumed.table(table.idx.tolist(), "made"), table)


def test_a_log_keeps_the_decisions_and_p_a(tmp_path: Path) -> None:
    table = made("fixed")
    write_tsv(table, tmp_path / "a.tsv")
    log = read_tsv(tmp_path / "a.tsv").assuming(sigma=HEADER.sigma, n=HEADER.n, alpha=HEADER.alpha)
    assert np.array_equal(log.predict, table.predict)
    assert np.all((log.radius <= table.radius) & (log.radius > table.radius - 1e-6))
    right = table.correct
    assert right.any() and np.array_equal(metrics.p_a(log).values[right], metrics.p_a(table).values[right])


UNSAYABLE = [
    *(
        ({"rule": rule}, f"certified by --rule {rule}, .*certify with --rule fixed")
        for rule in RULES
        if rule != "fixed"
    ),
    ({"bound": "two-sided"}, "judged by the two-sided bound, .*certify with --bound clopper-pearson"),
    ({"bound": "randomised"}, "judged by the randomised bound"),
    ({"label_aware": True}, "certified with --label-aware, .*certify without it"),
]


@pytest.mark.parametrize(("facts", "named"), UNSAYABLE)
def test_what_a_log_cannot_say_is_not_written_as_one(facts: dict[str, object], named: str, tmp_path: Path) -> None:
    """A reader would judge it as n samples by Clopper-Pearson."""
    table = table_of(HEADER.model_copy(update=facts))
    with pytest.raises(InputError, match=f"made was {named}") as told:
        write_tsv(table, tmp_path / "a.tsv")
    assert "Keep the Parquet file" in str(told.value) and not list(tmp_path.iterdir())


def test_control_a_log_of_one_radius_would_tell_a_false_p_a(tmp_path: Path) -> None:
    """What happens to whoever strips the rule all the same."""
    table = made("radius=0.5")
    stripped = replace(table, header=HEADER)
    write_tsv(stripped, tmp_path / "a.tsv")
    log = read_tsv(tmp_path / "a.tsv").assuming(sigma=HEADER.sigma, n=HEADER.n, alpha=HEADER.alpha)
    _, counts = table.evidence()
    shares = counts.max(axis=1) / counts.sum(axis=1)
    assert np.max(np.abs(metrics.p_a(log).values - shares)[table.correct]) > 0.1


def damaged(table: Certificates, row: int, path: list[int]) -> Certificates:
    paths = list(table.paths or ())
    paths[row] = np.array(path, np.int64)
    counts0, counts = table.evidence()
    columns = {c: getattr(table, c) for c in ("idx", "label", "seconds")}
    return from_evidence(table.header, counts0=counts0, counts=counts, paths=paths, **columns)


@pytest.mark.parametrize("rule", SEQUENTIAL)
def test_looks_that_do_not_fit_the_counts_are_refused(rule: str) -> None:
    table = made(rule)
    row = int(np.argmax([len(path) for path in table.paths or ()]))
    path = (table.paths or ())[row].tolist()
    first, second, *rest = path
    for torn in (path[:-1], [first + 40, second, *rest], [second + 1, first, *rest], [], [*path, path[-1]]):
        with pytest.raises(InputError, match=f"image {table.idx[row]} .*damaged"):
            damaged(table, row, torn)
    assert same(replace(damaged(table, row, path), name="made"), table)


def test_a_parquet_file_whose_looks_were_edited_is_refused(tmp_path: Path) -> None:
    write_parquet(made("grid"), tmp_path / "a.parquet")
    raw = pq.read_table(tmp_path / "a.parquet")
    paths = raw["path"].to_pylist()
    longest = max(range(len(paths)), key=lambda i: len(paths[i]))
    paths[longest] = paths[longest][:-1]
    column = raw.schema.get_field_index("path")
    edited = raw.set_column(column, raw.schema.field(column), [paths])
    pq.write_table(edited.replace_schema_metadata(raw.schema.metadata), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="damaged"):
        read_parquet(tmp_path / "a.parquet")


@pytest.mark.parametrize("rule", [r for r in RULES if r != "fixed"])
def test_what_stopped_by_its_samples_holds_as_it_is_only(rule: str) -> None:
    with pytest.raises(InputError, match=f"--rule {rule}, whose looks"):
        made(rule).at(alpha=0.01)


@pytest.mark.parametrize("rule", SEQUENTIAL)
def test_samples_that_stopped_early_tell_no_p_a(rule: str) -> None:
    assert not metrics.knows_p_a(made(rule))
    assert metrics.knows_p_a(made("fixed"))
    assert not metrics.knows_p_a(made("fixed", label_aware=True))


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            {"rule": "grid"},
            r"stopped as soon as --rule grid was satisfied, so .*; certify with --rule fixed or tolerance$",
        ),
        (
            {"rule": "fixed", "label_aware": True},
            r"stopped where the label was missed, so .*certify without --label-aware$",
        ),
        ({"rule": "grid", "label_aware": True}, r"satisfied or where the .* or tolerance and without --label-aware$"),
    ],
)
def test_an_unknown_p_a_says_what_would_tell_it(facts: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        metrics.p_a(table_of(HEADER.model_copy(update=facts)))


@pytest.mark.parametrize("rule", RULES)
def test_label_aware_tables_spend_nothing_on_what_is_wrong(rule: str) -> None:
    table = made(rule, label_aware=True)
    counts0, counts = table.evidence()
    wrong = counts0.argmax(axis=1) != table.label
    assert wrong.any() and np.all(counts[wrong] == 0)
    assert np.all(table.predict[wrong] == ABSTAIN)
    assert np.all(table.samples[wrong] == HEADER.n0)
    paths = list(table.paths or ())
    with pytest.raises(InputError, match="damaged"):  # samples that the header says were not drawn
        damaged(table, int(np.argmax(wrong)), paths[int(np.argmin(wrong))].tolist())


def test_a_label_aware_table_is_thinned_where_it_has_samples() -> None:
    table = made("fixed", label_aware=True)
    small = table.at(n=500, alpha=0.01)
    _, counts = small.evidence()
    assert set(counts.sum(axis=1)) == {0, 500}
    assert np.array_equal(counts.sum(axis=1) > 0, table.evidence()[1].sum(axis=1) > 0)


@pytest.mark.parametrize("facts", [{}, {"bound": "two-sided"}, {"rule": "grid"}, {"rule": "radius=0.5"}])
def test_counts_that_picked_their_own_class_are_not_judged_as_if_others_had(facts: dict[str, object]) -> None:
    with pytest.raises(InputError, match="no other samples picked the class"):
        made(**{"rule": "fixed", "n0": 0, **facts})  # type: ignore[arg-type]
