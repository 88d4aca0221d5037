"""Checks of tables: honest logs pass, and each kind of doctored copy fails the check that it must."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from randsmooth.certificates import Certificates, from_radii, read
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
    assert unknown == {"labels_of_data"}
    assert {"is_released"} < {check.kind for check in checks}


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
    renumbered: {"labels", "order"},
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
