"""What a gate found, as programs read it: JSON, JUnit's XML, annotations of GitHub."""

import json
from xml.etree import ElementTree

import pytest

from randsmooth.certificates import from_radii
from randsmooth.metrics import AtLeast, CheckedConditions, NoWorse, check
from randsmooth.report import check_to_github, check_to_json, check_to_junit
from randsmooth.testing import require

NAME = 'a<b> & "c"\n::error::d %'


def of_every_outcome() -> CheckedConditions:
    """Return conditions of which one is shown, one refuted and one neither."""
    table = from_radii([0.8] * 150 + [0.1] * 50, name=NAME)
    baseline = from_radii([0.8] * 152 + [0.1] * 48, name=NAME)
    conditions: list[AtLeast | NoWorse] = [
        AtLeast(at=0.5, least=0.6),
        AtLeast(at=0.5, least=0.9),
        NoWorse(at=0.5, margin=0.02, baseline=baseline),
    ]
    return check(table, conditions=conditions)


def test_json_holds_every_figure() -> None:
    checked = of_every_outcome()
    told = json.loads(check_to_json(checked))
    assert told["table"] == NAME and told["outcome"] == "refuted"
    assert told["confidence"] == 0.95 and told["runs"] == 1

    for facts, judged in zip(told["conditions"], checked.conditions, strict=True):
        assert facts["outcome"] == judged.outcome
        assert facts["low"] == judged.estimate.low
        assert facts["high"] == judged.estimate.high
        assert facts["images"] == 200
    shown, refuted, neither = told["conditions"]
    assert (shown["least"], refuted["least"]) == (0.6, 0.9)
    assert (neither["margin"], neither["baseline"]) == (0.02, NAME)
    assert neither["images_needed"] > 200


def test_junit_counts_what_is_refuted_and_what_is_not_enough() -> None:
    suite = ElementTree.fromstring(check_to_junit(of_every_outcome()))
    assert suite.tag == "testsuite"
    counts = [suite.get(name) for name in ("tests", "failures", "errors")]
    assert counts == ["3", "1", "1"]
    assert [[part.tag for part in case] for case in suite] == [
        [],
        ["failure"],
        ["error"],
    ]


def test_github_reads_one_annotation_a_line() -> None:
    lines = check_to_github(of_every_outcome()).split("\n")
    levels = [line.split(" ")[0] for line in lines]
    assert levels == ["::notice", "::error", "::warning"]
    assert all("%" not in line.replace("%25", "") for line in lines)


def test_a_test_requires_what_is_shown() -> None:
    table = from_radii([0.8] * 150 + [0.1] * 50)
    assert require(table, 0.5, 0.6).outcome == "shown"
    for least in (0.7, 0.9):
        with pytest.raises(AssertionError):
            require(table, 0.5, least)
