"""Training samples a second on a GPU: a step of each method, on made-up images of CIFAR-10's shape."""

from __future__ import annotations

import itertools
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import torch

from bandwidth import bytes_a_step, settle
from gpu_speed import first_line
from harness import rate
from randsmooth import data
from randsmooth.data import DATASETS, TensorImages
from randsmooth.methods import METHODS
from randsmooth.progress import Silent
from randsmooth.training import Recipe, TrainingSettings, resolve
from randsmooth.training.devices import make_fabric
from randsmooth.training.loop import Trainer
from randsmooth.training.run import new_classifier

DATASET, SIGMA, ROUNDS = "cifar10", 0.5, 3


@dataclass
class StepCell:
    """Noisy images a second of a method's steps, as its preset has them; `share` of the memory's bound where known."""

    method: str
    arch: str
    precision: str
    compiled: bool
    rate: float = 0.0
    rounds: list[float] = field(default_factory=list)
    share: float | None = None
    note: str = ""

    def line(self) -> str:
        what = f"training, {self.method}, {self.arch}, {self.precision}{', compiled' if self.compiled else ''}"
        if not self.rate:
            return f"{what}: not measured: {self.note}"
        share = "" if self.share is None else f", {self.share:.0%} of the memory's bound"
        return f"{what}: {self.rate:,.0f} noisy images a second{share}"


def methods() -> list[str]:
    """All of them."""
    return list(METHODS)


def measure(cell: StepCell, device: torch.device, steps: int, bandwidth: float, images: int) -> None:
    """Fill the cell: rounds of `steps` steps each, of a split of so many images, after one to warm up."""
    try:
        recipe = _recipe(cell, device)
        with tempfile.TemporaryDirectory() as folder:
            trainer = _trainer(recipe, device, Path(folder), images)
            samples = min(recipe.images_per_step, images) * recipe.build_method().m
            _steps(trainer, steps, device)
            cell.rounds = [rate(steps * samples, lambda: _steps(trainer, steps, device)) for _ in range(ROUNDS)]
            cell.rate = statistics.median(cell.rounds)
            if cell.method == "gaussian":
                shape = data.describe(DATASET).shape
                moved = bytes_a_step(trainer.weights, shape, samples)  # which is for bf16
                cell.share = None if cell.precision == "32" else moved * cell.rate / samples / bandwidth
    except Exception as error:  # whatever one of them fails with, the others are still to be measured
        cell.rate, cell.note = 0.0, first_line(error)
    print(cell.line(), flush=True)


def _recipe(cell: StepCell, device: torch.device) -> Recipe:
    settings = TrainingSettings(
        method=cell.method, sigma=SIGMA, arch=cell.arch, precision=cell.precision, compile=cell.compiled
    )
    return resolve(DATASET, settings, data.describe(DATASET), device=str(device))[0]


def _trainer(recipe: Recipe, device: torch.device, folder: Path, images: int) -> Trainer:
    spec, generator = DATASETS[DATASET], torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (images, *spec.shape), generator=generator, dtype=torch.uint8)
    labels = torch.randint(0, spec.num_classes, (images,), generator=generator)
    split = TensorImages(spec, "train", pixels, labels, device)
    model, schedule = new_classifier(recipe, spec), recipe.build_method().schedule()
    trainer = Trainer(recipe, split, model, schedule, folder, make_fabric(recipe), Silent())
    trainer.model.train()
    return trainer


def _steps(trainer: Trainer, steps: int, device: torch.device) -> None:
    """So many steps from the start of the last epoch, whose values of the schedule are the full ones."""
    epoch = trainer.recipe.epochs - 1
    objective, taken = trainer.schedule.objective(epoch), 0
    while taken < steps:
        for step, (indices, x, y) in enumerate(itertools.islice(trainer._batches(epoch), steps - taken)):
            trainer.step(objective, x, y, indices, epoch, step)
            taken += 1
    settle(device)
