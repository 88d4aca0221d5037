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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness import machine
from randsmooth import methods, read

SIGMAS = (0.25, 0.5, 1.0)
CERTIFIED_AS = {"bf16-mixed": "bf16", "32": "32"}
# The quickest first, so that a run that is cut has the most models.
ORDER = ("gaussian", "stability", "consistency", "macer", "amplify", "cat-rs", "smoothmix", "smoothadv")


@dataclass(frozen=True)
class Job:
    """One model: trained, then certified."""

    method: str
    sigma: float
    options: argparse.Namespace

    @property
    def model(self) -> Path:
        return self.options.out / f"sigma{self.sigma:g}" / self.method

    @property
    def certificates(self) -> Path:
        return self.options.results / f"sigma{self.sigma:g}" / f"{self.method}.parquet"

    def commands(self) -> list[list[str]]:
        o, common = self.options, ["--device", self.options.device, "--resume", "--out"]
        train = ["train", "mnist", "--method", self.method, "--sigma", str(self.sigma), "--take", str(o.take)]
        train += ["--epochs", str(o.epochs), "--precision", o.precision, *common, str(self.model)]
        certify = ["certify", str(self.model), "--take", str(o.images), "--n", str(o.n)]
        certify += ["--precision", CERTIFIED_AS[o.precision], *common, str(self.certificates)]
        return [train, certify]

    def run(self) -> dict[str, object]:
        """Run what is left of the job; the seconds that it took, whenever they were spent."""
        told = self.certificates.with_suffix(".json")
        if not (told.exists() and self.certificates.exists()):
            for folder in (self.model.parent, self.certificates.parent):
                folder.mkdir(parents=True, exist_ok=True)
            for command in self.commands():
                self.call(command)
            training = float(pd.read_csv(self.model / "history.csv")["seconds"].sum())
            certifying = float(read(self.certificates).seconds.sum())
            seconds = {"train": round(training, 1), "certify": round(certifying, 1)}
            told.write_text(json.dumps({"method": self.method, "sigma": self.sigma, **seconds}) + "\n")
            print(f"{self.method} at sigma {self.sigma:g}: {seconds}", flush=True)
        return dict(json.loads(told.read_text()))

    def call(self, command: list[str]) -> None:
        environment = os.environ | {"OMP_NUM_THREADS": str(self.options.threads)}
        with self.model.with_suffix(".log").open("a") as log:
            program = [sys.executable, "-m", "randsmooth", *command]
            subprocess.run(program, check=True, stdout=log, stderr=log, env=environment)


def evaluate(tables: list[Path], form: str) -> str:
    """What `randsmooth evaluate` says of the tables, Gaussian being the baseline."""
    command = [sys.executable, "-m", "randsmooth", "evaluate", *map(str, tables), "--format", form]
    return subprocess.run([*command, "--baseline", "gaussian"], check=True, capture_output=True, text=True).stdout


def write(options: argparse.Namespace, jobs: list[Job], took: list[dict[str, object]]) -> None:
    """Tables by sigma as Markdown and CSV, and how they were made as JSON."""
    options.results.mkdir(parents=True, exist_ok=True)
    for sigma in options.sigmas:
        tables = [job.certificates for job in jobs if job.sigma == sigma]
        for form in ("md", "csv"):
            (options.results / f"sigma{sigma:g}.{form}").write_text(evaluate(tables, form))
    told = {"command": " ".join(["python", *sys.argv]), "machine": machine(), "models": took}
    (options.results / "made.json").write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/mnist-methods"), help="folder of the models")
    parser.add_argument(
        "--results", type=Path, default=Path("runs/mnist-methods/results"), help="folder of certificates and tables"
    )
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
    jobs = [Job(method, sigma, options) for sigma in options.sigmas for method in options.methods]
    with ThreadPoolExecutor(options.workers) as pool:
        order = sorted(jobs, key=lambda job: ORDER.index(job.method))
        took = list(pool.map(Job.run, order))
    write(options, jobs, took)


if __name__ == "__main__":
    main()
