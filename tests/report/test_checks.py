"""The checks as reports print them: first, in few lines, and a cross turns the verdict off."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from randsmooth.certificates import Certificates, read
from randsmooth.certificates.logs.released import Totals
from randsmooth.metrics.check_values import (
    FAILED,
    IN_ANOTHER_ORDER,
    NO_DATA_SET_NAMED,
    NOT_AT_HAND,
    NOT_COMPARED,
    PASSED,
    UNKNOWN,
    WORDING,
    Check,
    State,
)
from randsmooth.metrics.checks import check_tables
from randsmooth.report import render
from randsmooth.report.checks import (
    MOST_TABLES,
    SUMMED,
    TOPICS,
    CheckBlock,
    check_lines,
    doubted_tables,
    failures_in_folder,
    lines_by_table,
)
from randsmooth.report.sheet import build_sheet
from report.conftest import Make

RADII = [0.0, 0.5]


@pytest.fixture
def published(logs: Path) -> list[Certificates]:
    """Two released logs, the baseline first."""
    names = ("gaussian", "ours")
    return [
        read(logs / "cifar10-sigma0.5" / f"{name}.tsv").assuming(sigma=0.5)
        for name in names
    ]


def exchanged_within_classes(table: Certificates) -> Certificates:
    """Give each image the answer and the radius of another image of its class."""
    rng = np.random.default_rng(0)
    rows = np.arange(len(table))
    for label in np.unique(table.label):
        of_class = np.flatnonzero(table.label == label)
        rows[of_class] = rng.permutation(of_class)
    return replace(table.rows(rows), idx=table.idx, label=table.label, name="exchanged")


def test_checks_stand_before_verdict_and_figures(published: list[Certificates]) -> None:
    text = render(published, radii=RADII)
    checks = text.index("Checks:")
    verdict = text.index("Certified accuracy against gaussian:")
    figures = text.index("ACR and certified accuracy")
    assert checks == 0 < verdict < figures
    assert "✗" not in text
    markdown = render(published, radii=RADII, format="md")
    assert markdown.startswith("Checks:")
    assert "✓" not in render(published, radii=RADII, format="latex")


def test_a_cross_turns_off_the_verdict_of_its_row_alone(
    published: list[Certificates],
) -> None:
    gaussian, ours = published
    tables = [gaussian, ours, exchanged_within_classes(ours)]
    sheet = build_sheet(tables, RADII)
    judged = [one.row for one in sheet.compared.against]
    assert judged == [1]
    assert set(sheet.compared.refused) == {"exchanged"}
    assert any(sheet.shown[1])
    assert not any(sheet.shown[2])

    content = json.loads(render(tables, radii=RADII, format="json"))
    failed = [check for check in content["checks"] if check["state"] == FAILED]
    assert "exchanged" in {check["facts"].get("b") for check in failed}
    by_name = {one["name"]: one for one in content["against"]}
    assert "not_compared" in by_name["exchanged"]
    assert "verdict" in by_name["ours"]


def test_anyway_judges_in_spite_of_a_cross(published: list[Certificates]) -> None:
    gaussian, ours = published
    tables = [gaussian, exchanged_within_classes(ours)]
    off = build_sheet(tables, RADII)
    on = build_sheet(tables, RADII, anyway=True)
    assert not off.compared.against
    assert len(on.compared.against) == 1
    assert on.checks == off.checks
    assert [note.kind for note in off.check_block.notes] == [
        "unseen_by_checks",
        "verdict_off",
    ]
    assert [note.kind for note in on.check_block.notes] == [
        "unseen_by_checks",
        "judged_anyway",
    ]


def test_tables_of_counts_have_no_cross_and_one_alone_no_checks(make: Make) -> None:
    tables = [make("gaussian", images=1500), make("other", seed=1, images=1500)]
    checks = build_sheet(tables, RADII).checks
    assert FAILED not in {check.state for check in checks}
    assert build_sheet(tables[:1], RADII).check_block.lines == []
    assert "✓" not in render(tables[:1], radii=RADII)


def test_every_twentieth_image_is_a_fair_choice(published: list[Certificates]) -> None:
    gaussian, ours = published
    few = ours.rows(np.arange(0, len(ours), 20)).renamed("few")
    kinds = {check.kind: check.state for check in check_tables([gaussian, few])}
    assert kinds["subset"] == PASSED
    assert FAILED not in kinds.values()
    assert len(build_sheet([gaussian, few], RADII).compared.against) == 1


def test_labels_are_compared_with_those_at_hand(published: list[Certificates]) -> None:
    gaussian, ours = [
        replace(table, header=table.header.replace(dataset="cifar10", split="test"))
        for table in published
    ]
    label = ours.label.copy()
    label[:300] = (label[:300] + 1) % 10
    wrong = replace(ours, label=label)
    labels = {"cifar10 test": gaussian.label}
    states = {
        check.facts["table"]: check.state
        for check in check_tables([gaussian, wrong], labels)
        if check.kind == "labels_of_data"
    }
    assert states == {"gaussian": PASSED, "ours": FAILED}

    # A copy of the data set in another order is no fault of the log.
    reordered = {"cifar10 test": gaussian.label[::-1]}
    (check,) = [
        check
        for check in check_tables([gaussian], reordered)
        if check.kind == "labels_of_data"
    ]
    assert check.state == UNKNOWN


def test_many_tables_give_few_lines() -> None:
    passed = [
        Check("sigma", PASSED, {"table": name, "sigma": 0.5}) for name in "abcdefg"
    ]
    failed = [
        Check(
            "sigma",
            FAILED,
            {"table": name, "sigma": 0.5, "implied": 1.0, "largest": 3.81},
        )
        for name in "xy"
    ]
    lines = check_lines([*passed, *failed])
    assert [line.state for line in lines] == [FAILED, FAILED, PASSED]
    assert "7 tables" in lines[-1].sentence
    unknown = [
        Check("sigma", UNKNOWN, {"table": name, "sigma": 0.5}) for name in "abcdefg"
    ]
    (line,) = check_lines(unknown)
    assert line.state == UNKNOWN and "7 tables" in line.sentence


def released(table: str, kind: str = "is_released", state: State = PASSED) -> Check:
    """The check of a table that is a released log, or an altered copy of one."""
    totals = Totals(images=9, certified=9, right=9, radii=4.5, right_radii=4.5)
    facts = {
        "table": table,
        "log": "owner/name/log.tsv",
        "method": "method",
        "repository": "owner/name",
        "path": "log.tsv",
        "images": 9,
        "of_table": totals,
        "of_log": totals,
        "compared": 9,
        "changed": 0,
        "factor": None,
        "added": None,
    }
    return Check(kind, state, facts)


def test_each_of_a_few_released_logs_is_named_and_many_are_counted() -> None:
    few = [released(name) for name in "abcdefgh"]
    lines = check_lines(few)
    assert [line.sentence for line in lines] == [str(check) for check in few]
    (line,) = check_lines([*few, released("i")])
    assert "9 tables" in line.sentence


def test_labels_that_were_not_compared_have_a_line_for_each_reason() -> None:
    reasons = [NOT_AT_HAND, NO_DATA_SET_NAMED, NOT_AT_HAND, IN_ANOTHER_ORDER]
    checks = [
        Check("labels_of_data", UNKNOWN, {"table": name, "reason": reason})
        for name, reason in zip("abcd", reasons, strict=True)
    ]
    sentences = [line.sentence for line in check_lines(checks)]
    for reason in set(reasons):
        assert sum(NOT_COMPARED[reason] in sentence for sentence in sentences) == 1


@pytest.mark.parametrize("kind", ["images", "labels", "classes_renamed", "order"])
def test_a_pair_doubts_the_table_beside_a_released_log(kind: str) -> None:
    check = Check(kind, FAILED, {"a": "x", "b": "y"})
    names = ["x", "y"]
    for reference in (0, 1, None):
        # The one that is no released log, whoever is the baseline.
        assert set(doubted_tables(names, reference, [check, released("y")])) == {"x"}
        assert set(doubted_tables(names, reference, [check, released("x")])) == {"y"}
        # The one that failed a check of its own.
        own = released("y", "rearranged", FAILED)
        assert set(doubted_tables(names, reference, [check, own])) == {"y"}
    # Nothing is known of either, or as much of both.
    both = [released("x"), released("y")]
    for known in ([], both):
        assert set(doubted_tables(names, 0, [check, *known])) == {"y"}
        assert set(doubted_tables(names, 1, [check, *known])) == {"x"}
    assert set(failures_in_folder([check, released("y")])) == {"x"}
    assert set(failures_in_folder([check])) >= {"y"}


def test_a_released_log_that_fails_a_check_of_its_own_is_not_sound() -> None:
    labels = Check("labels", FAILED, {"a": "x", "b": "y"})
    sigma = Check("sigma", FAILED, {"table": "y"})
    assert set(doubted_tables(["x", "y"], 1, [labels, sigma, released("y")])) == {"y"}


def test_of_a_copy_and_its_original_the_copy_is_doubted_as_a_baseline_too() -> None:
    check = Check("copies", FAILED, {"a": "x", "b": "y", "original": "y"})
    for reference in (0, 1, None):
        assert set(doubted_tables(["x", "y"], reference, [check])) == {"x"}


def test_what_follows_from_an_altered_copy_has_no_line_of_its_own() -> None:
    labels = Check("labels", FAILED, {"a": "x", "b": "y", "number": 9, "shared": 9})
    altered = released("y", "rearranged", FAILED)
    checks = [labels, altered]
    (line,) = check_lines(checks)
    assert line.sentence.startswith(str(altered))
    assert TOPICS["labels"] in line.sentence
    block = CheckBlock(checks=checks, failed={})
    assert [each["follows_from"] for each in block.content] == ["rearranged", None]
    # Of two altered copies neither is known to be the cause.
    other = released("x", "changed_released", FAILED)
    assert len(check_lines([*checks, other])) == 3


def test_failures_of_a_folder_are_told_table_by_table() -> None:
    checks = [
        Check("labels", FAILED, {"a": "x", "b": f"t{place}", "number": 9, "shared": 9})
        for place in range(12)
    ]
    grave = released("t5", "scaled_released", FAILED)
    failures = failures_in_folder([*checks, grave])
    lines = lines_by_table(failures)
    # The gravest first, eight tables, and the number of the others.
    assert lines[0].sentence.startswith(str(grave))
    assert len(lines) == MOST_TABLES + 1
    assert "4 " in lines[-1].sentence
    assert len(lines_by_table(failures, most=12)) == 12

    copies = Check(
        "copies", FAILED, {"a": "x", "b": "y", "original": None, "shared": 9}
    )
    failures = failures_in_folder([copies])
    assert set(failures) == {"x", "y"}
    assert len(lines_by_table(failures)) == 1
    known = Check("copies", FAILED, {**copies.facts, "original": "y"})
    assert set(failures_in_folder([known])) == {"x"}


def test_each_kind_that_fails_has_a_topic() -> None:
    may_fail = {kind for kind, sentences in WORDING.items() if FAILED in sentences}
    assert may_fail == TOPICS.keys()


def test_a_pair_that_is_not_judged_doubts_nobody() -> None:
    check = Check("copies", FAILED, {"a": "x", "b": "y"})
    names = ["gaussian", "x", "y"]
    assert doubted_tables(names, 0, [check]) == {}
    assert set(doubted_tables(names, None, [check])) == {"x", "y"}
    assert set(doubted_tables(names, 1, [check])) == {"y"}


def test_what_many_tables_may_pass_is_told_in_one_line() -> None:
    # A sentence without a fact is that of a single check.
    many = {
        (kind, state)
        for kind, sentences in WORDING.items()
        for state, sentence in sentences.items()
        if state != FAILED and (callable(sentence) or "{" in sentence)
    }
    assert many <= SUMMED.keys()
