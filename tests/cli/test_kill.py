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
TRAIN = ["train", "digits", "--method", "amplify", "--sigma", "0.5", "--set", "E_t=2", "--set", "discard_noises=16"]


def finish(words: list[str]) -> float:
    """Run to the end; the seconds it took."""
    start = time.monotonic()
    subprocess.run([*COMMAND, *words], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def kill_several_times(words: list[str], seconds: float, times: int, sign: Path) -> int:
    """Start `words` and kill it, `times` over, at random moments after `sign` exists; how often it was still running.

    Starting up takes most of a short run, so the moments are drawn from when the work has begun.
    """
    rng = random.Random()
    running = 0
    for _ in range(times):
        process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not sign.exists() and process.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, seconds / 2))
        running += process.poll() is None
        process.kill()
        process.wait()
    return running


def test_killed_training_and_certification_end_as_if_never_killed(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    size = ["--epochs", "10"]
    seconds = finish([*TRAIN, *size, "--out", str(whole)])
    words = [*TRAIN, *size, "--out", str(cut), "--resume"]
    assert kill_several_times(words, seconds, 3, cut / "checkpoint.pt") >= 1
    finish(words)
    for name in ("model.safetensors", "config.json"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()

    certify = ["certify", str(whole), "--n", "2000", "--take", "150"]
    seconds = finish([*certify, "--out", str(tmp_path / "whole.parquet")])
    words = [*certify, "--out", str(tmp_path / "cut.parquet"), "--resume"]
    assert kill_several_times(words, seconds, 3, tmp_path / "cut.parquet.partial") >= 1
    finish(words)
    left, right = read(tmp_path / "cut.parquet"), read(tmp_path / "whole.parquet")
    assert left.header == right.header
    for column in ("idx", "label", "predict", "radius", "counts0", "counts"):
        assert np.array_equal(getattr(left, column), getattr(right, column))
