"""Train a classifier or a denoiser: from a data set and settings to a model folder."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, Unpack

import torch
import yaml
from lightning_fabric.loggers.logger import Logger
from torch import nn

from randsmooth import models
from randsmooth.atomic import claimed, make_folder, write_atomically
from randsmooth.errors import BadValue
from randsmooth.extras import versions
from randsmooth.frozen_record import settings_from
from randsmooth.methods import Schedule
from randsmooth.models import Classifier, Denoiser
from randsmooth.models.folder import StoredModel
from randsmooth.notes import Note
from randsmooth.progress import Progress, Reporter, chosen_progress, silent, worded
from randsmooth.training import devices as ranked
from randsmooth.training import training_data
from randsmooth.training.checkpoint import Checkpoint
from randsmooth.training.folder import (
    SETTINGS,
    TEACHER,
    WRITTEN,
    checkpoint_in,
    clear,
)
from randsmooth.training.loggers import check_loggers, open_loggers
from randsmooth.training.loop import Callback, Trainer, work
from randsmooth.training.networks import new_model, other_models
from randsmooth.training.predictions import SmoothedTeacher
from randsmooth.training.recipe import DenoiserRecipe, Recipe, resolve, resolve_denoiser
from randsmooth.training.settings import (
    DenoiserOptions,
    DenoiserSettings,
    TrainingOptions,
    TrainingSettings,
)
from randsmooth.training.training_data import TrainingData
from randsmooth.urls import Place, delivered, without_credentials

Network = TypeVar("Network", bound=StoredModel)


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
    **fields: Unpack[TrainingOptions],
) -> Classifier:
    """Train a base classifier on `dataset`, and return it in eval mode.

    The folder `out` will contain the model (`config.json`, `model.safetensors`, a
    card), `history.csv`, what the loggers write, the predictions of a teacher if the
    method has one and, after every epoch, `checkpoint.pt`.

    Args:
        dataset: a name, a path, arrays (x, y), or any other form that `data.load`
            takes, with labels.
        settings: how to train.
        out: the folder of the run, or its URL: then the run's files lie on this machine
            until it is finished (see `transfer.delivered`).
        device: "auto", "cpu", "cuda" or, where there are several, "cuda:1".
        devices: how many devices of this machine share every batch: GPUs or, with
            device="cpu", processes, which this one starts and ends. Batch, noise, order
            and augmentation do not depend on their number. Default: as many as torchrun
            started, else one.
        nodes: machines with so many devices each; torchrun must have started this call
            on all of them.
        sync_batch_norm: normalise by the statistics of the whole batch, as one device
            does, with torch's SyncBatchNorm, which needs GPUs; False: each device by
            those of its part, as usual in the literature.
        resume: go on with an interrupted run in the folder. On the same number of
            devices it ends with the weights of an uninterrupted one, bit for bit on the
            CPU; a finished run is returned as it is.
        overwrite: discard an earlier run in the folder.
        accept_changes: with `resume`, go on with other settings; the model records what
            was changed after which epoch.
        logger: what is told the hyperparameters and the metrics, of every epoch and
            some steps: "tensorboard", "csv", a Logger of Lightning (Fabric's or PyTorch
            Lightning's, such as its WandbLogger), or several. Default: those of the
            first two whose files a resumed run has; for a new run TensorBoard, where it
            is installed.
        callback: called as `callback(metrics, model)` after every epoch, once its
            checkpoint is written: with its row of `history.csv`, and the model so far
            in eval mode, to certify it by a `SmoothedClassifier`, say, which takes a
            copy. Whatever it raises ends the run, which can be resumed. With several
            `devices` a copy of it is called in the first of their processes, and what
            it changes stays there.
        progress: True shows how the run is progressing, False does not; default: on a
            terminal. Or a function like `progress.console`.
        fields: settings as keywords, such as `sigma=0.5, method="amplify"`, each in
            place of the one in `settings`; `TrainingSettings` describes them.

    Raises:
        Problem: settings or data that cannot be used, or a folder that must not be
            written to.
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
        >>> model.provenance["method"], len(model.classes)
        ('gaussian', 10)
        >>> sorted(rows[0])
        ['cross_entropy', 'easy_share', 'epoch', 'hard_share', 'lr', 'seconds']
    """
    execution = Execution(
        placement=ranked.placed(device, devices, nodes, sync_batch_norm),
        resume=resume,
        overwrite=overwrite,
        accept_changes=accept_changes,
        loggers=check_loggers(logger),
        callback=callback,
        progress=chosen_progress(progress),
    )
    chosen = settings_from(TrainingSettings, settings, fields)
    described = training_data.describe(dataset, chosen)
    training_data.check_classifiable(described)
    recipe, notes = resolve(described.name, chosen, described.spec, device=device)
    run = TrainingRun(
        network=Classifier,
        verb="train",
        settings=chosen,
        recipe=recipe,
        notes=notes,
        data=described,
        execution=execution,
    )
    return _train(run, out)


def train_denoiser(
    dataset: Any,
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
    **fields: Unpack[DenoiserOptions],
) -> Denoiser:
    """Train a denoiser on `dataset`, and return it in eval mode.

    It is that of Salman et al., NeurIPS 2020. The folder `out` is written as by
    `train`, and read by `models.load_denoiser`. On `objective="mse"` it learns clean
    images, and serves any classifier. On `objective="stability"` it learns what keeps
    the class that `classifier` gives to the clean image; the classifier stays as it is.
    Salman et al. go on with this from a denoiser that was trained on "mse": `start=`.

    Args:
        dataset: a name, a path, arrays, or any other form that `data.load` takes.
            Labels are not used.
        settings: how to train.
        out: the folder of the run, or its URL, as for `train`.
        device, devices, nodes, sync_batch_norm, resume, overwrite, accept_changes,
            logger, callback, progress: see `train`.
        fields: settings as keywords, such as `sigma=0.5, epochs=5`, each in place of
            the one in `settings`; `DenoiserSettings` describes them.

    Raises:
        Problem: settings, data or models that cannot be used, or a folder that must not
            be written to.
        TrainingDiverged: the loss became NaN or infinite.
        RankLost: a process on another device ended early; it says which and why.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     denoiser = train_denoiser(
        ...         "digits",
        ...         sigma=0.25,
        ...         arch="dncnn-3x4",
        ...         take=64,
        ...         epochs=1,
        ...         out=f"{folder}/denoiser",
        ...     )
        >>> denoiser.sigma, denoiser.provenance["objective"]
        (0.25, 'mse')
    """
    execution = Execution(
        placement=ranked.placed(device, devices, nodes, sync_batch_norm),
        resume=resume,
        overwrite=overwrite,
        accept_changes=accept_changes,
        loggers=check_loggers(logger),
        callback=callback,
        progress=chosen_progress(progress),
    )
    chosen = settings_from(DenoiserSettings, settings, fields)
    described = training_data.describe(dataset, chosen)
    recipe, notes = resolve_denoiser(
        described.name, chosen, described.spec, device=device
    )
    run = TrainingRun(
        network=Denoiser,
        verb="train-denoiser",
        settings=chosen,
        recipe=recipe,
        notes=notes,
        data=described,
        execution=execution,
    )
    return _train(run, out)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Execution:
    """Where a run is trained, who is told, and what becomes of an earlier one.

    Attributes:
        placement: the devices on which it is trained.
        resume, overwrite, accept_changes, callback: see `train`.
        loggers: the loggers, as `open_loggers` takes them.
        progress: shows how far the run is.
    """

    placement: ranked.Placement
    resume: bool
    overwrite: bool
    accept_changes: bool
    loggers: list[str | Logger] | None
    callback: Callback | None
    progress: Progress

    def untold(self) -> Self:
        """Return the same for a rank that reports to nobody."""
        return dataclasses.replace(self, loggers=[], callback=None, progress=silent)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingRun(Generic[Network]):
    """A run that is decided, in words that another process can carry out.

    Attributes:
        network: the class of what is trained.
        verb: the command that does the same.
        settings: the choices of the user.
        recipe: the recipe that decides the weights.
        notes: the notes on the recipe, for the user.
        data: the data that it is trained on.
        execution: how it is carried out.
    """

    network: type[Network]
    verb: str
    settings: TrainingSettings | DenoiserSettings
    recipe: Recipe
    notes: list[Note]
    data: TrainingData
    execution: Execution

    def written(self) -> dict[str, Any]:
        """Return the contents of run.yaml: the command, its arguments and settings."""
        placement = self.execution.placement
        arguments = {
            "verb": self.verb,
            "dataset": self.recipe.dataset,
            "device": placement.device,
            **placement.model_dump(exclude_defaults=True),
            **self.settings.model_dump(mode="json", exclude_none=True),
        }
        for name, value in arguments.items():
            if isinstance(value, str):
                arguments[name] = without_credentials(value)
        return arguments


def _train(run: TrainingRun[Network], out: Place) -> Network:
    """Train the run into the folder `out`, in this process or one for each device."""
    models_asked = other_models(run.recipe, run.data.spec)
    weights = {key: models.weights_hash(model) for key, model in models_asked.items()}
    recipe = run.recipe.model_copy(update={"asked": weights})
    run = dataclasses.replace(run, recipe=recipe)

    execution = run.execution
    # The first rank alone opens and writes the folder.
    place: AbstractContextManager[Path] = nullcontext(Path(os.devnull))
    if ranked.leads():
        place = delivered(
            out, folder=True, resume=execution.resume, overwrite=execution.overwrite
        )
    with place as folder:
        if execution.placement.number == 1 or ranked.started():
            return take_part(run, folder)
        work_of_rank = partial(take_part, run, folder)
        ranked.launch(execution.placement.number, work_of_rank, execution.callback)
        return run.network.load(folder, execution.placement.own_device)


def take_part(run: TrainingRun[Network], folder: Path) -> Network:
    """Train the run as one of its ranks, together with the others.

    The first rank decides, writes and reports for all.
    """
    placement = run.execution.placement
    fabric = ranked.make_fabric(run.recipe, placement)
    with ranked.joined(placement) as ranks, ExitStack() as stack:
        if not ranks.is_first:
            run = dataclasses.replace(run, execution=run.execution.untold())
        recipe, checkpoint = ranks.first(partial(begin, run, folder))

        # Before the data are decoded, to refuse an unknown architecture at once.
        model = new_model(recipe, run.data.spec)
        assert isinstance(model, run.network)
        classifier = None
        if isinstance(recipe, DenoiserRecipe):
            classifier = other_models(recipe, run.data.spec).get("classifier")

        images = training_data.load(recipe, fabric.device, run.data.own)
        _check_shares(recipe, len(images), ranks)
        fingerprint = training_data.fingerprint(images)
        ranks.check_alike(versions() | {"training data": fingerprint})

        # Another processor may round initial weights differently.
        model.load_state_dict(ranks.first(model.state_dict))
        if placement.sync_batch_norm and not ranks.alone:
            model = nn.SyncBatchNorm.convert_sync_batchnorm(model)

        begun = checkpoint is not None
        ranks.first(lambda: take_folder(stack, run, folder, begun=begun))
        progress = run.execution.progress
        schedule = recipe.build_method().schedule()
        schedule.prepare(
            SmoothedTeacher(recipe, images, folder, fabric.device, progress, ranks)
        )

        total = _images_of_work(schedule, recipe.epochs, len(images))
        reporter = stack.enter_context(
            progress(f"train {recipe.method}", total, "images")
        )
        _announce(reporter, run, recipe, total - recipe.epochs * len(images))
        trainer = Trainer(
            recipe=recipe,
            images=images,
            weights=model,
            schedule=schedule,
            folder=folder,
            fabric=fabric,
            reporter=reporter,
            classifier=classifier,
            ranks=ranks,
        )
        if checkpoint is not None:
            trainer.restore(checkpoint)
            reporter.say(f"resumed after epoch {checkpoint.epoch} of {recipe.epochs}")
            reporter.skip(_images_of_work(schedule, checkpoint.epoch, len(images)))

        with open_loggers(
            run.execution.loggers, folder, recipe.flat(), trainer.steps_taken
        ) as loggers:
            trainer.fit(loggers, run.execution.callback)
        if ranks.is_first:
            models.save(model, folder)
    return model.eval()


def begin(run: TrainingRun[Network], folder: Path) -> tuple[Recipe, Checkpoint | None]:
    """Check the folder against what is asked for.

    Returns:
        The recipe with what was changed on the way, and the checkpoint to go on from.
    """
    recipe = run.recipe
    execution = run.execution
    placement = execution.placement
    by_parts = placement.number > 1 and not placement.sync_batch_norm
    if by_parts and ranked.batch_norms(new_model(recipe, run.data.spec)):
        recipe = recipe.model_copy(update={"batch_norm_devices": placement.number})

    checkpoint, changes = checkpoint_in(
        folder,
        recipe,
        resume=execution.resume,
        overwrite=execution.overwrite,
        accept_changes=execution.accept_changes,
    )
    if checkpoint is not None:
        earlier = checkpoint.recipe.get("changed", ())
        now = [change.after(checkpoint.epoch) for change in changes]
        recipe = recipe.model_copy(update={"changed": (*earlier, *now)})
    return recipe.model_copy(update={"threads": torch.get_num_threads()}), checkpoint


def _check_shares(recipe: Recipe, images: int, ranks: ranked.Ranks) -> None:
    """Raise Problem unless every step of an epoch has an image for each rank."""
    step = min(images, recipe.images_per_step)
    smallest_step = images % step or step
    if smallest_step < ranks.number:
        raise BadValue(
            f"{ranks.number} devices cannot share a step of {smallest_step} of "
            f"{images} images: take fewer devices, another batch or another number of images"
        )


def take_folder(
    stack: ExitStack, run: TrainingRun[Network], folder: Path, *, begun: bool
) -> None:
    """Lock the folder until `stack` is closed, and remove the files of another run.

    It keeps all files of a run that has `begun`. Of another run, it keeps the
    predictions of a teacher, which may have taken hours and are used only if they fit.
    """
    make_folder(folder)
    stack.enter_context(claimed(folder))
    kept = []
    if begun:
        kept = [*WRITTEN]
    elif "of the model" in run.recipe.folders().values():
        # A teacher, which predicts under its own noise.
        kept = [TEACHER]
    clear(folder, keep=kept)
    if not (folder / SETTINGS).exists():
        text = yaml.safe_dump(run.written(), sort_keys=False, allow_unicode=True)
        write_atomically(folder / SETTINGS, text.encode())


def _images_of_work(schedule: Schedule, epochs: int, images: int) -> int:
    """Count the images of training that so many epochs are as much work as."""
    return sum(work(schedule, epoch, images) for epoch in range(epochs))


def _announce(
    reporter: Reporter, run: TrainingRun[Network], recipe: Recipe, extra_work: int
) -> None:
    """Tell the user what is trained, and how; `extra_work` in images of training."""
    reporter.say(recipe.summary())
    for note in (*run.execution.placement.notes(), *run.notes):
        reporter.say(worded(note))
    for change in recipe.changed:
        reporter.say(change)
    if extra_work > 0:
        reporter.say(
            f"{recipe.method} also classifies noisy copies between epochs (about "
            f"{extra_work:,} extra images of work, included in the count of images)"
        )
