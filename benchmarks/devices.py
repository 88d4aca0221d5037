"""Two processes with one thread each over one process with one thread, training the same run on the CPU, in turn.

OMP_NUM_THREADS=1 python benchmarks/devices.py [--out results/bench/devices-cpu.json]

The rate is that of whole epochs after the first, as the run's own history times them: starting the processes is not
counted, the checkpoint of every epoch is. Each batch is 64 images under 4 noises. It needs two idle cores.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
import torch

from harness import Figure, finish, ratio
from randsmooth.errors import InputError
from randsmooth.training import TrainingSettings, train

PROCESSES = 2
TARGET = 1.8


@dataclass(frozen=True)
class Case:
    """A method on a network and its data, and how many images make an epoch."""

    method: str
    dataset: str
    arch: str
    images: int
    epochs: int = 4

    def measure(self) -> Figure:
        name = f"training images a second, {self.method}, {self.arch}, {PROCESSES} processes of one thread over one"
        return ratio(name, ours=partial(self.rate, PROCESSES), theirs=partial(self.rate, 1), target=TARGET)

    def rate(self, processes: int) -> float:
        """Images a second."""
        settings = TrainingSettings(
            method=self.method,
            sigma=0.5,
            arch=self.arch,
            epochs=self.epochs,
            take=self.images,
            set={"m": 4, "batch": 256},
        )
        with tempfile.TemporaryDirectory() as folder:
            train(self.dataset, settings, out=folder, overwrite=True, device="cpu", devices=processes, logger=[])
            seconds = pd.read_csv(Path(folder) / "history.csv")["seconds"][1:]
        return self.images / float(seconds.median())


CASES = (
    Case("gaussian", "cifar10-jpeg", "resnet20", 256),
    Case("smoothadv", "mnist", "lenet", 1024),
    Case("gaussian", "mnist", "lenet", 6400),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/devices.json"))
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # for the second process
    torch.set_num_threads(1)
    figures = []
    for case in CASES:
        try:
            figures.append(case.measure())
        except InputError as error:
            print(f"{case.arch}: target {TARGET:g}x, not measured: {error}", flush=True)
    finish(figures, options.out)


if __name__ == "__main__":
    main()
