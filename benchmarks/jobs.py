"""A model trained and then certified by two commands, each of which goes on where an earlier one stopped."""

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

from randsmooth import read

CERTIFIED_AS = {"bf16-mixed": "bf16", "32": "32"}


@dataclass(frozen=True)
class Job:
    """One model of MNIST. `training`: the flags of `randsmooth train` that make it what it is."""

    name: str
    sigma: float
    training: tuple[str, ...]
    options: argparse.Namespace

    @property
    def model(self) -> Path:
        return self.options.out / f"sigma{self.sigma:g}" / self.name

    @property
    def certificates(self) -> Path:
        return self.options.results / f"sigma{self.sigma:g}" / f"{self.name}.parquet"

    def commands(self) -> list[list[str]]:
        o, common = self.options, ["--device", self.options.device, "--resume", "--out"]
        train = ["train", "mnist", *self.training, "--sigma", str(self.sigma), "--precision", o.precision]
        certify = ["certify", str(self.model), "--take", str(o.images), "--n", str(o.n)]
        certify += ["--precision", CERTIFIED_AS[o.precision], *common, str(self.certificates)]
        return [[*train, *common, str(self.model)], certify]

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
            told.write_text(json.dumps({"method": self.name, "sigma": self.sigma, **seconds}) + "\n")
            print(f"{self.name} at sigma {self.sigma:g}: {seconds}", flush=True)
        return dict(json.loads(told.read_text()))

    def call(self, command: list[str]) -> None:
        environment = os.environ | {"OMP_NUM_THREADS": str(self.options.threads)}
        with self.model.with_suffix(".log").open("a") as log:
            program = [sys.executable, "-m", "randsmooth", *command]
            subprocess.run(program, check=True, stdout=log, stderr=log, env=environment)


def run_all(jobs: list[Job], workers: int) -> list[dict[str, object]]:
    """Every job, in their order, by so many processes at once."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(Job.run, jobs))


def add_options(parser: argparse.ArgumentParser, name: str, images: int) -> None:
    """The options that every set of jobs has; `name` is of its folder."""
    parser.add_argument("--out", type=Path, default=Path("runs") / name, help="folder of the models")
    parser.add_argument(
        "--results", type=Path, default=Path("runs") / name / "results", help="folder of certificates and tables"
    )
    parser.add_argument("--images", type=int, default=images, help="test images to certify")
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--precision", default="bf16-mixed", choices=CERTIFIED_AS, help="of training")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
