"""Train a classifier or a denoiser: from a data set and settings to a model folder; and how long that will take."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric.loggers.logger import Logger

from randsmooth import data
from randsmooth.data import Images, TensorImages
from randsmooth.data.dataset_spec import IN_MEMORY_BYTES
from randsmooth.errors import InputError
from randsmooth.frozen_record import settings_from
from randsmooth.methods import Method
from randsmooth.models import Classifier, Denoiser
from randsmooth.progress import Progress, Silent
from randsmooth.training.devices import leads, make_fabric, placed
from randsmooth.training.execution import Options, Run, carry_out, training_images
from randsmooth.training.loop import Callback, Trainer, work
from randsmooth.training.networks import its_classifier, new_classifier, new_denoiser, weights_of_other_models
from randsmooth.training.recipe import Recipe, resolve, resolve_denoiser
from randsmooth.training.settings import DenoiserSettings, TrainingSettings
from randsmooth.urls import Place, delivered

TOGETHER = 256  # images that are read at once
STEPS = 6  # that are timed for an estimate


def train(
    dataset: Any,
    settings: TrainingSettings | None = None,
    *,
    out: Place,
    device: str = "auto",
    devices: int | None = None,
    nodes: int = 1,
    sync_batch_norm: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    accept_changes: bool = False,
    logger: str | Logger | Sequence[str | Logger] | None = None,
    callback: Callback | None = None,
    progress: Progress | bool | None = None,
    **fields: Any,
) -> Classifier:
    """Train a base classifier on `dataset` into the folder `out`, and return it in eval mode.

    The folder will contain the model (`config.json`, `model.safetensors`, a card), `history.csv`, what the loggers
    write, the predictions of a teacher if the method has one and, after every epoch, `checkpoint.pt`.

    Args:
        dataset: a name, a path, arrays (x, y), or any other form that `data.load` takes, with labels.
        settings: how to train.
        out: the folder of the run, or its URL: then the run's files lie on this machine until it is finished (see
            `transfer.delivered`).
        device: "auto", "cpu", "cuda" or, where there are several, "cuda:1".
        devices: how many devices of this machine share every batch: GPUs or, with device="cpu", processes, which this
            one starts and ends. Batch, noise, order and augmentation do not depend on their number. Default: as many as
            torchrun started, else one.
        nodes: machines with so many devices each; torchrun must have started this call on all of them.
        sync_batch_norm: normalise by the statistics of the whole batch, as one device does, with torch's SyncBatchNorm,
            which needs GPUs; False: each device by those of its part, as usual in the literature.
        resume: go on with an interrupted run in the folder. On the same number of devices it ends with the weights of
            an uninterrupted one, bit for bit on the CPU; a finished run is returned as it is.
        overwrite: discard an earlier run in the folder.
        accept_changes: with `resume`, go on with other settings; the model records what was changed after which epoch.
        logger: what is told the hyperparameters and the metrics, of every epoch and some steps: "tensorboard", "csv",
            "mlflow", "wandb", a Logger of Lightning (Fabric's or PyTorch Lightning's), or several. Default: those by
            name that a resumed run was begun with; for a new run TensorBoard, where it is installed.
        callback: called as `callback(metrics, model)` after every epoch, once its checkpoint is written: with its row
            of `history.csv`, and the model so far in eval mode, to certify it by a `SmoothedClassifier`, say, which
            takes a copy. Whatever it raises ends the run, which can be resumed. With several `devices` a copy of it is
            called in the first of their processes, and what it changes stays there.
        progress: True shows how the run is progressing, False does not; default: on a terminal. Or a function like
            `progress.console`.
        fields: settings as keywords, instead of `settings` or in place of some of them: `sigma=0.5, method="amplify"`.

    Raises:
        InputError: settings or data that cannot be used, or a folder that must not be written to.
        TrainingDiverged: the loss became NaN or infinite.
        RankLost: a process on another device ended early; it says which and why.

    Example:
        >>> import tempfile
        >>> rows = []
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = train(
        ...         "digits",
        ...         sigma=0.25,
        ...         take=64,
        ...         epochs=1,
        ...         out=f"{folder}/model",
        ...         callback=lambda metrics, model: rows.append(metrics),
        ...     )
        >>> model.provenance["method"], len(model.classes), sorted(rows[0])
        ('gaussian', 10, ['cross_entropy', 'easy_share', 'epoch', 'hard_share', 'lr', 'seconds'])
    """
    flags = {"resume": resume, "overwrite": overwrite, "accept_changes": accept_changes}
    options = Options.checked(logger, callback, progress, **flags)
    chosen = settings_from(TrainingSettings, settings, fields)
    placement = placed(device, devices, nodes, sync_batch_norm)
    recipe, notes, spec, own = _resolved(dataset, chosen, device)
    recipe = recipe.model_copy(update={"asked": weights_of_other_models(recipe, spec)})
    written = {"verb": "train", **chosen.model_dump(mode="json", exclude_none=True)}
    with _folder(out, options) as folder:
        return carry_out(Run(recipe, spec, placement, folder, written, options, new_classifier, notes=notes, own=own))


def train_denoiser(
    dataset: str,
    settings: DenoiserSettings | None = None,
    *,
    out: Place,
    device: str = "auto",
    devices: int | None = None,
    nodes: int = 1,
    sync_batch_norm: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    accept_changes: bool = False,
    logger: str | Logger | Sequence[str | Logger] | None = None,
    callback: Callback | None = None,
    progress: Progress | bool | None = None,
    **fields: Any,
) -> Denoiser:
    """Train a denoiser on `dataset` into the folder `out`, and return it in eval mode (Salman et al., NeurIPS 2020).

    A folder is written as by `train`, and read by `models.load_denoiser`. On `objective="mse"` it learns clean images,
    and serves any classifier. On `objective="stability"` it learns what keeps the class that `classifier` gives to the
    clean image; the classifier stays as it is. Salman et al. go on with this from a denoiser that was trained on "mse":
    `start=`.

    Args:
        dataset: a name, or the path of a folder of images or of Parquet files. Labels are not used.
        settings: how to train.
        out: the folder of the run, or its URL, as for `train`.
        device, devices, nodes, sync_batch_norm, resume, overwrite, accept_changes, logger, callback, progress: as for
            `train`.
        fields: settings as keywords, instead of `settings` or in place of some of them: `sigma=0.5, epochs=5`.

    Raises:
        InputError: settings, data or models that cannot be used, or a folder that must not be written to.
        TrainingDiverged: the loss became NaN or infinite.
        RankLost: a process on another device ended early; it says which and why.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     denoiser = train_denoiser(
        ...         "digits", sigma=0.25, arch="dncnn-3x4", take=64, epochs=1, out=f"{folder}/denoiser"
        ...     )
        >>> denoiser.sigma, denoiser.provenance["objective"]
        (0.25, 'mse')
    """
    flags = {"resume": resume, "overwrite": overwrite, "accept_changes": accept_changes}
    options = Options.checked(logger, callback, progress, **flags)
    chosen = settings_from(DenoiserSettings, settings, fields)
    placement = placed(device, devices, nodes, sync_batch_norm)
    spec = data.describe(dataset)
    recipe = resolve_denoiser(dataset, chosen, spec, device=device)
    recipe = recipe.model_copy(update={"asked": weights_of_other_models(recipe, spec)})
    written = {"verb": "train-denoiser", **chosen.model_dump(mode="json", exclude_none=True)}
    with _folder(out, options) as folder:
        return carry_out(Run(recipe, spec, placement, folder, written, options, new_denoiser, its_classifier))


def _folder(out: Place, options: Options) -> AbstractContextManager[Path]:
    """The folder of the run, for the first rank; the others open and write none."""
    if not leads():
        return nullcontext(Path(os.devnull))
    return delivered(out, folder=True, resume=options.resume, overwrite=options.overwrite)


def _resolved(
    dataset: Any, settings: TrainingSettings, device: str
) -> tuple[Recipe, tuple[str, ...], data.DatasetSpec, Images | None]:
    """The recipe, notes on it for the user, the data set's facts, and the images themselves if they have no path."""
    name, source, reading = named(dataset, settings.reading)
    spec = data.describe(source, **reading)
    require_labels(spec)
    recipe, notes = resolve(name, settings, spec, device=device)
    return recipe, tuple(notes), spec, None if isinstance(source, str) else source


