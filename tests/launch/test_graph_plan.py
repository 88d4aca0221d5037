"""Plans of sweeps and reproductions: work is counted, speeds are measured, and both are multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from cli.run import Result, Run
from randsmooth import methods
from randsmooth.launch import Step
from randsmooth.launch.forecast import GraphPlan, Passes, plan_steps, work_of

DIGITS = ("small-cnn", (1, 8, 8), 10)


def test_passes_are_those_of_the_method() -> None:
    rows: list[tuple[str, dict[str, Any], int]] = [
        ("gaussian", {"m": 3}, 3),
        ("stability", {"m": 2}, 2 + 1),  # and the clean image
        ("consistency", {"m": 4}, 4),
        ("macer", {"k": 5}, 5),
        ("smoothadv", {"m": 2, "T": 4}, 2 * 4 + 2),  # every step of the attack, and the weights' gradient
        ("smoothadv", {"m": 2, "T": 8}, 2 * 8 + 2),
    ]
    for name, values, both in rows:
        before = torch.get_rng_state()
        assert work_of(methods.create(name, **values)).both == both, name
        assert torch.equal(before, torch.get_rng_state()), name


def planned_of(steps: Sequence[Step]) -> GraphPlan:
    """With speeds that need no measuring: a millisecond forward, three there and back."""
    return plan_steps(steps, lambda *network: {DIGITS: Passes(0.001, 0.003)}[network])


def steps(**options: Any) -> list[Step]:
    train = Step("a/train", "train", "digits", {"sigma": 0.25, "epochs": 2, **options}, Path("a"))
    certify = Step("a/n", "certify", "a", {"n": 900, "n0": 100, "take": 10}, Path("a.parquet"), ("a/train",))
    return [train, certify]


def test_time_is_images_times_passes_times_speed() -> None:
    planned = planned_of(steps(take=200, set={"m": 1}))
    assert planned.steps == {"a/train": pytest.approx(2 * 200 * 0.003), "a/n": pytest.approx(10 * 1000 * 0.001)}
    assert planned.sums == pytest.approx([1.2, 10.0, 11.2]) and not planned.unknown
    assert planned.on_workers(1) == pytest.approx(11.2)
    assert planned.on_workers(100) == pytest.approx(10.0)  # the longest step, which no two share
    twice = planned_of(steps(take=200, epochs=4, method="consistency", set={"m": 2}))
    assert twice.training["a/train"] == pytest.approx(4 * planned.training["a/train"])


def test_what_cannot_be_foretold_is_named() -> None:
    denoiser = Step("d/train", "train-denoiser", "digits", {"sigma": 0.5}, Path("d"))
    assert planned_of([denoiser, steps()[1]]).unknown == ["d/train", "a/n"]


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
