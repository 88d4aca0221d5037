"""All eight methods on MNIST at three noise levels, trained briefly and certified. Started again, it goes on.

    python benchmarks/mnist_methods.py --out runs/mnist-methods --results results/mnist-methods

Each of `--workers` processes works on one model with one thread: on few cores that is faster than one model on
all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from harness import machine
from randsmooth import methods

SIGMAS = (0.25, 0.5, 1.0)
CERTIFIED_AS = {"bf16-mixed": "bf16", "32": "32"}
# The quickest first, so that a run that is cut has the most models.
ORDER = ("gaussian", "stability", "consistency", "macer", "amplify", "cat-rs", "smoothmix", "smoothadv")


@dataclass(frozen=True)
class Job:
    """One model: trained, then certified."""

    method: str
    sigma: float
    out: Path
    options: argparse.Namespace

    @property
    def model(self) -> Path:
        return self.out / f"sigma{self.sigma:g}" / self.method

    @property
    def certificates(self) -> Path:
        return self.model.with_suffix(".parquet")

    def commands(self) -> list[list[str]]:
        o, common = self.options, ["--device", self.options.device, "--resume", "--out"]
        train = ["train", "mnist", "--method", self.method, "--sigma", str(self.sigma), "--take", str(o.take)]
        train += ["--epochs", str(o.epochs), "--precision", o.precision, *common, str(self.model)]
        certify = ["certify", str(self.model), "--take", str(o.images), "--n", str(o.n)]
        certify += ["--precision", CERTIFIED_AS[o.precision], *common, str(self.certificates)]
        return [train, certify]

    def run(self) -> dict[str, object]:
        """Run what is left of the job; what it took, over all starts."""
        seconds = {}
        self.model.parent.mkdir(parents=True, exist_ok=True)
        took = self.model.with_suffix(".json")
        before = json.loads(took.read_text()) if took.exists() else {}
        for command in self.commands():
            start = time.perf_counter()
            with self.model.with_suffix(".log").open("a") as log:
                environment = os.environ | {"OMP_NUM_THREADS": str(self.options.threads)}
                program = [sys.executable, "-m", "randsmooth", *command]
                subprocess.run(program, check=True, stdout=log, stderr=log, env=environment)
            seconds[command[0]] = round(before.get(command[0], 0.0) + time.perf_counter() - start, 1)
            took.write_text(json.dumps(before | seconds))
        print(f"{self.method} at sigma {self.sigma:g}: {seconds}", flush=True)
        return {"method": self.method, "sigma": self.sigma, **seconds}


def evaluate(tables: list[Path], form: str) -> str:
    """What `randsmooth evaluate` says of the tables, Gaussian being the baseline."""
    command = [sys.executable, "-m", "randsmooth", "evaluate", *map(str, tables), "--format", form]
    return subprocess.run([*command, "--baseline", "gaussian"], check=True, capture_output=True, text=True).stdout


def write(options: argparse.Namespace, jobs: list[Job], took: list[dict[str, object]], seconds: float) -> None:
    """Tables by sigma as Markdown and CSV, and how they were made as JSON."""
    options.results.mkdir(parents=True, exist_ok=True)
    for sigma in options.sigmas:
        tables = [job.certificates for job in jobs if job.sigma == sigma]
        for form in ("md", "csv"):
            (options.results / f"sigma{sigma:g}.{form}").write_text(evaluate(tables, form))
    told = {"command": " ".join(sys.argv), "machine": machine(), "seconds": round(seconds), "models": took}
    (options.results / "made.json").write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, default=Path("runs/mnist-methods"), help="folder of models and certificates"
    )
    parser.add_argument("--results", type=Path, default=Path("runs/mnist-methods/results"), help="folder of the tables")
    parser.add_argument("--methods", nargs="+", default=methods.names(), choices=methods.names())
    parser.add_argument("--sigmas", nargs="+", type=float, default=SIGMAS)
    parser.add_argument("--take", type=int, default=20_000, help="training images")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--images", type=int, default=500, help="test images to certify")
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--precision", default="bf16-mixed", choices=CERTIFIED_AS, help="of training")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    options = parser.parse_args()
    start = time.perf_counter()
    jobs = [Job(method, sigma, options.out, options) for sigma in options.sigmas for method in options.methods]
    with ThreadPoolExecutor(options.workers) as pool:
        order = sorted(jobs, key=lambda job: ORDER.index(job.method))
        took = list(pool.map(Job.run, order))
    write(options, jobs, took, time.perf_counter() - start)


if __name__ == "__main__":
    main()
