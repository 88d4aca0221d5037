"""The answer of a report: one radius, one sentence, one narrow table."""

import json
from dataclasses import replace

import numpy as np
import pytest

from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.report import render
from randsmooth.report.answer import WORDING, answer_radius
from randsmooth.report.sheet import Sheet, build_sheet
from report.conftest import Make

MOST_WORDS = 25


@pytest.fixture
def tables(make: Make) -> list[Certificates]:
    """A baseline, and a method that is better everywhere."""
    return [make("gaussian", images=900), make("better", seed=1, a=9.0, images=900)]


def test_the_answer_is_at_the_named_radius_or_at_one_sigma(
    tables: list[Certificates],
) -> None:
    named = build_sheet(tables, at=0.3).answer.at
    assert named is not None
    assert (named.radius, named.is_named, named.is_sigma) == (0.3, True, False)
    usual = build_sheet(tables).answer.at
    assert usual is not None
    assert (usual.radius, usual.is_named, usual.is_sigma) == (0.5, False, True)


def test_a_log_without_sigma_is_answered_at_the_one_that_its_radii_tell(
    log: Make,
) -> None:
    # 1.91 is the most that n = 100,000 and alpha 0.001 certify at sigma 0.5.
    told = log([1.91, 1.91, 0.4])
    at = answer_radius([told], None, None)
    assert at is not None and at.radius == 0.5
    silent = log([0.3, 0.2])
    assert answer_radius([silent], None, None) is None
    assert build_sheet([silent]).answer.kind == "no_radius"
    assert build_sheet([silent], at=0.25).answer.kind == "one"


def test_its_figures_are_those_of_metrics(tables: list[Certificates]) -> None:
    sheet = build_sheet(tables, [0.0, 1.0], at=0.3)
    baseline, better = sheet.answer.rows
    assert baseline.is_baseline and baseline.difference is None
    assert better.accuracy == metrics.certified_accuracy(tables[1], 0.3)
    assert better.at_zero == metrics.certified_accuracy(tables[1], 0.0)
    assert better.share_beside == metrics.p_a(tables[1]).share(0.9)
    assert better.acr == metrics.acr(tables[1])
    assert baseline.accuracy is not None and better.difference is not None
    gain = better.accuracy.value - baseline.accuracy.value
    assert better.difference.value == pytest.approx(gain)
    assert better.shown == 1
    assert sheet.answer.kind == "ahead"
    assert build_sheet(tables, at=0.3, baseline="better").answer.kind == "behind"


def test_a_difference_is_judged_at_this_radius_alone(
    tables: list[Certificates],
) -> None:
    sheet = build_sheet(tables, at=0.3)
    judged = sheet.answer.judged
    assert judged is not None and (judged.radius, judged.pairs) == (0.3, 1)
    pair = metrics.pair(tables[1], tables[0])
    point = metrics.compare([pair], [0.3])[0].at(0.3)
    assert point is not None
    alone = metrics.fresh_difference(point.only_a, point.only_b, 900)
    difference = sheet.answer.rows[1].difference
    assert difference is not None
    assert (difference.low, difference.high) == pytest.approx((alone.low, alone.high))
    # The evidence keeps the band over all radii, which is wider.
    (band,) = (point for point in build_sheet(tables, [0.3]).compared.against[0].points)
    assert band is not None and band.difference.low < difference.low


def test_several_tables_are_allowed_for(tables: list[Certificates]) -> None:
    alone = build_sheet(tables, at=0.3).answer.rows[1].difference
    copies = [tables[1].rows(np.arange(0, 900)).renamed(name) for name in "xyz"]
    third = build_sheet([*tables, *copies[:1]], at=0.3, anyway=True).answer
    assert third.judged is not None and third.judged.pairs == 2
    wider = third.rows[1].difference
    assert alone is not None and wider is not None
    assert wider.low < alone.low < alone.high < wider.high


def test_json_has_the_answer(tables: list[Certificates]) -> None:
    content = json.loads(render(tables, at=0.3, format="json"))["answer"]
    assert content["at"]["radius"] == 0.3
    assert [row["name"] for row in content["rows"]] == ["gaussian", "better"]
    assert content["rows"][1]["difference"]["low"] > 0.0
    judged = content["judged_together"]
    assert (judged["radius"], judged["pairs"], judged["level"]) == (0.3, 1, 0.95)
    assert judged["critical"] == pytest.approx(1.96, abs=1e-3)


