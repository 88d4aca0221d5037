"""A sweep submitted to a real Slurm: jobs that wait for each other, one that fails, the same command again."""

from pathlib import Path

import pytest
import yaml

from launch.slurm.conftest import Command, wait
from randsmooth import read
from randsmooth.launch import SweepGrid, status
from randsmooth.launch.sweeping import begun

pytestmark = pytest.mark.slow
GRID = {
    "datasets": "digits",
    "methods": "gaussian",
    "sigmas": [0.25, 0.5],
    "train": {"take": 60, "epochs": 2},
    "certify": {"n": 300, "take": 12},
}
SWEEP = "sweep grid.yaml --slurm --time 10 --out out"
PATIENCE = 900.0


def test_the_models_are_made_and_what_failed_is_submitted_again(
    folder: Path, command: Command
) -> None:
    (folder / "grid.yaml").write_text(yaml.safe_dump(GRID))
    first, second = (
        folder / "out" / f"digits-gaussian-{sigma}-seed0" for sigma in (0.25, 0.5)
    )
    assert (
        "--slurm needs --time"
        in command("sweep grid.yaml --out out --slurm", code=2).stderr
    )
    with begun(SweepGrid.read(GRID), folder / "out"):
        pass
    in_the_way = second / "model"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("a file where a folder should be")

    said = command(SWEEP)
    assert (
        said.stdout.startswith("3 models submitted now\n")
        and "randsmooth sweep status out" in said.stderr
    )
    assert (
        "are queued or running in Slurm"
        in command("sweep grid.yaml --out out", code=2).stderr
    )
    wait(folder / "out", PATIENCE)
    assert len(read(first / "n=300-take=12.parquet")) == 12
    models = {model.name: model for model in status(folder / "out")}
    assert (
        models[first.name].state == "done"
        and (folder / "out" / "leaderboard.html").exists()
    )
    assert models[second.name].state == "failed" and "is a file" in str(
        models[second.name].failure
    )

    in_the_way.unlink()
    assert command(SWEEP).stdout.startswith("2 models submitted now\n")
    wait(folder / "out", PATIENCE)
    assert {model.state for model in status(folder / "out")} == {"done"}
    assert len(read(second / "n=300-take=12.parquet")) == 12
    assert len([*folder.glob("out/*/*.parquet")]) == 2
    assert command(SWEEP).stdout.startswith("nothing is missing")


def test_what_a_figure_lacks_is_submitted_and_then_drawn(
    folder: Path, command: Command
) -> None:
    figure = "reproduce cat-rs/table7 --scale tiny --out drawn"
    assert "--slurm needs --time" in command(f"{figure} --slurm", code=2).stderr
    said = command(f"{figure} --slurm --time 10")
    assert (
        said.stdout.startswith("4 models submitted now\n")
        and "the same command without --slurm" in said.stderr
    )
    assert "are queued or running in Slurm" in command(f"{figure} --run", code=2).stderr
    wait(folder / "drawn" / "tiny", PATIENCE)
    assert command(f"{figure} --slurm --time 10").stdout.startswith(
        "nothing is missing"
    )
    assert "missing:" not in command(figure).stdout
    assert (folder / "drawn" / "cat-rs-table7.md").is_file()
