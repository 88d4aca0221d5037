"""Plans: the pilot knows what a run takes, image by image, and says no more than it knows about the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from randsmooth.certificates import Certificates, CertificationSettings
from randsmooth.certification import Order, certify
from randsmooth.errors import InputError
from randsmooth.launch import Plan, Span, plan
from randsmooth.launch.pilot import PilotImage
from randsmooth.launch.replay import Replay


def edge() -> nn.Module:
    """Tells images by their mean, so that p_A takes every value between 1/2 and 1 over a range of grey images."""
    last = nn.Linear(64, 2)
    last.weight.data = torch.tensor([[-1.0], [1.0]]).expand(2, 64) / 64
    last.bias.data = torch.tensor([0.5, -0.5])
    return nn.Sequential(nn.Flatten(), last).eval()


def greys(number: int, spread: float = 0.12) -> tuple[torch.Tensor, torch.Tensor]:
    """Images (number, 1, 8, 8) of one grey each around 1/2, and their labels."""
    grey = 0.5 + spread * torch.linspace(-1.0, 1.0, number)
    return grey[:, None, None, None].expand(number, 1, 8, 8).contiguous(), (grey > 0.5).long()


def ordered(number: int = 40, **fields: Any) -> Order:
    settings = CertificationSettings(**{"sigma": 0.5, "n": 2000, **fields})
    return Order(model=edge(), dataset=greys(number), settings=settings)


def certified(order: Order, folder: Path) -> Certificates:
    return certify(order.model, order.dataset, order.settings, out=folder / "run.parquet")


@pytest.mark.parametrize(
    ("rule", "label_aware", "n0"),
    [
        *((rule, False, 100) for rule in ("fixed", "grid", "dense=1")),
        *(
            pytest.param(rule, False, 100, marks=pytest.mark.slow)
            for rule in ("radius=0.25", "union", "tolerance=0.2", "anytime=0.1")
        ),
        *((rule, True, 100) for rule in ("fixed", "grid", "tolerance=0.2")),
        *((rule, True, 0) for rule in ("fixed", "radius=0.25")),
        *((rule, False, 0) for rule in ("fixed", "radius=0.25")),
    ],
)
def test_a_pilot_of_all_images_knows_the_samples_of_each(rule: str, label_aware: bool, n0: int, tmp_path: Path) -> None:
    order = ordered(20, rule=rule, label_aware=label_aware, n=3000, n0=n0)
    planned, table = plan(order, seconds=300.0), certified(order, tmp_path)
    foretold = {image.index: image.samples for image in planned.pilot.images}
    assert foretold == dict(zip(table.idx.tolist(), table.samples.tolist(), strict=True))
    assert list(planned.samples) == [pytest.approx(table.samples.sum())] * 3
    assert planned.rules[rule].middle == pytest.approx(table.samples.sum())


def test_what_needs_no_samples_is_not_drawn() -> None:
    planned = plan(ordered(rule="fixed", n=10**6), seconds=0.5)
    assert planned.samples == Span(*[40 * (100 + 10**6)] * 3)
    assert planned.pilot.sampled < 40 * 2000


@pytest.mark.slow
def test_a_run_that_is_begun_only_lies_within_the_limits(tmp_path: Path) -> None:
    order = ordered(120, rule="grid")
    taken = certified(order, tmp_path).samples.sum()
    for seed in range(3):
        planned = plan(order, seconds=0.1, seed=seed)
        assert len(planned.pilot.images) < 120
        assert planned.samples.low <= taken <= planned.samples.high
        assert planned.samples.low <= planned.samples.middle <= planned.samples.high


@pytest.mark.slow
def test_the_seed_chooses_the_images() -> None:
    chosen = [[image.index for image in plan(ordered(), seconds=0.02, seed=seed).pilot.images] for seed in (0, 0, 1)]
    assert chosen[0][:3] == chosen[1][:3] != chosen[2][:3]


@pytest.mark.slow
def test_other_rules_are_foretold_from_the_counts_of_this_one(tmp_path: Path) -> None:
    planned = plan(ordered(100, rule="tolerance=0.2", n=3000), seconds=300.0)
    for rule in ("fixed", "grid", "radius=0.5"):
        taken = certified(ordered(100, rule=rule, n=3000), tmp_path / rule).samples.sum()
        assert planned.rules[rule].low <= taken <= planned.rules[rule].high
        assert abs(planned.rules[rule].middle / taken - 1.0) < 0.2
    assert planned.rules["radius=0.5"].middle < planned.rules["grid"].middle < planned.rules["fixed"].middle


def test_rules_that_need_samples_to_pick_the_class_are_foretold_with_them(tmp_path: Path) -> None:
    planned = plan(ordered(20, rule="radius=0.5", n0=0), seconds=300.0)
    assert planned.rules["fixed"].middle == 20 * 2000  # of whichever class
    taken = certified(ordered(20, rule="grid"), tmp_path).samples.sum()
    assert abs(planned.rules["grid"].middle / taken - 1.0) < 0.3


def test_a_rule_that_the_budget_does_not_allow_is_left_out() -> None:
    assert "tolerance=0.05" not in plan(ordered(n=500), seconds=0.05).rules


def test_an_image_that_was_given_up_is_replayed_to_its_end() -> None:
    seen = [PilotImage(i, 100, np.array([0, 100]), [32], 32, 32, 2100) for i in range(5)]
    unfinished = PilotImage(9, 100, np.array([0, 100]), [32, 64], 64, 64)
    rule = CertificationSettings(sigma=0.5, n=2000, rule="grid").stopping_rule()
    assert unfinished.least < Replay([*seen, unfinished], 0).rest(rule, unfinished) <= 2100


def test_more_workers_take_less_time_but_not_less_than_an_image() -> None:
    planned = plan(ordered(40, rule="grid"), workers=[1, 2, 40, 1000], seconds=1.0)
    middles = [planned.on_workers[k].middle for k in (1, 2, 40, 1000)]
    assert middles[0] == planned.seconds.middle > middles[1] > middles[2] == middles[3] > planned.start


@pytest.mark.slow
def test_disk_is_what_the_run_writes(tmp_path: Path) -> None:
    order = ordered(60, rule="grid")
    planned = plan(order, seconds=300.0)
    certified(order, tmp_path)
    written = (tmp_path / "run.parquet").stat().st_size
    assert written <= planned.usage.table < 20 * written
    lines = [image for image in planned.pilot.images if image.samples]
    assert planned.usage.journal > 60 * 100 and len(lines) == 60
    assert planned.usage.memory > 10**7


def test_a_plan_is_plain_numbers() -> None:
    found = Plan.to_dict(plan(ordered(), workers=[3], seconds=0.1))
    assert found["workers"]["3"]["low"] <= found["workers"]["3"]["middle"] <= found["workers"]["3"]["high"]
    assert found["images"] == 40 and found["rule"] == "fixed" and found["pilot"]["seed"] == 0


@pytest.mark.parametrize("given", [{"seconds": 0.0}, {"seconds": float("nan")}, {"workers": [0]}])
def test_no_time_and_no_workers_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        plan(ordered(), **given)
