"""Sweeps from the command line: trained, certified, evaluated and ranked, interrupted, gone on with."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from drills.facts import facts, made_twice
from launch.processes import running
from randsmooth import read
from randsmooth.launch import status

pytestmark = pytest.mark.slow
GRID = {
    "datasets": "digits",
    "methods": {
        "gaussian": None,
        "cat-rs": {"variant": "released", "teacher": {}, "teacher_noises": 16},
    },
    "sigmas": 0.25,
    "train": {"take": 60, "epochs": 2},
    "certify": {"n": 300, "take": 12, "rule": ["fixed", "grid"]},
}
PATIENCE = 900.0


def words(*more: object) -> list[str]:
    return [sys.executable, "-m", "randsmooth", "sweep", *map(str, more)]


def sweep(
    folder: Path, *more: object, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """`randsmooth sweep` in the folder, as a user types it."""
    done = subprocess.run(
        words(*more), cwd=folder, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def grid(folder: Path, **changes: object) -> str:
    (folder / "grid.yaml").write_text(yaml.safe_dump(GRID | changes))
    return "grid.yaml"


def test_a_sweep_makes_all_goes_on_and_grows(tmp_path: Path) -> None:
    said = sweep(tmp_path, grid(tmp_path), "--workers", 2).stdout
    out = tmp_path / "runs" / "grid"
    gaussian, cat_rs = (
        out / f"digits-{name}-0.25-seed0" for name in ("gaussian", NAMED)
    )
    assert (gaussian / "model" / "config.json").stat().st_mtime < (
        cat_rs / "model" / "run.yaml"
    ).stat().st_mtime
    tables = sorted(out.glob("*/*.parquet"))
    assert len(tables) == 4 and all(len(read(table)) == 12 for table in tables)
    metrics = json.loads((gaussian / "metrics.json").read_text())
    ranked = json.loads((out / "leaderboard.json").read_text())
    assert (
        len(metrics["tables"]) == 2
        and len(ranked) == 4
        and str(ranked[0]["file"]) in said
    )
    assert (out / "leaderboard.html").stat().st_size > 5000
    assert [cell.state for cell in status(out)] == ["done"] * 2
    before = facts(out)

    again = sweep(tmp_path, "grid.yaml").stderr
    assert "begin" not in again and facts(out) == before

    sweep(tmp_path, grid(tmp_path, sigmas=[0.25, 0.5]), "--out", out, "--workers", 2)
    assert len([*out.glob("*/*.parquet")]) == 8
    assert len(json.loads((out / "leaderboard.json").read_text())) == 8
    after = facts(out)
    assert {name: after[name] for name in before if "/" in name} == {
        name: value for name, value in before.items() if "/" in name
    }
    assert made_twice(out) == ""


NAMED = "cat-rs-teacher=default-teacher_noises=16-variant=released"


def test_what_fails_is_told_and_tried_again_and_the_rest_is_done(
    tmp_path: Path,
) -> None:
    out = tmp_path / "runs" / "grid"
    in_the_way = out / "digits-gaussian-0.25-seed0" / "model"
    changes = {
        "seeds": [0, 1],
        "certify": {"n": 300, "take": 12},
        "methods": "gaussian",
    }
    sweep(tmp_path, grid(tmp_path, **changes | {"seeds": 1, "certify": []}))
    in_the_way.parent.mkdir()
    in_the_way.write_text("a file where a folder should be")
    ended = sweep(tmp_path, grid(tmp_path, **changes), code=1)
    said = ended.stdout + ended.stderr
    assert (
        f"failed digits-gaussian-0.25-seed0: {Path('runs/grid')}" in said
        and "is a file" in said
    )
    assert (
        "1 models failed; the same command tries them again, or one step alone:" in said
    )
    alone = [line for line in said.splitlines() if "randsmooth train digits" in line]
    assert len(alone) == 1 and "--sigma 0.25" in alone[0]
    assert len([*out.glob("*/*.parquet")]) == 1 and (out / "leaderboard.html").exists()
    assert sweep(tmp_path, "status", out).stdout.splitlines()[-1] == "1 done, 1 failed"
    in_the_way.unlink()
    sweep(tmp_path, "grid.yaml")
    assert {cell.state for cell in status(out)} == {"done"} and len(
        [*out.glob("*/*.parquet")]
    ) == 2


def test_ctrl_c_ends_the_steps(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "grid"
    process = subprocess.Popen(
        words(grid(tmp_path, train={"epochs": 500})),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.default_int_handler
        ),  # a shell may have it ignored
    )
    wait_for(out / "digits-gaussian-0.25-seed0" / "model" / "history.csv", process)
    assert "running" in sweep(tmp_path, "status", out).stdout
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120.0)[0].decode()
    assert process.returncode == 130 and "the same command goes on" in said, said
    assert not running("-m randsmooth", out.parent.parent)
    shown = sweep(tmp_path, "status", out).stdout
    assert "waiting" in shown and "running" not in shown


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Until a step has written something there."""
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.stat().st_size):
        assert process.poll() is None and time.monotonic() < deadline, (
            f"ended before {path} was there"
        )
        time.sleep(0.02)
