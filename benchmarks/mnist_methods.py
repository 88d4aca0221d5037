"""All eight methods on MNIST at three noise levels, trained briefly and certified. Started again, it goes on.

    python benchmarks/mnist_methods.py --out runs/mnist-methods --results results/mnist-methods

Each of `--workers` processes works on one model with one thread: on few cores that is faster than one model on
all of them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from harness import machine
from jobs import Job, add_options, run_all
from randsmooth import methods

SIGMAS = (0.25, 0.5, 1.0)
# The quickest first, so that a run that is cut has the most models.
ORDER = ("gaussian", "stability", "consistency", "macer", "amplify", "cat-rs", "smoothmix", "smoothadv")


def evaluate(tables: list[Path], form: str) -> str:
    """What `randsmooth evaluate` says of the tables, Gaussian being the baseline."""
    command = [sys.executable, "-m", "randsmooth", "evaluate", *map(str, tables), "--format", form]
    return subprocess.run([*command, "--baseline", "gaussian"], check=True, capture_output=True, text=True).stdout


def write(options: argparse.Namespace, jobs: list[Job], took: list[dict[str, object]]) -> None:
    """Tables by sigma as Markdown and CSV, and how they were made as JSON."""
    options.results.mkdir(parents=True, exist_ok=True)
    for sigma in options.sigmas:
        tables = sorted(job.certificates for job in jobs if job.sigma == sigma)
        for form in ("md", "csv"):
            (options.results / f"sigma{sigma:g}.{form}").write_text(evaluate(tables, form))
    told = {"command": " ".join(["python", *sys.argv]), "machine": machine(), "models": took}
    (options.results / "made.json").write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "mnist-methods", images=500)
    parser.add_argument("--methods", nargs="+", default=sorted(methods.METHODS), choices=sorted(methods.METHODS))
    parser.add_argument("--sigmas", nargs="+", type=float, default=SIGMAS)
    parser.add_argument("--take", type=int, default=20_000, help="training images")
    parser.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()
    short = ("--take", str(options.take), "--epochs", str(options.epochs))
    jobs = [
        Job(method, sigma, ("--method", method, *short), options)
        for method in sorted(options.methods, key=ORDER.index)
        for sigma in options.sigmas
    ]
    write(options, jobs, run_all(jobs, options.workers))


if __name__ == "__main__":
    main()
