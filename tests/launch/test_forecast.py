"""Plans: the pilot knows what a run takes, image by image, and says no more than it knows about the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from randsmooth.certificates import Certificates, CertificationSettings
from randsmooth.certification import Run, certify
from randsmooth.errors import InputError
from randsmooth.launch import Span, plan
from randsmooth.launch.forecast import Pilot
from randsmooth.progress import silent


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


def ordered(number: int = 40, **fields: Any) -> Run:
    settings = CertificationSettings(**{"sigma": 0.5, "n": 2000, **fields})
    return Run(model=edge(), dataset=greys(number), settings=settings)


def certified(order: Run, folder: Path) -> Certificates:
    return certify(order.model, order.dataset, order.settings, out=folder / "run.parquet")


QUICK = [
    *((rule, False, 100) for rule in ("fixed", "grid", "dense=1")),
    *((rule, True, 100) for rule in ("fixed", "grid")),
    *((rule, aware, 0) for rule in ("fixed", "radius=0.25") for aware in (True, False)),
]
SLOW = [(rule, False, 100) for rule in ("radius=0.25", "anytime=0.1")]


@pytest.mark.parametrize("rows", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
def test_a_pilot_of_all_images_knows_the_samples_of_each(rows: list[tuple[str, bool, int]], tmp_path: Path) -> None:
    for rule, label_aware, n0 in rows:
        order = ordered(12, rule=rule, label_aware=label_aware, n=2000, n0=n0)
        table = certified(order, tmp_path / f"{rule}{label_aware}{n0}")
        pilot = Pilot(order, 300.0, seed=0)
        pilot.run(silent)
        foretold = {image.index: image.samples for image in pilot.images}
        assert foretold == dict(zip(table.idx.tolist(), table.samples.tolist(), strict=True)), (rule, label_aware, n0)
        assert pilot.low == pilot.high == pytest.approx(table.samples.mean()), (rule, label_aware, n0)


def test_what_needs_no_samples_is_not_drawn() -> None:
    planned = plan(ordered(rule="fixed", n=10**6), seconds=0.5)
    assert planned.samples == Span(*[40 * (100 + 10**6)] * 3)
    assert planned.pilot["samples"] < 40 * 2000


@pytest.mark.slow
def test_a_run_that_is_begun_only_lies_within_the_limits(tmp_path: Path) -> None:
    order = ordered(120, rule="grid")
    taken = certified(order, tmp_path).samples.sum()
    for seed in range(3):
        planned = plan(order, seconds=0.1, seed=seed)
        assert planned.pilot["images"] < 120
        assert planned.samples.low <= taken <= planned.samples.high
        assert planned.samples.low <= planned.samples.middle <= planned.samples.high


def test_images_that_are_given_up_widen_the_limits_by_what_they_may_still_take(tmp_path: Path) -> None:
    order = ordered(30, rule="grid", n=20_000)
    mean = certified(order, tmp_path).samples.mean()
    pilot = Pilot(order, 300.0, seed=0)
    pilot.run(silent)
    hard = [image for image in pilot.images if image.samples and image.samples > 1_000]
    assert len(hard) > 3 and pilot.low == pytest.approx(mean)
    for image in hard[:3]:
        image.samples, image.path = None, image.path[:1]
    low, high = pilot._limits(pilot.images)
    assert low < mean < high and high - low == pytest.approx(3 * (20_000 - pilot.rule.samples([0])) / 30)


@pytest.mark.slow
def test_other_rules_are_foretold_from_the_counts_of_this_one(tmp_path: Path) -> None:
    planned = plan(ordered(100, rule="dense=0.5", n=3000), seconds=300.0)
    middles = []
    for rule in ("radius=0.5", "grid", "fixed"):
        taken, samples = certified(ordered(100, rule=rule, n=3000), tmp_path / rule).samples.sum(), planned.rules[rule]
        assert samples["samples"].low <= taken <= samples["samples"].high, rule
        assert abs(samples["samples"].middle / taken - 1.0) < 0.2, rule
        middles.append(samples["samples"].middle)
    assert middles == sorted(middles)


def test_rules_that_need_samples_to_pick_the_class_are_foretold_with_them(tmp_path: Path) -> None:
    planned = plan(ordered(20, rule="radius=0.5", n0=0), seconds=300.0)
    assert planned.rules["fixed"]["samples"].middle == 20 * 2000  # of whichever class
    taken = certified(ordered(20, rule="grid"), tmp_path).samples.sum()
    assert abs(planned.rules["grid"]["samples"].middle / taken - 1.0) < 0.3


def test_more_workers_take_less_time_but_not_less_than_an_image() -> None:
    planned = plan(ordered(40, rule="grid"), workers=[1, 2, 40, 1000], seconds=1.0)
    middles = [planned.workers[k].middle for k in (1, 2, 40, 1000)]
    assert planned.workers[1] == planned.seconds
    assert middles[0] > middles[1] > middles[2] == middles[3] > planned.about["start_seconds"]


def test_a_plan_is_plain_numbers() -> None:
    found = json.loads(json.dumps(plan(ordered(), workers=[3], seconds=0.1).to_dict()))
    assert found["workers"]["3"]["low"] <= found["workers"]["3"]["middle"] <= found["workers"]["3"]["high"]
    assert found["images"] == 40 and found["rule"] == "fixed" and found["pilot"]["seed"] == 0
    assert {*found} == {
        *("dataset", "split", "selection", "rule", "sigma", "n0", "n", "alpha", "images", "samples", "seconds"),
        *("workers", "start_seconds", "sample_seconds", "image_seconds", "rules", "memory_bytes", "journal_bytes"),
        *("device_memory_bytes", "table_bytes", "pilot", "device", "backend", "versions", "notes"),
    }


def test_no_time_and_no_workers_are_refused() -> None:
    for given in ({"seconds": 0.0}, {"seconds": float("nan")}, {"workers": [0]}):
        with pytest.raises(InputError):
            plan(ordered(), **given)