def named(dataset: Any, reading: dict[str, Any]) -> tuple[str, Any, dict[str, Any]]:
    """What a recipe calls `dataset`, what to load, and how.

    Images without a path are loaded here, and called by a hash of their pixels and labels, so that a run can only be
    resumed with the same.

    Raises:
        InputError: they cannot be used, or have no labels.
    """
    if isinstance(dataset, str | Path):
        return str(dataset), str(dataset), reading
    images = _held(data.load(dataset, "train", **reading))
    return f"{images.spec.name} (sha256 {_digest(images)[:16]})", images, {}


def require_labels(spec: data.DatasetSpec) -> None:
    """Raise InputError for images without labels, from which no classifier can be trained."""
    if not spec.classes:
        raise InputError(
            f"{spec.name} has no labels, and training needs them: name their column (--label-column), or sort the "
            "images into a folder for each class"
        )


def _held(images: Images) -> Images:
    """The images in memory, if they are read one by one, with the classes that their labels tell."""
    if not images.streams:
        return images
    if len(images) * int(torch.tensor(images.spec.shape).prod()) * 4 > IN_MEMORY_BYTES:
        raise InputError(f"{images.spec.name} does not fit into memory: train from a folder, tar or Parquet files")
    pixels = torch.cat([x for x, _ in images.batches(torch.arange(len(images)).split(TOGETHER))])
    labels = images.labels_at(torch.arange(len(images)))
    numbered = tuple(str(k) for k in range(int(labels.max()) + 1))
    spec = replace(images.spec, classes=images.spec.classes or numbered)
    return TensorImages(spec, images.split, pixels, labels, images.device)


def _digest(images: Images) -> str:
    hashed = hashlib.sha256(images.labels.numpy().tobytes())
    for x, _ in images.batches(torch.arange(len(images)).split(TOGETHER)):
        hashed.update(x.cpu().contiguous().numpy().tobytes())
    return hashed.hexdigest()


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
    recipe, _, spec, own = _resolved(dataset, settings, device)
    fabric = make_fabric(recipe)
    images, schedule = training_images(recipe, fabric.device, own), recipe.build_method().schedule()
    with tempfile.TemporaryDirectory() as folder:
        model = new_classifier(recipe, spec)
        trainer = Trainer(recipe, images, model, schedule, Path(folder), fabric, Silent())
        objectives = [schedule.objective(epoch) for epoch in range(recipe.epochs)]
        latest = {type(objective): objective for objective in objectives}
        per_step = {kind: _seconds_per_step(trainer, objective) for kind, objective in latest.items()}
    steps = trainer.steps_per_epoch * sum(per_step[type(objective)] for objective in objectives)
    asked = sum(work(schedule, epoch, len(images)) for epoch in range(recipe.epochs)) / len(images) - recipe.epochs
    return steps + trainer.steps_per_epoch * asked * min(per_step.values())  # of the objective without attack


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
