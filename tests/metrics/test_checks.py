"""Checks of tables: honest logs pass, and each kind of doctored copy fails the check that it must."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from doctored import (
    READ,
    Doctor,
    a_little_noise_on_radii,
    inflated,
    inflated_and_clipped,
    inflated_in_the_middle,
    little_added,
    rows_of,
    write,
)
from randsmooth import bounds
from randsmooth.certificates import (
    Certificates,
    Header,
    find_certificates,
    from_evidence,
    from_radii,
    read,
    read_file_of,
)
from randsmooth.certificates.logs.inferred import log_at_alpha
from randsmooth.certificates.logs.released import Totals, find_released
from randsmooth.metrics.check_values import FAILED, PASSED, UNKNOWN, Check
from randsmooth.metrics.checks import check_folder, check_tables
from randsmooth.metrics.copies import check_repeated, pairs_to_compare
from randsmooth.metrics.released_check import check_released
from randsmooth.report.checks import failures_in_folder

# The name under which a log at hand was released.
OURS = "eth-sri/acr-weakness/data/certify/cifar10/ours/noise_0.5.tsv"

Logs = tuple[Certificates, Certificates]


@pytest.fixture
def pair_of_logs(logs: Path) -> Logs:
    """Two released logs of CIFAR-10 at sigma 0.5."""
    catrs = read(logs / "catrs.tsv").assuming(sigma=0.5)
    ours = read(logs / "ours.tsv").assuming(sigma=0.5)
    return catrs, ours


def failed(checks: list[Check]) -> set[str]:
    return {check.kind for check in checks if check.state == FAILED}


def test_honest_logs_pass(pair_of_logs: Logs) -> None:
    checks = check_tables(pair_of_logs)
    assert failed(checks) == set()
    unknown = {check.kind for check in checks if check.state == UNKNOWN}
    assert unknown == {"labels_of_data"}


@pytest.mark.parametrize("doctor", READ)
def test_a_doctored_copy_fails(doctor: Doctor, logs: Path, tmp_path: Path) -> None:
    head, rows = rows_of(logs / "ours.tsv")
    path = tmp_path / "copy.tsv"
    write(path, head, doctor(rows, np.random.default_rng(0)))
    copy = read(path).assuming(sigma=0.5)
    catrs, ours = [
        read(logs / f"{name}.tsv").assuming(sigma=0.5) for name in ("catrs", "ours")
    ]
    fails = READ[doctor]
    assert failed(check_tables([copy])) == fails.alone
    assert failed(check_tables([catrs, copy])) == fails.alone | fails.beside
    beside_original = check_tables([ours, copy])
    assert failed(beside_original) == fails.alone | fails.original
    assert all("{" not in str(check) for check in beside_original)


def test_a_log_that_states_another_sigma_or_repeats_images_fails(
    pair_of_logs: Logs,
) -> None:
    catrs, ours = pair_of_logs
    at_half = replace(ours, header=ours.header.replace(sigma=0.25))
    assert "sigma" in failed(check_tables([catrs, at_half]))
    repeated = ours.rows(np.append(np.arange(len(ours)), [5, 5]))
    assert "rows" in failed(check_tables([catrs, repeated]))


def check_of(kind: str, checks: list[Check]) -> Check:
    (check,) = (check for check in checks if check.kind == kind)
    return check


def test_what_was_changed_of_a_released_log_is_told(pair_of_logs: Logs) -> None:
    _, ours = pair_of_logs
    wrong = np.flatnonzero(~ours.correct)[:300]
    predict = ours.predict.copy()
    predict[wrong] = ours.label[wrong]
    radius = ours.radius.copy()
    radius[wrong] = 0.3
    changed = replace(ours, predict=predict, radius=radius)
    facts = check_of("changed_released", check_tables([changed])).facts
    assert facts["log"] == OURS
    assert facts["of_table"].right == facts["of_log"].right + 300
    assert facts["of_log"] == Totals.of(ours) or facts["of_log"].same(Totals.of(ours))
    assert facts["of_table"].acr == pytest.approx(facts["of_log"].acr + 0.009)

    doubled = replace(ours, radius=2.0 * ours.radius)
    scaled = check_of("scaled_released", check_tables([doubled])).facts
    assert scaled["factor"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    "rows", [slice(None, None, 20), slice(None, None, 2), slice(None, 1000)]
)
def test_an_even_part_of_a_released_log_is_called_one(
    rows: slice, pair_of_logs: Logs
) -> None:
    catrs, ours = pair_of_logs
    part = ours.rows(np.arange(len(ours))[rows]).renamed("part")
    checks = check_tables([part])
    assert failed(checks) == set()
    facts = check_of("part_of_released", checks).facts
    assert facts["log"] == OURS
    assert (facts["of_table"].images, facts["of_log"].images) == (len(part), 10_000)
    assert failed(check_tables([catrs, part])) == set()
    # Beside the whole log, its rows are those of the log.
    beside = check_of("part", check_tables([ours, part])).facts
    assert (beside["fewer"], beside["more"]) == ("part", "ours")


def test_released_logs_have_no_cross(logs: Path) -> None:
    for path in sorted(find_certificates(logs.parent)):
        log = read_file_of(path).table
        if log is not None and len(log) >= 60:
            (check,) = check_released([log])
            assert (check.kind, check.state) == ("is_released", PASSED), path


def test_equal_times_are_no_repeated_rows(pair_of_logs: Logs) -> None:
    _, ours = pair_of_logs
    whole_seconds = replace(ours, seconds=ours.seconds.round())
    untimed = replace(ours, seconds=np.zeros(len(ours)))
    assert [*check_repeated([ours, whole_seconds, untimed])] == []
    source = np.arange(len(ours))
    good = np.flatnonzero((ours.radius > 1.0) & (ours.radius < 1.8))[:50]
    source[-50:] = good
    repeated = replace(ours.rows(source), idx=ours.idx)
    (check,) = check_repeated([repeated])
    # One more row repeats another by chance.
    assert check.facts["number"] == 51
    image, other = check.facts["image"], check.facts["other"]
    assert image != other
    assert repeated.radius[image] == repeated.radius[other]
    assert repeated.seconds[image] == repeated.seconds[other]


def test_of_two_copies_the_original_is_known_or_both_are_named(
    pair_of_logs: Logs,
) -> None:
    ours = pair_of_logs[1]
    unknown = replace(ours, radius=np.sqrt(ours.radius))
    copy = unknown.renamed("copy")
    for tables in ([unknown, copy], [copy, unknown]):
        checks = check_folder(tables)
        assert check_of("copies", checks).facts["original"] is None
        assert {*failures_in_folder(checks)} >= {"ours", "copy"}

    # A table that lies in the clone of a repository states where it comes from.
    model = {"repository": "locuslab/smoothing"}
    stated = replace(copy, header=copy.header.replace(model=model))
    for tables in ([unknown, stated], [stated, unknown]):
        assert check_of("copies", check_folder(tables)).facts["original"] == "copy"

    # A released log was there before a changed one, wherever that lies.
    wrong = np.flatnonzero(~ours.correct)[:300]
    predict = ours.predict.copy()
    predict[wrong] = ours.label[wrong]
    changed = replace(stated, predict=predict, radius=ours.radius)
    for tables in ([ours, changed], [changed, ours]):
        facts = check_of("mostly_equal", check_folder(tables)).facts
        assert facts["original"] == "ours"

    # Who gives a released log twice has not forged the first.
    given_twice = [ours, ours.renamed("again")]
    assert check_of("copies", check_folder(given_twice)).facts["original"] == "ours"
    assert "ours" not in failures_in_folder(check_folder(given_twice))


def test_in_a_folder_unequal_answers_are_compared(pair_of_logs: Logs) -> None:
    """Among many tables each is compared with the one that it resembles."""
    rng = np.random.default_rng(0)
    log = pair_of_logs[1]
    many = [
        replace(
            log, radius=np.where(log.radius > 0.0, rng.uniform(0.1, 1.9, len(log)), 0.0)
        ).renamed(f"table {place}")
        for place in range(40)
    ]
    original = many[17]
    changed = original.predict.copy()
    changed[::7] = (changed[::7] + 1) % 10
    made_from = replace(original, predict=changed).renamed("made from 17")
    part = many[23].rows(np.arange(0, len(log), 20)).renamed("part of 23")
    tables = [made_from, part, *many]
    pairs = {
        frozenset({a.name, b.name}) for a, b in pairs_to_compare(tables, frozenset())
    }
    assert frozenset({"table 17", "made from 17"}) in pairs
    assert frozenset({"table 23", "part of 23"}) in pairs
    assert len(pairs) < 2 * len(tables)


def test_labels_are_compared_with_the_data_set() -> None:
    table = from_radii([0.5, 0.2, 0.1])
    header = table.header.replace(dataset="mine", split="test")
    table = replace(table, header=header)
    true_labels = {"mine test": table.label.copy()}
    states = [
        c.state
        for c in check_tables([table], true_labels)
        if c.kind == "labels_of_data"
    ]
    assert states == ["passed"]

    true_labels["mine test"][1] += 1
    (check,) = (c for c in check_tables([table], true_labels) if c.state == FAILED)
    assert check.kind == "labels_of_data" and check.facts["number"] == 1


def certified_anew(log: Certificates, n: int, rng: np.random.Generator) -> Certificates:
    """A table of counts of the model of a log, from fresh noise.

    The probability of the class that it names is taken to be the share of samples that
    the log tells; of an abstention, it is little more than a half.
    """
    successes = bounds.successes_of_q(log.stated_q, 100_000, 0.001)
    near_half = 0.5 + rng.uniform(0.0, 0.003, len(log))
    p_a = np.where(log.predict >= 0, successes / 100_000, near_half)
    named = np.where(log.predict >= 0, log.predict, log.label)
    # The first 100 samples may pick the other class.
    is_picked = rng.binomial(100, p_a) > 50
    picked = np.where(is_picked, named, (named + 1) % 10)
    hits = rng.binomial(n, np.where(is_picked, p_a, 1.0 - p_a))
    rows = np.arange(len(log))
    counts = np.zeros((len(log), 10), np.int64)
    counts[rows, picked] = hits
    counts[rows, (picked + 1) % 10] = n - hits
    counts0 = np.zeros_like(counts)
    counts0[rows, picked] = 100
    return from_evidence(
        Header(sigma=0.5, n0=100, n=n, alpha=0.001),
        idx=log.idx,
        label=log.label,
        counts0=counts0,
        counts=counts,
        seconds=rng.uniform(3.0, 4.0, len(log)),
    ).renamed("anew")


def as_log(counted: Certificates) -> Certificates:
    """The log that would be written of a table of counts."""
    radius = np.array([float(f"{radius:.3g}") for radius in counted.radius])
    header = Header(sigma=0.5)
    return replace(counted, header=header, radius=radius, counts0=None, counts=None)


@pytest.mark.parametrize("name", ["gaussian", "ours"])
def test_a_model_that_is_certified_anew_is_not_accused(name: str, logs: Path) -> None:
    """Its radii are those of the released log but for the noise of sampling."""
    log = read(logs / f"{name}.tsv").assuming(sigma=0.5, n=100_000, alpha=0.001)
    rng = np.random.default_rng(0)
    counted = certified_anew(log, 100_000, rng)
    assert failed(check_tables([log, counted])) == set()
    for n in (100_000, 100_000, 100_000, 90_000, 1_000_000):
        logged = as_log(certified_anew(log, n, rng))
        assert find_released(logged)
        (check,) = check_released([logged])
        assert (check.kind, check.state) == ("from_released", UNKNOWN)
        assert check.facts["factor"] is None and check.facts["added"] is None
    beside_original = check_tables([log, as_log(counted)])
    assert failed(beside_original) == set()


def test_equal_radii_of_chance_do_not_make_a_new_certification_a_changed_copy(
    logs: Path,
) -> None:
    """Coarse radii of half the images may be equal, as those above 1 are printed."""
    log = read(logs / "ours.tsv").assuming(sigma=0.5, n=100_000, alpha=0.001)
    rng = np.random.default_rng(0)
    moved = log.radius + np.where(log.radius < 1.0, rng.normal(0.0, 0.004, len(log)), 0)
    radius = np.where(log.radius > 0.0, np.maximum(moved, 0.001), 0.0)
    radius = np.array([float(f"{each:.3g}") for each in radius])
    # It has the class of one image less.
    predict = log.predict.copy()
    lost = np.flatnonzero(log.correct & (log.radius < 0.05))[0]
    predict[lost] = -1
    radius[lost] = 0.0
    anew = replace(log, radius=radius, predict=predict)
    assert find_released(anew)[0].same_rows
    (check,) = check_released([anew])
    assert (check.kind, check.state) == ("from_released", UNKNOWN)


@pytest.mark.parametrize(
    ("doctor", "factor", "added"),
    [
        (inflated, 1.02, None),
        (inflated_and_clipped, 1.02, None),
        (inflated_in_the_middle, 1.1, None),
        (little_added, None, 0.01),
        (a_little_noise_on_radii, None, None),
    ],
)
def test_what_was_done_to_radii_is_told_by_those_that_are_compared(
    doctor: Doctor,
    factor: float | None,
    added: float | None,
    logs: Path,
    tmp_path: Path,
) -> None:
    head, rows = rows_of(logs / "ours.tsv")
    path = tmp_path / "copy.tsv"
    write(path, head, doctor(rows, np.random.default_rng(0)))
    (check,) = check_released([read(path).assuming(sigma=0.5)])
    assert check.state == FAILED
    assert check.facts["factor"] == pytest.approx(factor)
    assert check.facts["added"] == pytest.approx(added)
    assert check.facts["log"] == OURS
    assert check.facts["repository"] == "eth-sri/acr-weakness"
    assert check.facts["method"] == "amplify"


def test_a_log_that_was_judged_again_is_still_the_released_one(logs: Path) -> None:
    log = read(logs / "ours.tsv").assuming(sigma=0.5, n=100_000, alpha=0.001)
    again = log_at_alpha(log, 0.05)
    assert check_of("is_released", check_tables([again])).state == PASSED
    wrong = np.flatnonzero(~log.correct)[:300]
    predict = log.predict.copy()
    predict[wrong] = log.label[wrong]
    changed = replace(log, predict=predict, radius=np.maximum(log.radius, 0.1))
    checks = check_tables([log_at_alpha(changed, 0.05)])
    assert failed(checks) == {"changed_released"}
