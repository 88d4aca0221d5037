"""What a GPU makes of certification and training, in one run of at most nine minutes, and which settings suit it.

    python benchmarks/gpu.py [--device cuda] [--minutes 8.5] [--out results/bench/gpu.json]

It runs the tests that need a GPU, compares the noise and the counts of `--sound` with the CPU's, and measures samples a
second of networks over batch sizes and backends beside the published loop and ART, then a training step of each method.
Rates come with their share of the memory's bound: bytes that must move (bandwidth.py) over those that a copy moves. At
the end it names the backend and the batch that are fastest for each network, over what `certify` takes by itself.

Measurements come in the order of their worth. What the time does not suffice for is reported as not measured, and the
JSON is written in any case. With `--tiny` it takes a minute on a CPU, to try the command itself.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch

import gpu_steps
from bandwidth import measured_bandwidth
from gpu_agreement import agreement
from gpu_speed import Contest, Network
from harness import machine
from randsmooth.certification.segments import usual_batch

ROOT = Path(__file__).parents[1]
EAGER, COMPILED, TENSORRT = "torch", "compile", "tensorrt"


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        networks: in the order of their worth.
        batches: samples a batch that are tried without compiling, which takes a minute a size.
        seconds: of a round.
        copied: numbers that are copied to measure the bandwidth.
        arch: what is trained.
        steps: in a round of training.
        images: of the split that is trained on.
        compared: samples whose counts are compared with the CPU's.
    """

    networks: tuple[Network, ...]
    batches: tuple[int, ...]
    seconds: float
    copied: int
    arch: str
    steps: int
    images: int
    compared: int


FULL = Plan(
    networks=(
        Network("resnet110", 3, 32, 10_000),
        Network("resnet50", 3, 224, 2_000),
        Network("resnet20", 3, 32, 50_000),
        Network("lenet", 1, 28, 200_000),
    ),
    batches=(256, 512, 1024, 2048, 4096, 8192),
    seconds=0.3,
    copied=2**28,
    arch="resnet110",
    steps=3,
    images=10_000,
    compared=20_000,
)
TINY = Plan(
    networks=(Network("lenet", 1, 28, 500), Network("resnet8", 3, 32, 100)),
    batches=(128, 256),
    seconds=0.02,
    copied=2**22,
    arch="lenet",
    steps=1,
    images=8,
    compared=500,
)


class OutOfTime(BaseException):
    """The time is over. It is no Exception, so that nobody who expects errors of a model or a compiler catches it."""


@dataclass
class Report:
    """What was found so far, as it is written."""

    out: Path
    facts: dict[str, Any] = field(default_factory=dict)

    def write(self) -> None:
        self.out.parent.mkdir(parents=True, exist_ok=True)
        told = {"command": " ".join(["python", *sys.argv]), "machine": machine()} | self.facts
        self.out.write_text(json.dumps(told, indent=1) + "\n")


def run_tests(minutes: float) -> dict[str, Any]:
    """The tests that are marked `cuda`, in a process of their own."""
    files = [str(path) for path in sorted(ROOT.glob("tests/*/test_*.py")) if "pytest.mark.cuda" in path.read_text()]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "cuda", *files]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 * minutes, check=False)
    except subprocess.TimeoutExpired:
        return {"passed": False, "summary": f"not finished within {minutes:g} minutes"}
    lines = done.stdout.strip().splitlines() or ["nothing was printed"]
    failed = [line for line in lines if line.startswith("FAILED")]
    return {"passed": done.returncode == 0, "summary": lines[-1], "failed": failed}


def measure_eager(contests: list[Contest], plan: Plan, report: Report) -> None:
    """Every network in batches of all sizes, and the loops of others."""
    for contest in contests:
        usual = usual_batch(contest.device, contest.network.shape)
        contest.measure(EAGER, sorted({*plan.batches, usual}))
        contest.others()
        report.facts["recommended"][contest.network.arch] = recommended(contest)


def measure_compiled(contests: list[Contest], report: Report) -> None:
    """Every network compiled, in batches of the size that is best without; then in TensorRT."""
    for backend in (COMPILED, TENSORRT):
        for contest in contests:
            if (best := contest.best(EAGER)) is not None:
                contest.measure(backend, [best.batch])
            report.facts["recommended"][contest.network.arch] = recommended(contest)


