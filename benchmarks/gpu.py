"""What a GPU makes of certification and training, in one run of at most nine minutes, and which settings suit it.

    python benchmarks/gpu.py [--device cuda] [--minutes 8.5] [--out results/bench/gpu.json]

It runs the tests that need a GPU, compares the counts of `--sound` with the CPU's, and measures samples a second of
networks over batch sizes and backends beside the published loop and ART, then a training step of each method. Rates
come with their share of what a matrix product does in bfloat16. At the end it names the backend and the batch that are
fastest for each network, over what `certify` takes by itself.

Measurements come in the order of their worth. What the time does not suffice for is reported as not measured, and the
JSON is written in any case. With `--tiny` it takes a minute on a CPU, to try the command itself.
"""

import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from engine import count, operations
from harness import (
    BATCH,
    NETWORKS,
    SIGMA,
    options_of,
    other_loops,
    products_a_second,
    rate,
    settled,
    written,
)
from randsmooth import data
from randsmooth.certification import Engine
from randsmooth.certification.batches import usual_batch
from randsmooth.data import DATASETS, TensorImages
from randsmooth.errors import Problem
from randsmooth.methods import METHODS
from randsmooth.training import TrainingSettings, resolve
from randsmooth.training.networks import new_model
from training import training

ROOT, ROUNDS = Path(__file__).parents[1], 3
EAGER, COMPILED = "torch", "compile"


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        networks: in the order of their worth, each with the samples that a round of the loops of others has.
        batches: samples a batch that are tried without compiling, which takes a minute a size.
        seconds: of a round.
        side: of the matrices whose product measures the peak.
        arch: what is trained.
        steps: in a round of training.
        images: of the split that is trained on.
        compared: samples whose counts are compared with the CPU's.
    """

    networks: dict[str, int]
    batches: tuple[int, ...] = (256, 512, 1024, 2048, 4096, 8192)
    seconds: float = 0.3
    side: int = 8192
    arch: str = "resnet110"
    steps: int = 3
    images: int = 10_000
    compared: int = 20_000


FULL = Plan(
    {"resnet110": 10_000, "resnet50": 2_000, "resnet20": 50_000, "lenet": 200_000}
)
TINY = Plan({"lenet": 500, "resnet8": 100}, (128, 256), 0.02, 256, "lenet", 1, 8, 500)


class OutOfTime(BaseException):
    """The time is over. It is no Exception, so that nobody who expects errors of a model or a compiler catches it."""


@dataclass
class Cell:
    """A rate, in samples or noisy images a second; where there is none, `note` says why."""

    what: str
    arch: str
    backend: str
    batch: int = 0
    rate: float = 0.0
    rounds: list[float] = field(default_factory=list)
    share: float | None = None
    note: str = "there was no time for it"

    def measure(self, once: Callable[[], float], operations: float = 0.0) -> None:
        """The median of rounds after one to warm up; whatever it fails with, the others are still to be measured."""
        try:
            once()
            self.rounds = [once() for _ in range(ROUNDS)]
            self.rate, self.note = statistics.median(self.rounds), ""
            self.share = self.rate * operations or None
        except Exception as error:
            self.note = str(error).partition("\n")[0] or type(error).__name__
        print(self.line(), flush=True)

    def line(self) -> str:
        what = f"{self.what}, {self.arch}, {self.backend}" + (
            f", batches of {self.batch}" if self.batch else ""
        )
        share = f", {self.share:.0%} of a matrix product's" if self.share else ""
        return (
            f"{what}: {self.rate:,.0f} a second{share}"
            if self.rate
            else f"{what}: not measured: {self.note}"
        )


class Bench:
    """Measurements on `device`, whose facts are written as far as they have come."""

    def __init__(self, plan: Plan, device: torch.device) -> None:
        self.plan, self.device = plan, device
        self.cells: list[Cell] = []
        self.facts: dict[str, Any] = {"finished": False, "recommended": {}}

    def run(self, minutes: float) -> None:
        """All of it; what takes long to compile comes last, training before it."""
        self.facts["tests"] = run_tests(minutes / 4)
        print(f"tests that need a GPU: {self.facts['tests']['summary']}", flush=True)
        self.facts["agreement"] = agreement(self.device, self.plan.compared)
        self.facts["peak"] = peak = products_a_second(
            self.device, self.plan.side, torch.bfloat16
        )
        print(f"a product of matrices: {peak / 1e12:,.1f} TFLOP/s", flush=True)
        for arch, others in self.plan.networks.items():
            usual = usual_batch(self.device, NETWORKS[arch].shape)
            self.certify(arch, EAGER, sorted({*self.plan.batches, usual}), peak)
            self.loops(arch, others)
            self.recommend(arch, usual)
        for method in METHODS:
            self.train(method, "bf16-mixed")
        self.train("gaussian", "32")
        self.train("gaussian", "bf16-mixed", compiled=True)
        for arch in self.plan.networks:
            if (best := self.best(arch, EAGER)) is not None:
                self.certify(arch, COMPILED, [best.batch], peak)
                self.recommend(arch, usual_batch(self.device, NETWORKS[arch].shape))
        self.facts["finished"] = True

    def run_compiled_training(self) -> None:
        """Measure a step of Gaussian training as it is and compiled, in turn."""
        self.train("gaussian", "bf16-mixed")
        self.train("gaussian", "bf16-mixed", compiled=True)
        self.facts["finished"] = True

    def cell(self, *what: Any) -> Cell:
        self.cells.append(Cell(*what))
        return self.cells[-1]

    def certify(
        self, arch: str, backend: str, batches: Sequence[int], peak: float
    ) -> None:
        """Samples a second in bfloat16, in batches of these sizes."""
        network = NETWORKS[arch]
        model, x = (
            network.build(self.device),
            torch.rand(network.shape, device=self.device),
        )
        for batch in batches:
            cell = self.cell("certification", arch, backend, batch)
            cell.measure(
                lambda batch=batch: self.answer(model, x, backend, batch),
                operations(model, x.shape) / peak,
            )

    def answer(
        self, model: torch.nn.Module, x: torch.Tensor, backend: str, batch: int
    ) -> float:
        engine = Engine(
            model,
            sigma=SIGMA,
            device=self.device,
            precision="bf16",
            backend=backend,
            batch=batch,
        )
        engine.prepare(x.shape)
        if engine.size != batch:
            raise Problem(
                f"{batch} samples do not fit into the memory of {self.device}"
            )
        first = rate(
            2 * batch, lambda: count(engine, x, 2 * batch)
        )  # which compiles, and chooses kernels
        n = batch * max(1, round(self.plan.seconds * first / batch))
        return rate(n, lambda: count(engine, x, n))

    def loops(self, arch: str, n: int) -> None:
        """The published loop and ART, in float32."""
        model, x = (
            NETWORKS[arch].build(self.device),
            torch.rand(NETWORKS[arch].shape, device=self.device),
        )
        for name, loop in other_loops(model, x, n).items():
            self.cell("certification", arch, name, BATCH).measure(
                lambda loop=loop: rate(n, loop)
            )

    def best(self, arch: str, *backends: str) -> Cell | None:
        """The fastest cell of these backends."""
        known = [
            cell
            for cell in self.cells
            if cell.rate and cell.arch == arch and cell.what == "certification"
        ]
        return max(
            (c for c in known if c.backend in backends),
            key=lambda cell: cell.rate,
            default=None,
        )

    def recommend(self, arch: str, usual: int) -> None:
        """What to certify with, and how many times as fast as others, and as by itself: eager, in the usual batches."""
        best = self.best(arch, EAGER, COMPILED)
        if best is not None:
            others = [
                cell
                for cell in self.cells
                if cell.rate and cell.arch == arch and cell.what == "certification"
            ]
            over = {
                cell.backend: best.rate / cell.rate
                for cell in others
                if cell.backend not in (EAGER, COMPILED)
            }
            default = next(
                (c.rate for c in others if (c.backend, c.batch) == (EAGER, usual)), None
            )
            over |= {"the default": best.rate / default} if default else {}
            self.facts["recommended"][arch] = {
                "backend": best.backend,
                "batch": best.batch,
                "over": over,
            }

    def train(self, method: str, precision: str, *, compiled: bool = False) -> None:
        """Noisy images a second of a method's steps, as its preset has them, on made-up images of CIFAR-10."""
        plan, spec = self.plan, DATASETS["cifar10"]
        cell = self.cell(
            f"training, {method}", plan.arch, precision + ", compiled" * compiled
        )
        how = {
            "method": method,
            "sigma": SIGMA,
            "arch": plan.arch,
            "precision": precision,
            "compile": compiled,
        }

        def once() -> float:
            recipe = resolve(
                "cifar10",
                TrainingSettings(**how),
                data.describe("cifar10"),
                device=str(self.device),
            )[0]
            generator = torch.Generator().manual_seed(0)
            pixels = torch.randint(
                0,
                256,
                (plan.images, *spec.shape),
                generator=generator,
                dtype=torch.uint8,
            )
            labels = torch.randint(
                0, spec.num_classes, (plan.images,), generator=generator
            )
            split = TensorImages(spec, "train", pixels, labels, self.device)
            samples = min(recipe.images_per_step, plan.images) * recipe.build_method().m
            with training(recipe, new_model(recipe, spec), split) as ours:
                ours.run(plan.steps)
                return rate(
                    plan.steps * samples,
                    lambda: settled(self.device, lambda: ours.run(plan.steps)),
                )

        cell.measure(once)


