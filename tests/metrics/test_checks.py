"""Checks of tables: honest logs pass, and each kind of doctored copy fails the check that it must."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from randsmooth import bounds
from randsmooth.certificates import (
    Certificates,
    Header,
    from_evidence,
    from_radii,
    read,
)
from randsmooth.certificates.logs.inferred import log_at_alpha
from randsmooth.certificates.logs.released import find_released
from randsmooth.metrics.checks import FAILED, UNKNOWN, Check, check_tables

Doctor = Callable[[Certificates, np.random.Generator], Certificates]


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
    assert unknown == {"labels_of_data", "is_released"}


def rows_in_another_order(
    table: Certificates, rng: np.random.Generator
) -> Certificates:
    return table.rows(rng.permutation(len(table)))


def without_wrong_images(table: Certificates, rng: np.random.Generator) -> Certificates:
    wrong = np.flatnonzero(~table.correct)
    dropped = rng.choice(wrong, 600, replace=False)
    return table.rows(np.setdiff1d(np.arange(len(table)), dropped))


def renumbered(table: Certificates, rng: np.random.Generator) -> Certificates:
    fewer = without_wrong_images(table, rng)
    return replace(fewer, idx=np.arange(len(fewer)))


def duplicated(table: Certificates, rng: np.random.Generator) -> Certificates:
    return table.rows(np.append(np.arange(len(table)), [5, 5]))


def inflated(table: Certificates, rng: np.random.Generator) -> Certificates:
    return replace(table, radius=1.02 * table.radius)


def inflated_below_the_top(
    table: Certificates, rng: np.random.Generator
) -> Certificates:
    raised = np.where(table.radius < 1.6, 1.02 * table.radius, table.radius)
    return replace(table, radius=raised)


def labels_shuffled(table: Certificates, rng: np.random.Generator) -> Certificates:
    return replace(table, label=rng.permutation(table.label))


def shuffled_within_classes(
    table: Certificates, rng: np.random.Generator
) -> Certificates:
    source = np.arange(len(table))
    for label in np.unique(table.label):
        rows = np.flatnonzero(table.label == label)
        source[rows] = rng.permutation(rows)
    return replace(table, predict=table.predict[source], radius=table.radius[source])


def at_half_its_sigma(table: Certificates, rng: np.random.Generator) -> Certificates:
    """The radii as they are, at a header that says sigma 0.25."""
    return replace(table, header=table.header.replace(sigma=0.25))


DOCTORED: dict[Doctor, set[str]] = {
    rows_in_another_order: set(),
    without_wrong_images: {"images"},
    renumbered: {"images", "labels", "order"},
    duplicated: {"rows"},
    inflated: {"radii"},
    inflated_below_the_top: {"from_released"},
    labels_shuffled: {"labels"},
    shuffled_within_classes: {"order"},
    at_half_its_sigma: {"sigma"},
}


@pytest.mark.parametrize(("doctor", "kinds"), DOCTORED.items())
def test_a_doctored_copy_fails(
    doctor: Doctor, kinds: set[str], pair_of_logs: Logs
) -> None:
    baseline, log = pair_of_logs
    copy = doctor(log, np.random.default_rng(0))
    assert failed(check_tables([baseline, copy.renamed("copy")])) >= kinds
    if not kinds:
        assert failed(check_tables([baseline, copy])) == set()


def test_copies_and_what_comes_from_another_fail(
    pair_of_logs: Logs,
) -> None:
    log, _ = pair_of_logs
    assert "copies" in failed(check_tables([log, log.renamed("copy")]))
    raised = np.where(log.radius > 0.0, np.minimum(1.9, log.radius + 0.01), 0.0)
    derived = replace(log, radius=raised).renamed("derived")
    assert "derived" in failed(check_tables([log, derived]))
    wrong = np.flatnonzero(~log.correct)[:300]
    made_right = log.predict.copy()
    made_right[wrong] = log.label[wrong]
    mended = replace(log, predict=made_right).renamed("mended")
    assert failed(check_tables([log, mended])) == {"mostly_equal"}


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


def test_every_state_has_its_sentence(pair_of_logs: Logs) -> None:
    rng = np.random.default_rng(0)
    for doctor in DOCTORED:
        for check in check_tables(
            [pair_of_logs[0], doctor(pair_of_logs[1], rng).renamed("copy")]
        ):
            assert "{" not in str(check)


def certified_anew(log: Certificates) -> Certificates:
    """A table of counts of the checkpoint of a log, from fresh noise: 90% of the samples."""
    rng = np.random.default_rng(0)
    n = 100_000
    successes = bounds.successes_of_q(log.stated_q, n, 0.001)
    fresh = rng.binomial(9 * n // 10, successes / n)
    picked = np.where(log.predict >= 0, log.predict, (log.label + 1) % 10)
    counts = np.zeros((len(log), 10), np.int64)
    counts[np.arange(len(log)), picked] = fresh
    counts[np.arange(len(log)), (picked + 1) % 10] = 9 * n // 10 - fresh
    counts0 = np.zeros_like(counts)
    counts0[np.arange(len(log)), picked] = 100
    return from_evidence(
        Header(sigma=0.5, n0=100, n=9 * n // 10, alpha=0.001),
        idx=log.idx,
        label=log.label,
        counts0=counts0,
        counts=counts,
        seconds=np.ones(len(log)),
    ).renamed("anew")


def test_only_a_log_is_said_to_come_from_a_released_one(logs: Path) -> None:
    log = read(logs / "ours.tsv").assuming(sigma=0.5, n=100_000, alpha=0.001)
    counted = certified_anew(log)
    assert {found.equal for found in find_released(counted)} == {False}
    assert failed(check_tables([counted])) == set()

    logged = replace(counted, counts0=None, counts=None)
    assert failed(check_tables([logged])) == {"from_released"}


def test_a_log_that_was_judged_again_is_still_the_released_one(logs: Path) -> None:
    log = read(logs / "ours.tsv").assuming(sigma=0.5, n=100_000, alpha=0.001)
    (check,) = (
        check
        for check in check_tables([log_at_alpha(log, 0.05)])
        if check.kind == "is_released"
    )
    assert check.state == UNKNOWN
