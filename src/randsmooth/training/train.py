"""Train a base classifier: from a request to a model folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pandas as pd
import torch
from lightning_fabric import Fabric

from randsmooth import data, models
from randsmooth.atomic import write_atomically
from randsmooth.errors import InputError
from randsmooth.models import Classifier
from randsmooth.noise import Stream
from randsmooth.progress import Reporter, Silent
from randsmooth.training.folder import HISTORY, prepare
from randsmooth.training.loop import Trainer
from randsmooth.training.recipe import Recipe, Request, resolve
from randsmooth.versions import versions

# (title, total, unit) -> a context that gives the reporter
Progress = Callable[[str, int, str], AbstractContextManager[Reporter]]


def silent(title: str, total: int, unit: str) -> AbstractContextManager[Reporter]:
    """The progress of a library call: none."""
    return nullcontext(Silent())


def train(
    request: Request,
    out: Path | str,
    *,
    resume: bool = False,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Classifier:
    """Train what `request` asks for into the folder `out`, and return the model in eval mode.

    The folder gets the model (`config.json`, `model.safetensors`, a card), `history.csv`, TensorBoard curves
    and, after every epoch, `checkpoint.pt`. With `resume`, an interrupted run goes on from there and ends with
    the weights of an uninterrupted one (bit for bit on the CPU); a finished run is returned as it is.

    Raises:
        InputError: settings or data that cannot be used, or a folder that must not be written to.
        TrainingDiverged: the loss became NaN or infinite.
    """
    folder = Path(out)
    spec = data.describe(request.dataset)
    recipe, notes = resolve(request, spec)
    blank = new_classifier(recipe, spec)  # refuses a wrong architecture before the data are decoded
    fabric = make_fabric(recipe)
    checkpoint = prepare(folder, recipe, resume=resume, overwrite=overwrite)
    images = data.load(recipe.dataset, "train", device=fabric.device)
    if recipe.take is not None:
        images = images.subset(data.take(len(images), recipe.take))
    with progress(f"train {recipe.method}", recipe.epochs * len(images), "images") as reporter:
        for note in notes:
            reporter.say(note)
        trainer = Trainer(recipe, images, blank, folder, fabric, reporter)
        if checkpoint is not None:
            trainer.restore(checkpoint)
            reporter.say(f"resumed after epoch {trainer.epoch} of {recipe.epochs}")
            reporter.advance(trainer.epoch * len(images))
        trainer.fit()
    write_atomically(folder / HISTORY, pd.DataFrame(trainer.history).to_csv(index=False).encode())
    models.save(trainer.weights, folder)
    return trainer.weights.eval()


def new_classifier(recipe: Recipe, spec: data.DatasetSpec) -> Classifier:
    """The untrained network of `recipe`, initialised from its seed and knowing how it will be trained."""
    provenance = recipe.model_dump(mode="json") | {"versions": versions()}
    with torch.random.fork_rng(devices=[]):  # architectures initialise from torch's global generator
        torch.manual_seed(Stream(recipe.seed, "train/init").torch().initial_seed())
        return Classifier(
            arch=recipe.arch,
            classes=list(spec.classes),
            shape=list(spec.shape),
            mean=None if spec.mean is None else list(spec.mean),
            std=None if spec.std is None else list(spec.std),
            provenance=provenance,
        )


def make_fabric(recipe: Recipe) -> Fabric:
    """The device and precision to train with. InputError for a device this machine does not have."""
    accelerator = {"auto": "auto", "cpu": "cpu", "cuda": "cuda"}.get(recipe.device)
    if accelerator is None:
        raise InputError(f"device={recipe.device!r} must be auto, cpu or cuda")
    if accelerator == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' asks for a CUDA device and torch sees none; use --device cpu")
    precision = {"32": "32-true", "bf16-mixed": "bf16-mixed"}[recipe.precision]
    return Fabric(accelerator=accelerator, devices=1, precision=precision)  # type: ignore[arg-type]
