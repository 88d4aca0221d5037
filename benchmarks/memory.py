"""Peak memory of counting a million noisy copies of a 3x224x224 image, above that of the loaded model.

    python benchmarks/memory.py [--arch resnet50] [--seconds 60] [--out results/bench/memory-cpu.json]

Memory is that of one batch, so it is all in use after a few: the count is stopped after `--seconds`.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import signal
from pathlib import Path
from types import FrameType

import torch

from harness import Figure, finish
from randsmooth import models
from randsmooth.certification import Engine
from randsmooth.certification.scheduler import count_classes

N, SIDE, CLASSES, SIGMA, TARGET = 1_000_000, 224, 1000, 0.5, 1.2


class Enough(Exception):
    """Raised inside the count when its time is over."""


def stop(number: int, frame: FrameType | None) -> None:
    raise Enough


def peak() -> float:
    """The largest resident size so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="resnet50")
    parser.add_argument("--precision", default="32")
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/memory.json"))
    options = parser.parse_args()
    network = models.build(options.arch, in_channels=3, image_size=SIDE, num_classes=CLASSES).eval()
    loaded = peak()
    cpu = torch.device("cpu")
    engine = Engine(network, sigma=SIGMA, device=cpu, precision=options.precision, backend=options.backend)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(options.seconds)
    with contextlib.suppress(Enough):
        count_classes(engine, torch.rand(3, SIDE, SIDE), [("memory", N)])
    signal.alarm(0)
    name = f"peak memory above the loaded model, {options.arch}, {SIDE}x{SIDE}, n = {N:,}"
    note = f"batches of {engine.size}"
    figure = Figure(name, round(peak() - loaded, 3), TARGET, [], note, unit=" GB", most=True)
    print(figure.line(), f"  ({note})")
    finish([figure], options.out)


if __name__ == "__main__":
    main()
