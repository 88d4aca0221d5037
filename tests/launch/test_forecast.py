"""Plans: the pilot knows what a run takes and says no more about the rest; work of models to come is counted."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from randsmooth import methods
from randsmooth.certificates import Certificates, CertificationSettings
from randsmooth.certification import RunSpec, certify
from randsmooth.errors import Problem
from randsmooth.launch import Certify, Span, Step, Train, plan
from randsmooth.launch.pilot import Pilot
from randsmooth.launch.step_costs import Passes, plan_steps, work_of
from randsmooth.progress import silent
from randsmooth.training import TrainingSettings


def edge() -> nn.Module:
    """Tells images by their mean, so that p_A takes every value between 1/2 and 1 over a range of grey images."""
    last = nn.Linear(64, 2)
    last.weight.data = torch.tensor([[-1.0], [1.0]]).expand(2, 64) / 64
    last.bias.data = torch.tensor([0.5, -0.5])
    return nn.Sequential(nn.Flatten(), last).eval()


def ordered(number: int = 40, **fields: Any) -> RunSpec:
    """Of so many images of one grey each around 1/2."""
    grey = 0.5 + 0.12 * torch.linspace(-1.0, 1.0, number)
    images = (
        grey[:, None, None, None].expand(number, 1, 8, 8).contiguous(),
        (grey > 0.5).long(),
    )
    return RunSpec(
        model=edge(),
        dataset=images,
        settings=CertificationSettings(**{"sigma": 0.5, "n": 2000, **fields}),
    )


def certified(run: RunSpec, folder: Path) -> Certificates:
    return certify(run.model, run.dataset, run.settings, out=folder / "run.parquet")


def piloted(run: RunSpec) -> Pilot:
    pilot = Pilot(run.open(), 300.0, seed=0)
    pilot.run(silent)
    return pilot


def test_a_pilot_of_all_images_knows_the_samples_of_each(tmp_path: Path) -> None:
    for rule, label_aware, n0 in (
        *((rule, False, 100) for rule in ("fixed", "grid", "dense=1")),
        *((rule, True, 100) for rule in ("fixed", "grid")),
        *(
            (rule, aware, 0)
            for rule in ("fixed", "radius=0.25")
            for aware in (True, False)
        ),
    ):
        run = ordered(12, rule=rule, label_aware=label_aware, n0=n0)
        table, pilot = (
            certified(run, tmp_path / f"{rule}{label_aware}{n0}"),
            piloted(run),
        )
        foretold = {image.index: image.samples for image in pilot.images}
        assert foretold == dict(
            zip(table.idx.tolist(), table.samples.tolist(), strict=True)
        ), (rule, label_aware, n0)
        assert pilot.low == pilot.high == pytest.approx(table.samples.mean()), (
            rule,
            label_aware,
            n0,
        )


def test_what_needs_no_samples_is_not_drawn() -> None:
    planned = plan(ordered(rule="fixed", n=10**6), seconds=0.5)
    assert planned.samples == Span(*[40 * (100 + 10**6)] * 3)
    assert planned.pilot["samples"] < 40 * 2000


@pytest.mark.slow
def test_a_run_that_is_begun_only_lies_within_the_limits(tmp_path: Path) -> None:
    run = ordered(120, rule="grid")
    taken = certified(run, tmp_path).samples.sum()
    for seed in range(3):
        planned = plan(run, seconds=0.1, seed=seed)
        assert planned.pilot["images"] < 120
        assert planned.samples.low <= min(taken, planned.samples.middle), seed
        assert max(taken, planned.samples.middle) <= planned.samples.high, seed


def test_images_that_are_given_up_widen_the_limits_by_what_they_may_still_take(
    tmp_path: Path,
) -> None:
    run = ordered(30, rule="grid", n=20_000)
    mean, pilot = certified(run, tmp_path).samples.mean(), piloted(run)
    hard = [image for image in pilot.images if image.samples and image.samples > 1_000]
    assert len(hard) > 3 and pilot.low == pytest.approx(mean)
    for image in hard[:3]:
        image.samples, image.path = None, image.path[:1]
    low, high = pilot._limits(pilot.images)
    assert low < mean < high and high - low == pytest.approx(
        3 * (20_000 - pilot.rule.samples([0])) / 30
    )


@pytest.mark.slow
def test_other_rules_are_foretold_from_the_counts_of_this_one(tmp_path: Path) -> None:
    planned = plan(ordered(100, rule="dense=0.5", n=3000), seconds=300.0)
    middles = []
    for rule in ("radius=0.5", "grid", "fixed"):
        taken, samples = (
            certified(ordered(100, rule=rule, n=3000), tmp_path / rule).samples.sum(),
            planned.rules[rule],
        )
        assert samples["samples"].low <= taken <= samples["samples"].high, rule
        assert abs(samples["samples"].middle / taken - 1.0) < 0.2, rule
        middles.append(samples["samples"].middle)
    assert middles == sorted(middles)


def test_a_plan_is_plain_numbers_and_more_workers_take_less_time_but_not_less_than_an_image(
    tmp_path: Path,
) -> None:
    planned = plan(ordered(40, rule="grid"), workers=[1, 2, 40, 1000], seconds=1.0)
    middles = [planned.workers[k].middle for k in (1, 2, 40, 1000)]
    assert planned.workers[1] == planned.seconds
    assert (
        middles[0]
        > middles[1]
        > middles[2]
        == middles[3]
        > planned.about["start_seconds"]
    )
    found = json.loads(json.dumps(planned.to_dict()))
    assert (
        found["workers"]["2"]["low"]
        <= found["workers"]["2"]["middle"]
        <= found["workers"]["2"]["high"]
    )
    assert (
        found["images"] == 40
        and found["rule"] == "grid"
        and found["pilot"]["seed"] == 0
    )
    certified(
        ordered(40, rule="grid"), tmp_path
    )  # whose size was foretold as an upper estimate
    assert (
        found["table_bytes"] / 4
        < (tmp_path / "run.parquet").stat().st_size
        < found["table_bytes"]
    )
    for given in ({"seconds": 0.0}, {"seconds": float("nan")}, {"workers": [0]}):
        with pytest.raises(Problem):
            plan(ordered(), **given)


# --- models to come -------------------------------------------------------------------------------------------------


def test_passes_are_those_of_the_method() -> None:
    rows: list[tuple[str, dict[str, Any], int]] = [
        ("gaussian", {"m": 3}, 3),
        ("stability", {"m": 2}, 2 + 1),  # and the clean image
        ("consistency", {"m": 4}, 4),
        ("macer", {"k": 5}, 5),
        (
            "smoothadv",
            {"m": 2, "T": 4},
            2 * 4 + 2,
        ),  # every step of the attack, and the weights' gradient
        ("smoothadv", {"m": 2, "T": 8}, 2 * 8 + 2),
    ]
    for name, values, both in rows:
        before = torch.get_rng_state()
        assert work_of(methods.create(name, **values)).both == both, name
        assert torch.equal(before, torch.get_rng_state()), name


def steps(take: int | None = None, **options: Any) -> list[Step]:
    settings = TrainingSettings(**{"sigma": 0.25, "epochs": 2, "take": take, **options})
    train = Train(name="a/train", makes=Path("a"), dataset="digits", settings=settings)
    certify = Certify(
        name="a/n",
        makes=Path("a.parquet"),
        needs=(train,),
        model="a",
        settings=CertificationSettings(n=900, n0=100),
        images={"take": 10},
    )
    return [train, certify]


def test_time_is_images_times_passes_times_speed() -> None:
    def speed(
        *network: object,
    ) -> Passes:  # a millisecond forward, three there and back
        return {("small-cnn", (1, 8, 8), 10): Passes(0.001, 0.003)}[network]  # type: ignore[index]

    planned = plan_steps(steps(take=200, set={"m": 1}), speed)
    assert planned.steps == {
        "a/train": pytest.approx(2 * 200 * 0.003),
        "a/n": pytest.approx(10 * 1000 * 0.001),
    }
    assert planned.total == pytest.approx(11.2)
    assert planned.on_workers(1) == pytest.approx(11.2)
    assert planned.on_workers(100) == pytest.approx(
        10.0
    )  # the longest step, which no two share
    twice = plan_steps(
        steps(take=200, epochs=4, method="consistency", set={"m": 2}), speed
    )
    assert twice.training["a/train"] == pytest.approx(4 * planned.training["a/train"])
    assert plan_steps(steps()[1:], speed).steps == {
        "a/n": planned.steps["a/n"]
    }  # of a model that is there