def kinds_of_sheets(make: Make, log: Make) -> dict[str, Sheet]:
    gaussian = make("gaussian")
    same = replace(gaussian, name="same")
    third = make("third", seed=2)
    unlabelled = replace(gaussian, label=np.full(len(gaussian), -1))
    return {
        "no_radius": build_sheet([log([0.3, 0.2])]),
        "no_labels": build_sheet([unlabelled]),
        "out_of_reach": build_sheet([gaussian], at=30.0),
        "one": build_sheet([gaussian]),
        "no_baseline": build_sheet([make("a"), make("b", seed=1), third]),
        "undecided": build_sheet([gaussian, same]),
        "several": build_sheet([gaussian, same, third]),
    }


def test_each_kind_of_sentence_is_short(
    tables: list[Certificates], make: Make, log: Make
) -> None:
    sheets = kinds_of_sheets(make, log)
    sheets["ahead"] = build_sheet(tables)
    sheets["behind"] = build_sheet(tables, baseline="better")
    for kind, sheet in sheets.items():
        assert sheet.answer.kind == kind
        assert len(str(sheet.answer).split()) <= MOST_WORDS, kind
    assert sheets.keys() | {"all_doubted", "not_judged", "none_judged"} == {*WORDING}


def test_tables_that_are_level_lead_together(make: Make) -> None:
    gaussian = make("gaussian")
    level = [gaussian.renamed("a"), gaussian.renamed("b")]
    facts = build_sheet([*level, make("better", seed=1, a=9.0)], at=0.3).answer.facts
    assert facts["leaders"] == "better certifies"
    facts = build_sheet(level, at=0.3).answer.facts
    assert facts["leaders"] == "a, b certify"


def test_only_several_tables_have_a_column_of_differences(
    tables: list[Certificates],
) -> None:
    several = build_sheet(tables, at=0.3).answer
    alone = build_sheet(tables[:1], at=0.3).answer
    assert "difference" in several.head and "difference" not in alone.head
    for answer in (several, alone):
        assert all(len(cells) == len(answer.head) for cells in answer.cells)


def test_a_failed_check_leaves_no_difference(log: Make) -> None:
    rng = np.random.default_rng(0)
    radii = rng.uniform(0.05, 1.0, 400).tolist()
    first = log(radii, "gaussian", sigma=0.5, n=1000, alpha=0.001)
    doctored = log(
        [radius * 0.9 for radius in radii], "copy", sigma=0.5, n=1000, alpha=0.001
    )
    off = build_sheet([first, doctored]).answer
    assert off.kind == "not_judged"
    assert off.rows[1].difference is None and off.rows[1].shown == 0
    anyway = build_sheet([first, doctored], anyway=True).answer
    assert anyway.rows[1].difference is not None

    both = build_sheet([first, doctored.renamed("b"), doctored.renamed("c")])
    assert both.answer.kind == "none_judged"


def test_figures_and_differences_of_a_row_are_of_the_same_images(
    tables: list[Certificates],
) -> None:
    few = tables[1].rows(np.arange(0, 900, 2))
    sheet = build_sheet([tables[0], few], at=0.3)
    row = sheet.answer.rows[1]
    assert row.images == 450
    assert row.accuracy is not None and row.baseline_accuracy is not None
    assert row.difference is not None
    gain = row.accuracy.value - row.baseline_accuracy.value
    assert row.difference.value == pytest.approx(gain)
    assert len(sheet.answer.limits) == 1
    # Elsewhere the figures of the baseline are of all images: no colour says more.
    assert not any(sheet.shown[1])


def test_duplicates_are_a_cross_and_no_verdict(tables: list[Certificates]) -> None:
    rows = np.append(np.arange(900), [5, 5])
    sheet = build_sheet([tables[0], tables[1].rows(rows)])
    (check,) = (check for check in sheet.checks if check.kind == "rows")
    assert check.state == "failed" and check.facts["image"] == 5
    assert sheet.answer.kind == "not_judged"
