"""How long a training run will take on this machine now, estimated from a few of its steps."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from randsmooth import data
from randsmooth.methods import Method
from randsmooth.progress import Silent
from randsmooth.training import threads
from randsmooth.training.devices import make_fabric
from randsmooth.training.execution import training_images
from randsmooth.training.loop import Trainer, work
from randsmooth.training.resolution import resolve
from randsmooth.training.run import new_classifier
from randsmooth.training.settings import TrainingSettings
from randsmooth.training.source import named, require_labels

STEPS = 6


def expected_seconds(dataset: Any, settings: TrainingSettings, *, device: str = "auto") -> float:
    """The seconds that `train` with these settings is expected to take.

    A few steps are timed with each kind of objective that the run will have. Their labels are those that the network
    predicts, because attacks take longest on correctly classified images. What a schedule asks about noisy copies
    between epochs is taken to last as long as so many passes in training.

    Raises:
        InputError: settings or data that cannot be used.

    Example:
        >>> from randsmooth.training import TrainingSettings
        >>> seconds = expected_seconds("digits", TrainingSettings(sigma=0.5, epochs=2, take=64), device="cpu")
        >>> 0 < seconds < 60
        True
    """
    name, source, reading = named(dataset, settings.reading)
    spec = data.describe(source, **reading)
    require_labels(spec)
    recipe, _ = resolve(name, settings, spec, device=device)
    fabric = make_fabric(recipe)
    images = training_images(recipe, fabric.device, None if isinstance(source, str) else source)
    schedule = recipe.build_method().schedule()
    with (
        tempfile.TemporaryDirectory() as folder,
        threads.using(threads.pick(recipe, spec, fabric.device, new_classifier)),
    ):
        model = new_classifier(recipe, spec)
        trainer = Trainer(recipe, images, model, schedule, Path(folder), fabric, Silent())
        objectives = [schedule.objective(epoch) for epoch in range(recipe.epochs)]
        epochs = Counter(type(objective) for objective in objectives)
        latest = {type(objective): objective for objective in objectives}
        seconds_per_step = {kind: _seconds_per_step(trainer, objective) for kind, objective in latest.items()}
    steps = trainer.steps_per_epoch * sum(seconds_per_step[kind] * number for kind, number in epochs.items())
    asked = sum(work(schedule, epoch, len(images)) - len(images) for epoch in range(recipe.epochs))
    return steps + asked / recipe.images_per_step * min(seconds_per_step.values())  # of the objective without attack


def _seconds_per_step(trainer: Trainer, objective: Method) -> float:
    device = trainer.fabric.device
    indices = torch.arange(min(trainer.recipe.images_per_step, len(trainer.images)))
    x, _ = trainer.images.batch(indices)
    with torch.inference_mode():
        y = trainer.model(x).argmax(dim=1)
    trainer.model.train()
    start = 0.0
    for step in range(STEPS + 1):
        figures = trainer.step(objective, x, y.clone(), indices.to(device), 0, step)
        float(torch.stack([value.float() for value in figures.values()]).sum())  # waits for the device
        if step == 0:  # the first step also sets things up for the others, so it is not timed
            start = time.perf_counter()
    return (time.perf_counter() - start) / STEPS
