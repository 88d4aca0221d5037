"""`randsmooth sweep`: what it refuses before its first step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.run import Result, Run
from randsmooth.cluster import Grid
from randsmooth.cluster.cell_status import step_statuses
from randsmooth.cluster.sweep_folder import SweepFolder, say_failed
from randsmooth.cluster.sweep_graph import graph_of

BASE: dict[str, Any] = {
    "datasets": "digits",
    "methods": "gaussian",
    "sigmas": 0.25,
    "train": {"epochs": 2},
    "certify": {"n": 100, "take": 10},
}


def written(changes: dict[str, Any], name: str = "grid.yaml") -> str:
    Path(name).write_text(yaml.safe_dump(BASE | changes))
    return name


def refused(cli: Run, *words: object) -> str:
    """The error of a command that must not begin."""
    result: Result = cli("sweep", *words)
    assert result.code == 2 and "begin" not in result.out
    return result.err


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"methods": []}, "the grid is empty: methods is []"),
        ({"train": {"epochs": -1}}, "digits-gaussian-0.25-seed0/train: epochs=-1 must be at least 1"),
        ({"sigmas": -1}, "digits-gaussian--1-seed0/train: sigma"),
        ({"train": {"batch": "half"}}, "batch='half' must be of type int"),
        ({"methods": {"consistency": {"lbd": "five"}}}, "lbd='five' must be of type float"),
        ({"train": {"preset": "nosuch"}}, "preset"),
        ({"train": {"arch": "nosuch"}}, "nosuch"),
        ({"datasets": "no/such"}, "no folder at no/such"),
        ({"certify": {"rule": "grd"}}, "did you mean 'grid'"),
        ({"certify": {"n": 5}}, "n=5: alpha=0.001 needs n >= 10"),
        ({"certify": {"backend": "tensorflow"}}, "unknown backend 'tensorflow'"),
        ({"certify": {"n": 100, "take": 5, "skip": 5}}, "choose images in two ways"),
        ({"certify": {"n": 100, "split": "tset"}}, "did you mean 'test'"),
        ({"certify": {"n": 100, "denoiser": "nowhere"}}, "nowhere is not a folder"),
        ({"certify": {"n": 100, "denoiser": {"epochs": 0}}}, "epochs=0 must lie from 1"),
        ({"sigmas": 0}, "the model is trained without noise: give certify a sigma"),
        ({"methods": {"cat-rs": {"variant": "released", "teacher": "nowhere"}}}, "teacher: nowhere"),
        ({"methods": {"cat-rs": {"variant": "released"}}}, "learns from a teacher"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_runs(cli: Run, changes: dict[str, Any], named: str) -> None:
    assert named in refused(cli, written(changes))
    assert not Path("runs").exists()


def test_bad_words(cli: Run) -> None:
    grid = written({})
    assert "no grid at nosuch.yaml" in refused(cli, "nosuch.yaml")
    assert "give one grid" in refused(cli, grid, "another.yaml")
    assert "workers=0 must be at least 1" in refused(cli, grid, "--workers", 0)
    assert "expected a path on this machine" in refused(cli, grid, "--out", "s3://bucket/sweep")
    assert "holds no sweep" in refused(cli, "status", "nowhere")
    assert "sweep status needs the folder of a sweep" in refused(cli, "status")
    Path("full").mkdir()
    Path("full/mine.txt").touch()
    assert "full holds mine.txt, which no sweep wrote" in refused(cli, grid, "--out", "full")
    assert "grid.yaml is a file" in refused(cli, grid, "--out", grid)
    Path("list.yaml").write_text("- digits\n")
    assert "list.yaml holds no grid" in refused(cli, "list.yaml")


def test_the_folder_of_another_sweep_is_left_alone(cli: Run) -> None:
    out = SweepFolder(Path("runs/sweep"))
    out.begin(Grid.read(BASE))
    assert "holds another sweep" in refused(cli, written({"methods": "macer"}), "--out", out.path)
    folder = out.path / "digits-gaussian-0.25-seed0" / "model"
    folder.mkdir(parents=True)
    error = refused(cli, written({"train": {"epochs": 3}}), "--out", out.path)
    assert f"{folder} was made with other settings (epochs 2 there, 3 in the grid)" in error
    folder.rmdir()
    table = folder.with_name(f"{Grid.read(BASE).certifications[0].title}.parquet")
    table.touch()  # of the model that was there: it would be ranked as that of the new one
    error = refused(cli, written({"train": {"epochs": 3}}), "--out", out.path)
    assert f"{table} was made with other settings (epochs 2 there, 3 in the grid)" in error
    table.unlink()
    out.begin(Grid.read(BASE | {"train": {"epochs": 3}}))  # nothing had been made of it
    out.begin(Grid.read(BASE | {"train": {"epochs": 3}, "seeds": [0, 1]}))


def test_the_status_is_read_from_the_folder(cli: Run) -> None:
    grid, out = Grid.read(BASE | {"seeds": [0, 1, 2, 3]}), Path("runs/sweep")
    SweepFolder(out).begin(grid)
    graph = graph_of(grid, out)
    for seed in (0, 1):
        model = graph[f"digits-gaussian-0.25-seed{seed}/train"].makes
        model.mkdir(parents=True)
        (model / "history.csv").write_text("epoch,loss\n0,1.0\n")
    say_failed(graph["digits-gaussian-0.25-seed2/train"], "the loss became NaN")
    SweepFolder(out).say_running({"digits-gaussian-0.25-seed0/train": 0.0})
    code, text, _ = cli("sweep", "status", out)
    lines = text.splitlines()
    assert code == 0
    assert lines[0].split("  ")[1:] == ["running train: epoch 1 of 2 done"]
    assert lines[1].endswith("waiting train: epoch 1 of 2 done, to be gone on with")
    assert lines[2].endswith("failed  train: the loss became NaN")
    assert lines[3].endswith("waiting") and lines[-1] == "1 running, 3 waiting, 1 failed"
    code, text, _ = cli("sweep", "status", out, "--format", "json")
    third = json.loads(text)[2]
    assert third["state"] == "failed" and third["steps"][0]["command"].startswith("randsmooth train digits")
    assert third["steps"][1]["says"] == "waits for digits-gaussian-0.25-seed2/train, which failed"


def test_a_sweep_that_is_gone_runs_nothing(cli: Run) -> None:
    grid, out = Grid.read(BASE), SweepFolder(Path("runs/sweep"))
    out.begin(grid)
    out.say_running({"digits-gaussian-0.25-seed0/train": 0.0})
    record = json.loads((out.path / ".running.json").read_text())
    (out.path / ".running.json").write_text(json.dumps(record | {"pid": 2**22 + 1}))  # beyond what Linux gives
    assert out.running() == {}
    assert next(step_statuses(graph_of(grid, out.path), out.running(), {}, {})).state == "waiting"
