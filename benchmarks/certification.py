"""Samples a second of the certification engine over the loop as first published, on the same network, in turn.

python benchmarks/certification.py [--device cuda] [--out results/bench/certification-cpu.json]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import torch

import published_loop
from harness import Figure, finish, rate, ratio
from randsmooth import models
from randsmooth.certification import Engine
from randsmooth.certification.smoothed import ESTIMATE

SIGMA, CLASSES = 0.5, 10


@dataclass(frozen=True)
class Case:
    """A network and how many times faster than the published loop the engine must run it."""

    arch: str
    channels: int
    side: int
    samples: int
    precision: str
    target: float


CASES = (
    Case("lenet", 1, 28, 20_000, "32", 2.0),
    Case("lenet", 1, 28, 20_000, "bf16", 2.0),
    Case("resnet20", 3, 32, 3_000, "32", 1.0),
    Case("resnet20", 3, 32, 3_000, "bf16", 1.0),
)


def measure(case: Case, device: torch.device) -> Figure:
    """One figure: both sides count the same number of noisy copies of one image."""
    torch.manual_seed(0)
    network = models.build(case.arch, in_channels=case.channels, image_size=case.side, num_classes=CLASSES)
    network = network.eval().to(device)
    x = torch.rand(case.channels, case.side, case.side, device=device)
    engine = Engine(network, SIGMA, device=device, precision=case.precision)
    n = case.samples * (50 if device.type == "cuda" else 1)
    return ratio(
        f"samples a second, {case.arch}, {case.precision}",
        ours=lambda: rate(n, lambda: engine.count(0, x, [(ESTIMATE, n)])),
        theirs=lambda: rate(n, lambda: published_loop.count(network, x, SIGMA, n, CLASSES)),
        target=case.target,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/certification.json"))
    options = parser.parse_args()
    finish([measure(case, torch.device(options.device)) for case in CASES], options.out)


if __name__ == "__main__":
    main()
