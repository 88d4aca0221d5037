"""Processes killed (SIGKILL) at random moments, several times each: the results equal the uninterrupted ones."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.processes import server, start
from randsmooth import read

KILLS = 3
PATIENCE = 120.0  # seconds for a process to begin its work
SHARE = 0.03  # of the uninterrupted run: the latest that it is killed after its work has shown


@pytest.fixture(autouse=True)
def processes() -> Iterator[None]:
    with server():
        yield


def finish(words: list[str]) -> None:
    process = start(words)
    process.join()
    assert process.exitcode == 0


def state(sign: Path) -> tuple[int, int] | None:
    return (sign.stat().st_mtime_ns, sign.stat().st_size) if sign.exists() else None


def kill_in_the_work(words: list[str], sign: Path, delay: float) -> None:
    """Start `words`, wait until its work shows in `sign`, and kill it `delay` seconds later."""
    before, deadline = state(sign), time.monotonic() + PATIENCE
    process = start(words)
    while state(sign) == before and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(delay)
    assert process.is_alive(), "the run ended before it could be killed: make it longer"
    process.kill()
    process.join()


@pytest.mark.slow
def test_killed_training_and_certification_end_as_if_never_killed(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"moments drawn with seed {seed}")
    rng = random.Random(seed)

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    train = ["train", "digits", "--method", "amplify", "--sigma", "0.5", "--epochs", "14", "--set", "E_t=2"]
    train += ["--take", "200"]
    finish([*train, "--out", str(whole)])
    latest = SHARE * pd.read_csv(whole / "history.csv")["seconds"].sum()
    resumed = [*train, "--out", str(cut), "--resume"]
    kill_in_the_work(resumed, cut / "run.yaml", rng.uniform(0, latest))  # before or around the first checkpoint
    for _ in range(KILLS):
        kill_in_the_work(resumed, cut / "checkpoint.pt", rng.uniform(0, latest))
    finish(resumed)
    for name in ("model.safetensors", "config.json", "run.yaml"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()

    certify = ["certify", str(whole), "--n", "1500", "--take", "60"]
    finish([*certify, "--out", str(tmp_path / "whole.parquet")])
    right = read(tmp_path / "whole.parquet")
    latest = SHARE * right.seconds.sum()
    resumed = [*certify, "--out", str(tmp_path / "cut.parquet"), "--resume"]
    for _ in range(KILLS):
        kill_in_the_work(resumed, tmp_path / "cut.parquet.partial", rng.uniform(0, latest))
    finish(resumed)
    left = read(tmp_path / "cut.parquet")
    assert left.header == right.header
    for column in ("idx", "label", "predict", "radius", "counts0", "counts"):
        assert np.array_equal(getattr(left, column), getattr(right, column))
    assert not (tmp_path / "cut.parquet.partial").exists()
