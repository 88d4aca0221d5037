"""Plans of sweeps and reproductions: work is counted, speeds are measured, and both are multiplied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from cli.run import Result, Run
from randsmooth import methods
from randsmooth.launch import Step
from randsmooth.launch.graph_plan import NetworkSpeed, Speeds, plan_steps
from randsmooth.launch.work import Work, work_of

DIGITS = ("small-cnn", (1, 8, 8), 10)


@pytest.mark.parametrize(
    ("name", "values", "both"),
    [
        ("gaussian", {"m": 3}, 3),
        ("stability", {"m": 2}, 2 + 1),  # and the clean image
        ("consistency", {"m": 4}, 4),
        ("macer", {"k": 5}, 5),
        ("smoothadv", {"m": 2, "T": 4}, 2 * 4 + 2),  # every step of the attack, and the weights' gradient
        ("smoothadv", {"m": 2, "T": 8}, 2 * 8 + 2),
    ],
)
def test_passes_are_those_of_the_method(name: str, values: dict[str, Any], both: int) -> None:
    before = torch.get_rng_state()
    found = work_of(methods.create(name, **values))
    assert found.both == both
    assert torch.equal(before, torch.get_rng_state())


def known() -> Speeds:
    """Speeds that need no measuring: a millisecond forward, three there and back."""
    return Speeds(torch.device("cpu"), {DIGITS: NetworkSpeed(0.001, 0.003)})


def steps(**options: Any) -> list[Step]:
    train = Step("a/train", "train", "digits", {"sigma": 0.25, "epochs": 2, **options}, Path("a"))
    certify = Step("a/n", "certify", "a", {"n": 900, "n0": 100, "take": 10}, Path("a.parquet"), ("a/train",))
    return [train, certify]


def test_time_is_images_times_passes_times_speed() -> None:
    planned = plan_steps(steps(take=200, set={"m": 1}), known())
    assert planned.training == pytest.approx(2 * 200 * 0.003)
    assert planned.certification == pytest.approx(10 * 1000 * 0.001)
    assert planned.steps == {"a/train": pytest.approx(1.2), "a/n": pytest.approx(10.0)}
    assert not planned.at_most and not planned.unknown
    twice = plan_steps(steps(take=200, epochs=4, method="consistency", set={"m": 2}), known())
    assert twice.training == pytest.approx(4 * planned.training)


def test_all_images_are_certified_where_none_are_chosen() -> None:
    train, certify = steps()
    some = Step("a/some", "certify", "a", {"n": 900, "skip": 7, "rule": "grid"}, Path("b.parquet"), ("a/train",))
    every = Step("a/all", "certify", "a", {"n": 900}, Path("c.parquet"), ("a/train",))
    planned = plan_steps([train, certify, some, every], known())
    assert planned.steps["a/all"] == pytest.approx(364.0) and planned.steps["a/some"] == pytest.approx(52.0)
    assert planned.at_most


def test_workers_share_steps_but_no_step() -> None:
    planned = plan_steps(steps(take=200), known())
    assert planned.on_workers(1) == planned.seconds
    assert planned.on_workers(100) == max(planned.steps.values())


def test_what_cannot_be_foretold_is_named() -> None:
    denoiser = Step("d/train", "train-denoiser", "digits", {"sigma": 0.5}, Path("d"))
    assert plan_steps([denoiser, steps()[1]], known()).unknown == ("d/train", "a/n")


@pytest.mark.slow
def test_a_network_is_measured_once() -> None:
    speeds = Speeds(torch.device("cpu"))
    plan_steps(steps(take=10), speeds)
    assert [*speeds.known] == [DIGITS] and 0 < speeds.known[DIGITS].forward < speeds.known[DIGITS].both
    assert work_of(methods.create("gaussian")) == Work(0.0, 1.0)


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs a command line in an empty folder."""
    from randsmooth.cli.main import main

    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> Result:
        monkeypatch.setattr("sys.argv", ["randsmooth", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return Result(int(stop.value.code or 0), printed.out, printed.err)

    return run


def test_a_reproduction_says_what_is_missing_and_makes_nothing(cli: Run, tmp_path: Path) -> None:
    ran = cli("reproduce", "acr/c1", "--scale", "tiny", "--plan", "--workers", 2)
    assert ran.code == 0 and not [*tmp_path.iterdir()]
    assert ran.out.count("/train") == 3 == ran.out.count("/certify")
    assert "together" in ran.out and "on 2 workers" in ran.out


def test_a_sweep_says_what_it_takes_and_makes_nothing(cli: Run, tmp_path: Path) -> None:
    grid = "datasets: digits\nmethods: [gaussian, stability]\nsigmas: 0.25\ntrain: {epochs: 1}\ncertify: {n: 1000}\n"
    (tmp_path / "grid.yaml").write_text(grid)
    ran = cli("sweep", "grid.yaml", "--plan")
    assert ran.code == 0, ran.err
    assert {path.name for path in tmp_path.iterdir()} == {"grid.yaml"}
    assert "digits-gaussian-0.25-seed0/train" in ran.out and "training" in ran.out


@pytest.mark.slow
def test_every_object_has_its_hours(cli: Run) -> None:
    from randsmooth.papers import OBJECTS

    ran = cli("reproduce", "--list", "--plan", "--scale", "tiny")
    assert ran.code == 0
    assert all(f"{thing.name} " in ran.out for thing in OBJECTS)
    assert "all, each model once" in ran.out
