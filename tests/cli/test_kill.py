"""Processes killed (SIGKILL) at random moments, several times each: the results equal the uninterrupted ones."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from randsmooth import read

COMMAND = [sys.executable, "-c", "from randsmooth.cli.main import main; main()"]
KILLS = 3
PATIENCE = 120.0  # seconds for a process to begin its work


def finish(words: list[str]) -> None:
    subprocess.run([*COMMAND, *words], check=True, stdout=subprocess.DEVNULL)


def state(sign: Path) -> tuple[int, int] | None:
    return (sign.stat().st_mtime_ns, sign.stat().st_size) if sign.exists() else None


def kill_in_the_work(words: list[str], sign: Path, rng: random.Random) -> None:
    """Start `words`, wait until its work shows in `sign`, and kill it up to half a second later."""
    before, deadline = state(sign), time.monotonic() + PATIENCE
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while state(sign) == before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(rng.uniform(0.0, 0.5))
    assert process.poll() is None, "the run ended before it could be killed: make it longer"
    process.kill()
    process.wait()


def test_killed_training_and_certification_end_as_if_never_killed(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"moments drawn with seed {seed}")
    rng = random.Random(seed)

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    train = ["train", "digits", "--method", "amplify", "--sigma", "0.5", "--epochs", "14", "--set", "E_t=2"]
    finish([*train, "--out", str(whole)])
    resumed = [*train, "--out", str(cut), "--resume"]
    kill_in_the_work(resumed, cut / "run.yaml", rng)  # before or around the first checkpoint
    for _ in range(KILLS):
        kill_in_the_work(resumed, cut / "checkpoint.pt", rng)
    finish(resumed)
    for name in ("model.safetensors", "config.json", "run.yaml"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()

    certify = ["certify", str(whole), "--n", "3000", "--take", "250"]
    finish([*certify, "--out", str(tmp_path / "whole.parquet")])
    resumed = [*certify, "--out", str(tmp_path / "cut.parquet"), "--resume"]
    for _ in range(KILLS):
        kill_in_the_work(resumed, tmp_path / "cut.parquet.partial", rng)
    finish(resumed)
    left, right = read(tmp_path / "cut.parquet"), read(tmp_path / "whole.parquet")
    assert left.header == right.header
    for column in ("idx", "label", "predict", "radius", "counts0", "counts"):
        assert np.array_equal(getattr(left, column), getattr(right, column))
    assert not (tmp_path / "cut.parquet.partial").exists()
