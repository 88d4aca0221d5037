"""`randsmooth sweep`: what it refuses before its first step."""

import json
from pathlib import Path
from typing import Any

import yaml

from cli.processes import Run
from randsmooth.atomic import claimed
from randsmooth.errors import Problem
from randsmooth.launch import SweepGrid
from randsmooth.launch.chains import chains_of
from randsmooth.launch.outcomes import write_problem
from randsmooth.launch.sweep_steps import steps_of
from randsmooth.launch.sweeping import begun

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


BAD: list[tuple[dict[str, Any], str]] = [
    ({"methods": []}, "the grid is empty: methods is []"),
    ({"methods": {"consistency": {"lbd": "five"}}}, "lbd='five'"),
    ({"datasets": "no/such"}, "no folder at no/such"),
    ({"certify": {"rule": "grd"}}, "did you mean 'grid'"),
    ({"certify": {"n": 100, "take": 5, "skip": 5}}, "choose images in two ways"),
    ({"certify": {"n": 100, "denoiser": "nowhere"}}, "nowhere is not a folder"),
    ({"sigmas": 0}, "the model is trained without noise: give certify a sigma"),
    (
        {"methods": {"cat-rs": {"variant": "released", "teacher": "nowhere"}}},
        "nowhere is not a folder",
    ),
    ({"methods": {"cat-rs": {"variant": "released"}}}, "learns from a teacher"),
]


def test_what_cannot_run_is_refused_before_anything_runs(cli: Run) -> None:
    for changes, said in BAD:
        assert said in cli.refused("sweep", written(changes)), changes
        assert not Path("runs").exists()


def test_bad_words(cli: Run) -> None:
    written({})
    Path("full").mkdir()
    Path("full/mine.txt").touch()
    bad = {
        "nosuch.yaml": "no grid at nosuch.yaml",
        "grid.yaml another.yaml": "give one grid",
        "grid.yaml --out s3://bucket/sweep": "expected a path on this machine",
        "grid.yaml --at -1": "radius",
        "status nowhere": "holds no sweep",
        "status": "`status` and the folder of a sweep",
        "status a b": "give one grid, or",
        "grid.yaml --out full": "full holds mine.txt, which no sweep wrote",
        "grid.yaml --out grid.yaml": "the folder grid.yaml cannot be made (File exists): choose another place",
    }
    cli.refuses(bad, "sweep")


def test_the_folder_of_another_sweep_is_left_alone(cli: Run) -> None:
    out = Path("runs/sweep")
    with begun(SweepGrid.read(BASE), out):
        assert "another run is writing" in cli.refused(
            "sweep", written({}), "--out", out
        )
    assert "holds another sweep" in cli.refused(
        "sweep", written({"methods": "macer"}), "--out", out
    )
    folder = out / "digits-gaussian-0.25-seed0" / "model"
    table = folder.with_name(
        f"{next(iter(SweepGrid.read(BASE).certifications))}.parquet"
    )
    for make, made, remove in (
        (folder.mkdir, folder, folder.rmdir),
        (table.touch, table, table.unlink),
    ):
        folder.parent.mkdir(parents=True, exist_ok=True)
        make()  # a table of the model that was there would be ranked as that of the new one
        error = cli.refused("sweep", written({"train": {"epochs": 3}}), "--out", out)
        assert (
            f"{made} was made with other settings (epochs=2 there, epochs=3 in the grid)"
            in error
        )
        remove()
    for more in ({}, {"seeds": [0, 1]}):  # nothing had been made of it
        with begun(SweepGrid.read(BASE | {"train": {"epochs": 3}} | more), out):
            pass


def test_the_status_is_read_from_the_folder(cli: Run) -> None:
    grid, out = SweepGrid.read(BASE | {"seeds": [0, 1, 2, 3]}), Path("runs/sweep")
    with begun(grid, out):
        pass
    chains = chains_of(steps_of(grid, out))
    for chain in chains[:2]:
        model = chain.steps[0].makes
        model.mkdir(parents=True)
        (model / "history.csv").write_text("epoch,loss\n0,1.0\n")
    third = chains[2].steps[0]
    third.makes.parent.mkdir()
    write_problem(Problem("the loss became NaN"), third.beside(".failed"))
    with claimed(chains[0].steps[0].makes, kind="step"):
        code, text, _ = cli("sweep", "status", out)
    lines = text.splitlines()
    assert code == 0
    assert lines[0].split()[1:] == [
        "running",
        "train:",
        "epoch",
        "1",
        "of",
        "2",
        "done",
    ]
    assert lines[1].endswith("waiting train: epoch 1 of 2 done, to be resumed")
    assert lines[2].split()[1:] == ["failed", "train:", "the", "loss", "became", "NaN"]
    assert (
        lines[3].endswith("waiting") and lines[-1] == "1 running, 2 waiting, 1 failed"
    )
    _, text, _ = cli("sweep", "status", out, "--format", "json")
    told = json.loads(text)[2]
    assert told["state"] == "failed" and told["steps"][0]["command"].startswith(
        "randsmooth train digits"
    )


def test_a_plan_of_a_sweep_or_a_reproduction_makes_nothing(
    cli: Run, tmp_path: Path
) -> None:
    code, text, _ = cli(
        "reproduce", "acr/c1", "--scale", "tiny", "--plan", "--workers", "2"
    )
    assert code == 0 and not [*tmp_path.iterdir()]
    assert text.count("/train") == 3 == text.count("/certify")
    assert "together" in text and "on 2 workers" in text
    code, text, _ = cli(
        "sweep",
        written({"methods": ["gaussian", "stability"], "train": {"epochs": 1}}),
        "--plan",
    )
    assert code == 0 and {path.name for path in tmp_path.iterdir()} == {"grid.yaml"}
    assert "digits-gaussian-0.25-seed0/train" in text and "training" in text