def agreement(device: torch.device, samples: int) -> dict[str, int]:
    """How many of the samples of one image are counted otherwise than on the CPU, with --sound in float32."""
    network = NETWORKS["lenet"]
    x = (
        torch.randint(0, 256, network.shape, generator=torch.Generator().manual_seed(0))
        / 255
    )
    here, there = (
        count(
            Engine(network.build(), sigma=SIGMA, sound=True, device=torch.device(kind)),
            x,
            samples,
        )[0]
        for kind in ("cpu", device)
    )
    otherwise = int(np.abs(here - there).sum()) // 2
    print(
        f"--sound: of {samples:,} samples {otherwise} are counted otherwise than on the CPU",
        flush=True,
    )
    return {"samples": samples, "samples_counted_otherwise": otherwise}


def run_tests(minutes: float) -> dict[str, Any]:
    """The tests that are marked `cuda`, in a process of their own; the device's noise is compared there, bit by bit."""
    files = [
        str(path)
        for path in sorted(ROOT.glob("tests/*/test_*.py"))
        if "pytest.mark.cuda" in path.read_text()
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-m",
        "cuda",
        *files,
    ]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60 * minutes,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"passed": False, "summary": f"not finished within {minutes:g} minutes"}
    lines = done.stdout.strip().splitlines() or ["nothing was printed"]
    return {
        "passed": done.returncode == 0,
        "summary": lines[-1],
        "failed": [line for line in lines if line.startswith("FAILED")],
    }


