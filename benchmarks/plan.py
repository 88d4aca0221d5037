"""How well `randsmooth plan` foretells a certification: three real runs, forecast first, then carried out.

    python benchmarks/plan.py [--models runs/bench] [--out results/bench/plan.json]

MNIST with LeNet under the rules fixed and grid, CIFAR-10 with ResNet-20 under tolerance=0.2. Models that are not in
the folder are trained in a few minutes. The limits must hold, and their middle lie within 20% of what the run took, in
samples and in seconds. Samples are the same on any machine; seconds suppose that it is as busy during the run as during
the pilot: the load is noted beside them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness import Figure, finish
from randsmooth import CertificationSettings, certify, train
from randsmooth.certification import Order
from randsmooth.launch import Span, plan

SIGMA, WITHIN = 0.5, 0.2


@dataclass(frozen=True)
class Run:
    """A run to foretell."""

    name: str
    dataset: str
    model: str
    rule: str
    n: int
    take: int


RUNS = (
    Run("MNIST, LeNet, fixed", "mnist", "mnist", "fixed", 1_000, 100),
    Run("MNIST, LeNet, grid", "mnist", "mnist", "grid", 2_000, 200),
    Run("CIFAR-10, ResNet-20, tolerance=0.2", "cifar10-jpeg", "cifar10", "tolerance=0.2", 3_000, 40),
)


def model_of(run: Run, folder: Path) -> Path:
    """The folder of the run's model, trained if it is not there."""
    place = folder / run.model
    if not (place / "config.json").exists():
        images = {} if run.dataset == "mnist" else {"arch": "resnet20", "take": 10_000}
        epochs = 3 if run.dataset == "mnist" else 2
        train(run.dataset, sigma=SIGMA, epochs=epochs, precision="bf16-mixed", out=place, overwrite=True, **images)
    return place


def figures(run: Run, models: Path, seconds: float) -> list[Figure]:
    settings = CertificationSettings(sigma=SIGMA, n=run.n, rule=run.rule, precision="bf16")
    model = model_of(run, models)
    foretold = plan(
        Order(model=model, dataset=run.dataset, settings=settings, take=run.take), seconds=seconds, workers=[8]
    )
    with tempfile.TemporaryDirectory() as folder:
        start, busy = time.perf_counter(), os.getloadavg()[0]
        table = certify(model, run.dataset, settings, take=run.take, out=Path(folder) / "run.parquet", progress=False)
        took = time.perf_counter() - start
    pilot = f"pilot of {foretold.pilot['images']} of {run.take} images in {foretold.pilot['seconds']:.0f} s"
    load = f"load {busy:.1f} on {os.cpu_count()} cores at the beginning, {os.getloadavg()[0]:.1f} at the end"
    return [
        *compared(f"{run.name}: samples", foretold.samples, float(table.samples.sum()), pilot),
        *compared(f"{run.name}: seconds", foretold.seconds, took, load),
    ]


def compared(name: str, foretold: Span, took: float, note: str) -> list[Figure]:
    """How far the middle is off, and whether the limits hold."""
    words = f"{foretold.middle:,.0f} ({foretold.low:,.0f} to {foretold.high:,.0f}), took {took:,.0f}; {note}"
    holds = 1.0 if foretold.low <= took <= foretold.high else 0.0
    return [
        told(Figure(f"{name}, middle off by", abs(foretold.middle / took - 1.0), WITHIN, [], words, "", most=True)),
        told(Figure(f"{name}, limits hold", holds, 1.0, [], unit="")),
    ]


def told(figure: Figure) -> Figure:
    print(figure.line(), f"  ({figure.note})" if figure.note else "", flush=True)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=Path("runs/bench"))
    parser.add_argument("--seconds", type=float, default=20.0, help="of each pilot")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/plan.json"))
    options = parser.parse_args()
    finish([figure for run in RUNS for figure in figures(run, options.models, options.seconds)], options.out)


if __name__ == "__main__":
    main()