def recommended(contest: Contest) -> dict[str, Any]:
    """What to certify with, and how many times as fast as others, and as by itself: eager, in the usual batches."""
    best, usual = contest.best(EAGER, COMPILED), usual_batch(contest.device, contest.network.shape)
    if best is None:
        return {}
    rates = {cell.backend: cell.rate for cell in contest.cells if cell.backend not in (EAGER, COMPILED)}
    default = next(cell for cell in contest.cells if (cell.backend, cell.batch) == (EAGER, usual))
    over = {name: best.rate / rate for name, rate in (rates | {"the default": default.rate}).items() if rate}
    return {"backend": best.backend, "batch": best.batch, "over": over}


def steps_to_measure(plan: Plan) -> list[gpu_steps.StepCell]:
    """A step of each method in bf16; the Gaussian one also in float32 and, last, compiled."""
    kinds = [(name, "bf16-mixed", False) for name in gpu_steps.methods()]
    kinds += [("gaussian", "32", False), ("gaussian", "bf16-mixed", True)]
    late = "there was no time for it"
    return [gpu_steps.StepCell(method, plan.arch, *kind, note=late) for method, *kind in kinds]


def print_recommended(report: Report) -> None:
    for arch, found in report.facts.get("recommended", {}).items():
        if not found:
            print(f"{arch}: nothing was measured")
            continue
        over = ", ".join(f"{ratio:.2f}x {name}" for name, ratio in found["over"].items())
        print(f"{arch}: certify with --backend {found['backend']} --batch {found['batch']}: {over}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--minutes", type=float, default=8.5, help="when to stop, whatever is left")
    parser.add_argument("--tiny", action="store_true", help="little of everything, to try the command")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/gpu.json"))
    options = parser.parse_args()
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("not measured: no CUDA device here (--device cpu --tiny tries the command)")
    device, plan = torch.device(options.device), TINY if options.tiny else FULL
    report = Report(options.out, {"finished": False})
    sys.exit(0 if measure(plan, device, options.minutes, report) else 1)


def measure(plan: Plan, device: torch.device, minutes: float, report: Report) -> bool:
    """Measure everything within so many minutes, and write it; whether tests and comparisons came out well."""
    start = time.perf_counter()
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, 60 * minutes, 5)  # again where a compiler swallowed it
    facts = report.facts
    try:
        facts["tests"] = run_tests(minutes / 4)
        print(f"tests that need a GPU: {facts['tests']['summary']}", flush=True)
        facts["bandwidth"] = measured_bandwidth(device, plan.copied)
        print(f"a copy moves {facts['bandwidth'] / 1e9:,.0f} GB a second", flush=True)
        facts["agreement"] = agreement(device, plan.compared)
        measure_speeds(plan, device, facts["bandwidth"], report)
        facts["finished"] = True
    except OutOfTime:
        print(f"stopped after {minutes:g} minutes: the rest is not measured", flush=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        facts["seconds"] = time.perf_counter() - start
        facts["certification"] = [asdict(cell) for cells in facts.get("certification", []) for cell in cells]
        facts["training"] = [asdict(cell) for cell in facts.get("training", [])]
        report.write()
    print_recommended(report)
    return bool(facts.get("tests", {}).get("passed") and facts.get("agreement", {}).get("same_noise"))


def measure_speeds(plan: Plan, device: torch.device, bandwidth: float, report: Report) -> None:
    """What takes long to compile comes last, training before it."""
    contests = [Contest(network, device, plan.seconds, bandwidth) for network in plan.networks]
    steps = steps_to_measure(plan)
    report.facts |= {"certification": [contest.cells for contest in contests], "recommended": {}, "training": steps}
    measure_eager(contests, plan, report)
    for compiled in (False, True):
        for cell in steps:
            if cell.compiled is compiled:
                gpu_steps.measure(cell, device, plan.steps, bandwidth, plan.images)
        if not compiled:
            measure_compiled(contests, report)


def _stop(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


if __name__ == "__main__":
    main()
