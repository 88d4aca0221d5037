"""Samples a second of the engine over two other loops on the same network, in turn: as published, and ART's.

    python benchmarks/certification.py [--device cuda] [--backend auto] [--out results/bench/certification-cpu.json]

ART is adversarial-robustness-toolbox (pip install 'randsmooth[bench]'); without it its figures are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

import published_loop
from bandwidth import against_bound, bytes_an_answer
from harness import Figure, finish, rate, ratio
from randsmooth import models
from randsmooth.certification import Engine
from randsmooth.certification.algorithm import ESTIMATE
from randsmooth.certification.scheduler import count_classes

SIGMA, CLASSES, BATCH = 0.5, 10, 1000
ON_CUDA = 50  # times as many samples


@dataclass(frozen=True)
class Case:
    """A network and how many times faster than the other loops the engine must run it."""

    arch: str
    channels: int
    side: int
    samples: int
    precision: str
    target: float


ON_CPU = (
    Case("lenet", 1, 28, 20_000, "bf16", 10.0),
    Case("lenet", 1, 28, 20_000, "32", 3.0),
    Case("resnet20", 3, 32, 4_000, "bf16", 14.0),
    Case("resnet20", 3, 32, 4_000, "32", 2.5),
    Case("resnet110", 3, 32, 1_000, "bf16", 8.0),
    Case("resnet110", 3, 32, 1_000, "32", 1.4),
)
ON_GPU = (Case("resnet110", 3, 32, 2_000, "bf16", 6.0),)


def measure(case: Case, device: torch.device, backend: str) -> list[Figure]:
    """Both ratios of a case: all sides count the same number of noisy copies of one image."""
    torch.manual_seed(0)
    network = models.build(case.arch, in_channels=case.channels, image_size=case.side, num_classes=CLASSES)
    network = network.eval().to(device)
    x = torch.rand(case.channels, case.side, case.side, device=device)
    engine = Engine(network, sigma=SIGMA, device=device, precision=case.precision, backend=backend)
    chosen = engine.prepare(x.shape).name
    n = case.samples * (ON_CUDA if device.type == "cuda" else 1)

    def note(ours: float) -> str:
        told = f"{chosen}, batches of {engine.size}"
        if device.type == "cpu":
            return told
        moved = engine.size * bytes_an_answer(network, tuple(x.shape), case.precision)
        return f"{told}, {against_bound(moved, engine.size / ours)}"

    figures = []
    for name, theirs in (("published loop", published(network, x, n)), ("ART", art(network, x, n))):
        if theirs is not None:
            figures.append(
                ratio(
                    f"samples a second over the {name}, {case.arch}, {case.precision}",
                    ours=lambda: rate(n, lambda: count_classes(engine, x, [(ESTIMATE, n)])),
                    theirs=lambda theirs=theirs: rate(n, theirs),
                    target=case.target,
                    note=note,
                )
            )
    return figures


def published(network: nn.Module, x: torch.Tensor, n: int) -> Callable[[], object]:
    return lambda: published_loop.count(network, x, SIGMA, n, CLASSES)


def art(network: nn.Module, x: torch.Tensor, n: int) -> Callable[[], object] | None:
    """ART's certification of one image; None where it is not installed."""
    try:
        from art.estimators.certification.randomized_smoothing import PyTorchRandomizedSmoothing
    except ImportError:
        return None
    smoothed = PyTorchRandomizedSmoothing(
        model=network,
        loss=nn.CrossEntropyLoss(),
        input_shape=tuple(x.shape),
        nb_classes=CLASSES,
        device_type="cpu" if x.device.type == "cpu" else "gpu",
        sample_size=1,
        scale=SIGMA,
    )
    image = x.cpu().numpy()[None].astype(np.float32)
    return lambda: smoothed.certify(image, n=n, batch_size=BATCH)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--only", help="architectures, separated by commas; default: all")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/certification.json"))
    options = parser.parse_args()
    device = torch.device(options.device)
    cases = ON_CPU if device.type == "cpu" else ON_GPU
    wanted = [case for case in cases if options.only is None or case.arch in options.only.split(",")]
    finish([figure for case in wanted for figure in measure(case, device, options.backend)], options.out)


if __name__ == "__main__":
    main()
