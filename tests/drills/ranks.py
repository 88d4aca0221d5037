"""kill -9 of a rank of a run on several devices, at random moments: `python -m drills.ranks [TIMES [SEED]]`.

After each kill the command must end by itself, in a sentence that names the rank, and the same command with --resume
must end with the weights and the history of an undisturbed run, to the last bit.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
from benchmarks.harness import machine

from drills.processes_of import ranks_of
from randsmooth import models

OUT = Path("results/drills/training-rank.json")
COMMAND = (
    "train digits --method amplify --sigma 0.25 --epochs 6 --take 600 --set T=2 --set E_t=3 --set reweight_every=1"
)
TOLD = re.compile(r"rank 1 of 2 on \S+ was killed by SIGKILL, and the run ended with it.*--resume")
PATIENCE = 600.0  # seconds for a command on a busy machine


def drill(folder: Path, times: int, seed: int) -> dict[str, Any]:
    """What became of `times` kills, each of a run of its own."""
    rng = random.Random(seed)
    begun = time.monotonic()
    _run(folder / "undisturbed").wait(PATIENCE)
    took = time.monotonic() - begun
    expected = _facts(folder / "undisturbed")
    kills = [_kill(folder / str(kill), rng, took, expected) for kill in range(times)]
    return {
        "command": f"python -m drills.ranks {times} {seed}",
        "drilled": f"randsmooth {COMMAND} --device cpu --devices 2",
        "machine": machine(),
        "killed": len(kills),
        "ended in a sentence that names the rank": sum(kill["told"] for kill in kills),
        "equal to the last bit": sum(kill["equal"] for kill in kills),
        "kills": kills,
    }


def _kill(out: Path, rng: random.Random, took: float, expected: dict[str, object]) -> dict[str, Any]:
    """One kill, between the start of the rank and the end of an undisturbed run; tried until it meets a rank."""
    while True:
        process, moment = _run(out, "--overwrite"), rng.uniform(0.0, took)
        begun = time.monotonic()
        while len(ranks_of(process.pid)) < 2 and process.poll() is None:
            time.sleep(0.01)
        time.sleep(max(0.0, moment - (time.monotonic() - begun)))
        for rank in ranks_of(process.pid)[1:]:
            os.kill(rank, 9)
        killed = time.monotonic()
        said, _ = process.communicate(timeout=PATIENCE)
        if process.returncode:
            break
    ended = time.monotonic() - killed
    finished = len(pd.read_csv(out / "history.csv")) if (out / "history.csv").exists() else 0
    _run(out, "--resume").wait(PATIENCE)
    return {
        "seconds into the run": round(killed - begun, 1),
        "epochs finished": finished,
        "all ended after seconds": round(ended, 1),
        "told": bool(TOLD.search(said)),
        "equal": _facts(out) == expected,
    }


def _run(out: Path, *flags: str) -> subprocess.Popen[str]:
    words = [*COMMAND.split(), "--device", "cpu", "--devices", "2", "--out", str(out), *flags]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = [sys.executable, "-m", "randsmooth", *words]
    return subprocess.Popen(process, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def _facts(folder: Path) -> dict[str, object]:
    """What must be equal: the weights, and the history but for the times."""
    history = pd.read_csv(folder / "history.csv").drop(columns="seconds").to_csv(index=False)
    return {"weights": models.weights_hash(models.load(folder)), "history": history}


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    times, seed = (*given, *(3, 0)[len(given) :])
    with tempfile.TemporaryDirectory(prefix="drills-") as folder:
        told = drill(Path(folder), times, seed)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told, indent=1))
    sys.exit(not told["killed"] == told["equal to the last bit"] == told["ended in a sentence that names the rank"])


if __name__ == "__main__":
    main()