def stop(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


def main() -> None:
    parser = options_of(__doc__, "gpu")
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--minutes", type=float, default=8.5, help="when to stop, whatever is left"
    )
    parser.add_argument(
        "--tiny", action="store_true", help="little of everything, to try the command"
    )
    parser.add_argument(
        "--compiled-training",
        action="store_true",
        help="a step of training as it is and compiled, and nothing else",
    )
    options = parser.parse_args()
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit(
            "not measured: no CUDA device here (--device cpu --tiny tries the command)"
        )
    bench, start = (
        Bench(TINY if options.tiny else FULL, torch.device(options.device)),
        time.perf_counter(),
    )
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(
        signal.ITIMER_REAL, 60 * options.minutes, 5
    )  # again where a compiler swallowed it
    try:
        if options.compiled_training:
            bench.run_compiled_training()
        else:
            bench.run(options.minutes)
    except OutOfTime:
        print(
            f"stopped after {options.minutes:g} minutes: the rest is not measured",
            flush=True,
        )
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        cells = [asdict(cell) for cell in bench.cells]
        written(
            options.out,
            bench.facts | {"seconds": time.perf_counter() - start, "cells": cells},
        )
    for arch, found in bench.facts["recommended"].items():
        over = ", ".join(
            f"{ratio:.2f}x {name}" for name, ratio in found["over"].items()
        )
        print(
            f"{arch}: certify with --backend {found['backend']} --batch {found['batch']}: {over}"
        )
    tests_failed = not bench.facts.get("tests", {"passed": True})["passed"]
    sys.exit(not bench.facts["finished"] or tests_failed)


if __name__ == "__main__":
    main()
