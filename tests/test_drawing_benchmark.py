"""The process that `benchmarks/drawing.py` starts for each contestant, also with code of older versions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("sound", [False, True])
def test_a_side_counts_whenever_it_is_asked(sound: bool) -> None:
    script, settings = ROOT / "benchmarks/drawing_side.py", {"backend": "torch", "precision": "32", "sound": sound}
    command = [sys.executable, str(script), "lenet", "300", json.dumps(settings)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, input="\n\n", capture_output=True, text=True, check=True, env=env)
    turns = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    assert len(turns) == 2 and all(len(turn) == 2 and min(turn) > 0.0 for turn in turns)
