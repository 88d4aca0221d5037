"""At which radii two tables can be compared, and why not at others."""

from dataclasses import replace

import numpy as np
import pytest

from metrics.conftest import Make
from models.refusing import refusal
from randsmooth import metrics
from randsmooth.certificates import Certificates
from randsmooth.metrics import farthest
from randsmooth.metrics.comparison import reach
from randsmooth.noise import Gaussian

HITS = [600, 900, 1000]


def under(table: Certificates, **facts: object) -> Certificates:
    """`table` as though its header said so."""
    return replace(table, header=table.header.model_copy(update=facts))


def test_a_curve_reaches_through_the_farthest_that_n_allows(counted: Make) -> None:
    table = counted(HITS)
    at = reach(table, table, [0.25, 9.0])
    end = Gaussian(0.5).largest_radius(1000, 0.001)
    assert at.radii[0] == 0.0 and end - 1e-3 < at.radii[-1] <= end and at.whole and at.limit == ""
    assert np.diff(at.radii).max() <= 0.01 and 0.25 in at.radii


def test_the_nearer_end_counts_and_is_named(counted: Make) -> None:
    far, near = counted(HITS, name="far"), counted(HITS, name="near", sigma=0.25)
    fewer = counted([60, 90, 100], n=100, name="fewer")
    for pair in ((far, near), (near, far)):
        at = reach(*pair)
        assert at.radii[-1] <= farthest(near) == pytest.approx(farthest(far) / 2.0)
        assert at.limit == f"through r = {at.radii[-1]:.4g}, the farthest that near can certify"
    assert reach(far, fewer).limit.endswith("that fewer can certify")
    two = under(far, bound="two-sided")
    assert farthest(two) == pytest.approx(Gaussian(0.5).largest_radius(1000, 0.0005))


def test_a_log_without_its_facts_reaches_as_far_as_it_certifies(log: Make, counted: Make) -> None:
    bare = log([(0, 0, 0.7), (0, 1, 0.9), (0, 0, 0.2)], name="bare")
    assert farthest(bare) == 0.9
    assert (
        reach(bare, counted(HITS)).limit
        == "through r = 0.9, the largest radius that bare has, as nothing says how far it can certify"
    )


def test_a_rule_that_answers_few_radii_is_compared_at_those(counted: Make) -> None:
    table = counted(HITS, name="fixed")
    half, steps = under(table.renamed("half"), rule="radius=0.5"), under(table.renamed("steps"), rule="grid=0.25")
    at = reach(half, table, [0.0, 0.5, 1.0])
    assert (at.radii.tolist(), at.whole) == ([0.5], False)
    assert "r = 0.5" in at.limit and "half" in at.limit
    assert reach(table, steps).radii.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert "5 radii from 0 to 1 only" in reach(table, steps).limit and "half and steps" in reach(half, steps).limit
    assert "no radius" in reach(half, under(table, rule="radius=0.6")).limit
    assert farthest(under(table, rule="anytime=0.4")) == 0.4  # samples stopped there
    assert 0.9 < farthest(under(table, rule="anytime")) < farthest(table)


def test_what_such_rules_do_not_answer_is_not_compared(counted: Make) -> None:
    table = counted([600] * 50 + [1000] * 50)
    few = replace(under(table, rule="radius=0.5"), radius=np.where(table.radius >= 0.5, 0.5, 0.0), name="few")
    (one,) = metrics.compare([(few, table)], [0.0, 0.5, 1.0])
    assert one.acr is None and one.acr_shown == 0 and one.at(0.0) is None and one.at(1.0) is None
    assert one.verdict is not None and one.verdict.outcome == metrics.NO_DIFFERENCE
    (none,) = metrics.compare([(few, under(table, rule="radius=0.6"))], [0.5])
    assert none.curve is None and none.verdict is None and none.at(0.5) is None
    assert "no radius" in refusal(lambda: metrics.verdict(few, under(table, rule="radius=0.6")))


def test_a_table_can_certify_what_it_has_and_what_its_budget_allows(counted: Make, log: Make) -> None:
    table = counted([600, 700])
    end = Gaussian(0.5).largest_radius(1000, 0.001)
    assert [metrics.can_certify(table, r) for r in (0.0, end, end + 0.001)] == [True, True, False]
    assert metrics.can_certify(under(table, bound="randomised"), end + 0.001)
    rows, facts = [(0, 0, round(end + 0.004, 2))], {"sigma": 0.5, "n": 1000, "alpha": 0.001}
    assert rows[0][2] > end and metrics.can_certify(log(rows, **facts), rows[0][2])  # printed, and rounded up
    assert not metrics.can_certify(log(rows, **facts), rows[0][2] + 0.001)
    assert metrics.can_certify(log(rows), 9.0)  # of what it was made with nothing is known
