"""Samples a second of int8 models over the fastest float backend and precision of the same processor, in turn.

The note of a figure says what each backend and precision gave, and the loop as published.

    python benchmarks/int8.py [--cpu-time] [--out results/bench/int8-cpu.json]
    ONEDNN_MAX_CPU_ISA=AVX2 python benchmarks/int8.py --out results/bench/int8-cpu-avx2.json

A limit on oneDNN's instructions stands for an older processor. The networks have random weights, which cost as much as
trained ones, and are calibrated on random images.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

import published_loop
from harness import ROUNDS, Figure, finish, rate
from randsmooth import models
from randsmooth.certification import Engine, load_model, quantise
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.backends import Way, weighed
from randsmooth.certification.backends.processor import lacks_bfloat16
from randsmooth.certification.scheduler import count_classes
from randsmooth.errors import InputError

SIGMA, CLASSES, CALIBRATION = 0.5, 10, 32
CPU = torch.device("cpu")
PUBLISHED = "published loop, float32"
TARGETS = {True: 1.2, False: 1.5}  # whether the processor has bfloat16 units -> how many times as fast


@dataclass(frozen=True)
class Case:
    """A network, the file that its int8 model is, and samples a round."""

    arch: str
    channels: int
    side: int
    file: str
    samples: int

    @property
    def name(self) -> str:
        return self.arch if self.file.endswith(".xml") else f"{self.arch}-onnx"


CASES = (
    Case("lenet", 1, 28, "net.xml", 4_000),
    Case("resnet20", 3, 32, "net.xml", 500),
    Case("resnet20", 3, 32, "net.onnx", 500),
)


def measure(case: Case, folder: Path, clock: Callable[[], float]) -> Figure:
    """The int8 model against the fastest of the float backends and precisions; all take their turn, with the loop.

    Every one counts the same number of noisy copies of one image, in the batches that are usual here.
    """
    torch.manual_seed(0)
    network = models.build(case.arch, in_channels=case.channels, image_size=case.side, num_classes=CLASSES).eval()
    x = torch.rand(case.channels, case.side, case.side)
    pixels = np.random.default_rng(0).integers(0, 256, (CALIBRATION, case.side, case.side, case.channels), np.uint8)
    made = quantise(network, (pixels, np.arange(CALIBRATION) % CLASSES), out=folder / case.file, sigma=SIGMA, compare=0)
    backend = {".xml": "openvino", ".onnx": "onnx"}[made.path.suffix]
    engines = {"int8": Engine(load_model(made.path), sigma=SIGMA, device=CPU, backend=backend)} | floats(network)
    runs: dict[str, Callable[[], object]] = {
        name: partial(count_classes, engine, x, [(ESTIMATE, case.samples)]) for name, engine in engines.items()
    }
    runs[PUBLISHED] = partial(published_loop.count, network, x, SIGMA, case.samples, CLASSES)
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(1 + ROUNDS):  # the first one warms up
        for name, run in runs.items():
            found = rate(case.samples, run, clock)
            rates[name] += [found] if turn else []
    medians = {name: statistics.median(column) for name, column in rates.items()}
    best = max(engines.keys() - {"int8"}, key=medians.__getitem__)
    told = ", ".join(f"{name} {median:,.0f}" for name, median in medians.items())
    figure = Figure(
        f"samples a second in int8 ({backend}) over the fastest in floats, {case.arch}",
        medians["int8"] / medians[best],
        TARGETS[lacks_bfloat16(CPU) is None],
        list(zip(rates[best], rates["int8"], strict=True)),
        f"the fastest in floats: {best}; samples a second: {told}",
    )
    print(figure.line(), f"  ({told})", flush=True)
    return figure


def floats(network: torch.nn.Module) -> dict[str, Engine]:
    """An engine for each float backend and precision that this processor computes in."""
    found = {}
    for way in (Way(name, precision) for name in ("torch", "openvino") for precision in weighed(CPU)):
        with suppress(InputError):
            settings = {"backend": way.backend, "precision": way.precision}
            found[str(way)] = Engine(network, sigma=SIGMA, device=CPU, **settings)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu-time", action="store_true", help="of all threads, beside other work")
    parser.add_argument("--only", help="of lenet, resnet20 and resnet20-onnx, separated by commas; default: all")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/int8.json"))
    options = parser.parse_args()
    clock = time.process_time if options.cpu_time else time.perf_counter
    cases = [case for case in CASES if options.only is None or case.name in options.only.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        figures = [measure(case, Path(folder) / str(place), clock) for place, case in enumerate(cases)]
    finish(figures, options.out)


if __name__ == "__main__":
    main()
