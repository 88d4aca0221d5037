"""What the benchmarks share: rounds taken in turn, one line a figure, JSON with the machine, an exit code."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from randsmooth.certification.backends.processor import with_torch
from randsmooth.versions import versions

ROUNDS = 5


@dataclass(frozen=True)
class Figure:
    """A measured figure beside its target: a ratio is the median of those of rounds, whose two runs follow one another.

    `most`: the target is the largest value allowed, not the smallest.
    """

    name: str
    value: float
    target: float
    rounds: list[tuple[float, float]]
    note: str = ""
    unit: str = "x"
    most: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.target if self.most else self.value >= self.target

    def line(self) -> str:
        value = f"{self.value:.2f}x" if self.unit == "x" else f"{self.value:.3f}{self.unit}"
        target = f"target {'at most ' if self.most else ''}{self.target:g}{self.unit}"
        return f"{self.name}: {value}, {target}{'' if self.met else '   MISSED'}"


def ratio(
    name: str,
    ours: Callable[[], float],
    theirs: Callable[[], float],
    target: float,
    note: Callable[[float], str] = lambda rate: "",
) -> Figure:
    """Ours over theirs, both giving a rate (work a second), measured alternately after one warm-up each.

    `note` tells more of our rate.
    """
    theirs(), ours()
    rounds = [(theirs(), ours()) for _ in range(ROUNDS)]
    baseline, value = (statistics.median(column) for column in zip(*rounds, strict=True))
    figure = Figure(name, statistics.median(own / other for other, own in rounds), target, rounds, note(value))
    more = f"; {figure.note}" if figure.note else ""
    print(figure.line(), f"  ({baseline:,.0f} -> {value:,.0f} a second{more})", flush=True)
    return figure


def rate(work: int, run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """`work` over the seconds that `run` takes, on the wall's clock or another, such as `time.process_time`."""
    start = clock()
    run()
    return work / (clock() - start)


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    cpu = next((line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine())
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    told = {"cpu": cpu, "instructions": with_torch(torch.device("cpu")), "cores": os.cpu_count(), "gpu": gpu}
    return {**told, "threads": torch.get_num_threads(), "versions": versions()}


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def finish(figures: list[Figure], out: Path) -> None:
    """Write the figures with the machine to `out`; exit with 1 when a target is missed."""
    out.parent.mkdir(parents=True, exist_ok=True)
    told = {
        "command": " ".join(["python", *sys.argv]),
        "machine": machine(),
        "figures": [asdict(figure) for figure in figures],
    }
    out.write_text(json.dumps(told, indent=1) + "\n")
    sys.exit(not all(figure.met for figure in figures))
