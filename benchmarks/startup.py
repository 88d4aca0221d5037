"""What a command costs before it does anything: CPU seconds beside those of the imports that it cannot do without.

    python benchmarks/startup.py [--out results/bench/startup-cpu.json]

Each command runs in a process of its own, in turn with the other of its pair; the ratios are of medians. CPU seconds
are those of user and system together, so that a busy machine does not matter much.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import Figure, finish
from report import write_logs

ROUNDS = 11
HELP, EVALUATE = 2.0, 1.5  # at most these times the CPU seconds of the imports
RANDSMOOTH = [sys.executable, "-m", "randsmooth"]


def cpu_seconds(command: Sequence[str]) -> float:
    """What one run of `command` takes; its output is discarded. Raises CalledProcessError where it fails."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime


def against_imports(name: str, command: Sequence[str], imports: str, target: float) -> Figure:
    """CPU seconds of `command` over those of a Python process that only imports `imports`."""
    alone = [sys.executable, "-c", f"import {imports}"]
    cpu_seconds(alone), cpu_seconds(command)  # what is compiled or read from disk for the first time
    rounds = [(cpu_seconds(alone), cpu_seconds(command)) for _ in range(ROUNDS)]
    baseline, value = (statistics.median(column) for column in zip(*rounds, strict=True))
    note = f"{baseline:.3f} s -> {value:.3f} s of CPU"
    figure = Figure(f"{name} beside import {imports}", value / baseline, target, rounds, note, most=True)
    print(f"{figure.line()}  ({note})", flush=True)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/startup.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (log,) = write_logs(Path(folder), logs=1)
        evaluate = [*RANDSMOOTH, "evaluate", str(log), "--sigma", "0.5", "--n", "100000", "--alpha", "0.001"]
        figures = [
            against_imports("--help", [*RANDSMOOTH, "--help"], "typer, rich", HELP),
            against_imports("evaluate LOG of 10,000 images", evaluate, "pandas, scipy.stats, pyarrow", EVALUATE),
        ]
    finish(figures, options.out)


if __name__ == "__main__":
    main()
