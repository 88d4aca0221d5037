"""Train a classifier or a denoiser: from a data set and settings to a model folder; and how long that will take."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import os
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, cast

import torch
import yaml
from lightning_fabric.loggers.logger import Logger
from torch import Tensor, nn

from randsmooth import data, models
from randsmooth.atomic import claimed, make_folder, write_atomically
from randsmooth.data import Images, TensorImages
from randsmooth.data.dataset_spec import IN_MEMORY_BYTES
from randsmooth.data.images import numbered
from randsmooth.errors import InputError
from randsmooth.extras import versions
from randsmooth.frozen_record import settings_from
from randsmooth.models import Classifier, Denoiser
from randsmooth.progress import Progress, chosen_progress, silent
from randsmooth.training import devices as ranked
from randsmooth.training.checkpoint import Checkpoint
from randsmooth.training.folder import OWN, SETTINGS, TEACHER, check, clear
from randsmooth.training.loggers import check_loggers, open_loggers
from randsmooth.training.loop import Callback, Trainer, work
from randsmooth.training.networks import new_model, other_models
from randsmooth.training.predictions import SmoothedTeacher
from randsmooth.training.recipe import DenoiserRecipe, Recipe, resolve, resolve_denoiser
from randsmooth.training.settings import DenoiserSettings, TrainingSettings
from randsmooth.urls import Place, delivered, without_credentials

TOGETHER = 256  # images that are read at once
SOME = 16  # images that stand for all, where hashing all would take long


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
            a Logger of Lightning (Fabric's or PyTorch Lightning's, such as its WandbLogger), or several. Default: those
            of the first two whose files a resumed run has; for a new run TensorBoard, where it is installed.
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
    loggers, progress = check_loggers(logger), chosen_progress(progress)
    kind = (
        DenoiserSettings if isinstance(settings, DenoiserSettings) else TrainingSettings
    )  # from `train_denoiser`
    chosen = settings_from(kind, settings, fields)
    placement = ranked.placed(device, devices, nodes, sync_batch_norm)
    recipe, notes, spec, own = _resolved(dataset, chosen, device)
    asked = {
        key: models.weights_hash(model)
        for key, model in other_models(recipe, spec).items()
    }
    recipe = recipe.model_copy(update={"asked": asked})
    verb = "train" if kind is TrainingSettings else "train-denoiser"
    where = {
        "dataset": recipe.dataset,
        "device": device,
        **placement.model_dump(exclude_defaults=True),
    }
    written = {
        "verb": verb,
        **where,
        **chosen.model_dump(mode="json", exclude_none=True),
    }
    written = {
        name: without_credentials(value) if isinstance(value, str) else value
        for name, value in written.items()
    }
    flags = {"resume": resume, "overwrite": overwrite}
    # The first rank alone opens and writes the folder.
    with (
        delivered(out, folder=True, **flags)
        if ranked.leads()
        else nullcontext(Path(os.devnull)) as folder
    ):
        flags["accept_changes"] = accept_changes
        run = Run(
            recipe,
            spec,
            own,
            placement,
            folder,
            written,
            notes,
            flags,
            loggers,
            callback,
            progress,
        )
        if placement.number == 1 or ranked.started():
            return cast(Classifier, take_part(run))
        ranked.launch(placement.number, partial(take_part, run), callback)
        return cast(
            Classifier, type(new_model(recipe, spec)).load(folder, placement.own_device)
        )


def train_denoiser(
    dataset: Any,
    settings: DenoiserSettings | None = None,
    *,
    out: Place,
    **options: Any,
) -> Denoiser:
    """Train a denoiser on `dataset` into the folder `out`, and return it in eval mode (Salman et al., NeurIPS 2020).

    A folder is written as by `train`, and read by `models.load_denoiser`. On `objective="mse"` it learns clean images,
    and serves any classifier. On `objective="stability"` it learns what keeps the class that `classifier` gives to the
    clean image; the classifier stays as it is. Salman et al. go on with this from a denoiser that was trained on "mse":
    `start=`.

    Args:
        dataset: a name, a path, arrays, or any other form that `data.load` takes. Labels are not used.
        settings: how to train.
        out: the folder of the run, or its URL, as for `train`.
        options: `device`, `devices`, `nodes`, `sync_batch_norm`, `resume`, `overwrite`, `accept_changes`, `logger`,
            `callback` and `progress` as for `train`; and settings as keywords, instead of `settings` or in place of
            some of them: `sigma=0.5, epochs=5`.

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
    names = inspect.signature(train).parameters
    fields = {name: options.pop(name) for name in [*options] if name not in names}
    chosen = settings_from(DenoiserSettings, settings, fields)
    return cast(Denoiser, train(dataset, cast(Any, chosen), out=out, **options))


def _resolved(
    dataset: Any, settings: TrainingSettings | DenoiserSettings, device: str
) -> tuple[Recipe, list[str], data.DatasetSpec, Images | None]:
    """The recipe, notes on it for the user, the data set's facts, and the images themselves if they have no path.

    Such images are loaded here, and called by a hash of their pixels and labels, so that a run can only be resumed with
    the same.
    """
    reading, own = settings.reading, None
    if isinstance(dataset, str | Path):
        name, spec = str(dataset), data.describe(str(dataset), **reading)
    else:
        own = _held(data.load(dataset, "train", **reading))
        name, spec = f"{own.spec.name} ({_hash(own, torch.arange(len(own)))})", own.spec
    if spec.features:
        raise InputError(
            f"{name} holds features of shape {spec.shape}, and what is trained here takes images: train a network on "
            "x + noise in torch, or an estimator on noisy rows, and certify that"
        )
    if isinstance(settings, DenoiserSettings):
        recipe_of_denoiser, notes = resolve_denoiser(
            name, settings, spec, device=device
        )
        return recipe_of_denoiser, notes, spec, own
    if not spec.classes:
        raise InputError(
            f"{spec.name} has no labels, and training needs them: name their column (--label-column), or sort the "
            "images into a folder for each class"
        )
    _, height, width = spec.shape
    if height != width:
        side = min(height, width)
        raise InputError(
            f"{name} holds images of {height}x{width}, and what is trained here takes square ones: bring them to size "
            f"with resize='{side}x{side}' (--resize {side}x{side}) or crop={side} (--crop {side})"
        )
    recipe, notes = resolve(name, settings, spec, device=device)
    return recipe, notes, spec, own


def _held(images: Images) -> Images:
    """The images in memory, if they are read one by one, with the classes that their labels tell."""
    if not images.streams:
        return images
    if len(images) * int(torch.tensor(images.spec.shape).prod()) * 4 > IN_MEMORY_BYTES:
        raise InputError(
            f"{images.spec.name} does not fit into memory: train from a folder, tar or Parquet files"
        )
    pixels = torch.cat(
        [x for x, _ in images.batches(torch.arange(len(images)).split(TOGETHER))]
    )
    labels = images.labels_at(torch.arange(len(images)))
    spec = dataclasses.replace(
        images.spec, classes=images.spec.classes or numbered(labels)
    )
    return TensorImages(spec, images.split, pixels, labels, images.device)


def _hash(images: Images, indices: Tensor) -> str:
    """Of the labels and the pixels of the images at `indices`."""
    hashed = hashlib.sha256(images.labels_at(indices).numpy().tobytes())
    for x, _ in images.batches(indices.split(TOGETHER)):
        hashed.update(x.cpu().contiguous().numpy().tobytes())
    return f"sha256 {hashed.hexdigest()[:16]}"


@dataclasses.dataclass(frozen=True)
class Run:
    """A run that is decided, in words that another process can carry out.

    Attributes:
        recipe: of the run.
        spec: of its data set.
        own: the images, where they have no path; None: they are those of the recipe's data set.
        placement: on which devices.
        folder: of the run.
        settings: what run.yaml will hold: the verb, its arguments and the settings that were chosen.
        notes: on the recipe, for the user.
        flags: resume, overwrite and accept_changes, as in `train`.
        loggers: as `open_loggers` takes them.
        callback: as in `train`.
        progress: what shows the progress.
    """

    recipe: Recipe
    spec: data.DatasetSpec
    own: Images | None
    placement: ranked.Placement
    folder: Path
    settings: dict[str, Any]
    notes: list[str]
    flags: dict[str, bool]
    loggers: list[str | Logger] | None
    callback: Callback | None
    progress: Progress


def take_part(run: Run) -> Classifier | Denoiser:
    """Train the run as one of its ranks, together with the others; the first decides, writes and reports for all."""
    fabric = ranked.make_fabric(run.recipe, run.placement)
    with ranked.joined(run.placement) as ranks, ExitStack() as stack:
        if not ranks.is_first:
            run = dataclasses.replace(run, loggers=[], callback=None, progress=silent)
        recipe, checkpoint = ranks.first(partial(begin, run))
        model = new_model(
            recipe, run.spec
        )  # before the data are decoded, to refuse an unknown architecture at once
        classifier = (
            other_models(recipe, run.spec).get("classifier")
            if isinstance(recipe, DenoiserRecipe)
            else None
        )
        images = training_images(recipe, fabric.device, run.own)
        _check_parts(recipe, len(images), ranks)
        ranks.check_alike(versions() | {"training data": fingerprint(images)})
        model.load_state_dict(
            ranks.first(model.state_dict)
        )  # another processor may round initial weights differently
        if run.placement.sync_batch_norm and not ranks.alone:
            model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        ranks.first(lambda: take_folder(stack, run, begun=checkpoint is not None))
        schedule = recipe.build_method().schedule()
        schedule.prepare(
            SmoothedTeacher(
                recipe, images, run.folder, fabric.device, run.progress, ranks
            )
        )
        plain, total = (
            recipe.epochs * len(images),
            sum(work(schedule, e, len(images)) for e in range(recipe.epochs)),
        )
        reporter = stack.enter_context(
            run.progress(f"train {recipe.method}", total, "images")
        )
        for note in (
            recipe.summary(),
            *run.placement.notes(),
            *run.notes,
            *recipe.changed,
        ):
            reporter.say(note)
        if total > plain:
            reporter.say(
                f"before some epochs {recipe.method} asks about noisy copies of the images, about as much work as "
                f"training on {total - plain:,} more: the count of images includes them"
            )
        trainer = Trainer(
            recipe,
            images,
            model,
            schedule,
            run.folder,
            fabric,
            reporter,
            classifier,
            ranks,
        )
        if checkpoint is not None:
            trainer.restore(checkpoint)
            reporter.say(f"resumed after epoch {checkpoint.epoch} of {recipe.epochs}")
            reporter.skip(
                sum(
                    work(schedule, epoch, len(images))
                    for epoch in range(checkpoint.epoch)
                )
            )
        with open_loggers(
            run.loggers, run.folder, recipe.flat(), trainer.steps_taken
        ) as loggers:
            trainer.fit(loggers, run.callback)
        if ranks.is_first:
            models.save(model, run.folder)
    return model.eval()


def begin(run: Run) -> tuple[Recipe, Checkpoint | None]:
    """Check the folder against what is asked for; the recipe with what was changed, and where to go on from."""
    recipe, placement = run.recipe, run.placement
    if (
        placement.number > 1
        and not placement.sync_batch_norm
        and ranked.batch_norms(new_model(recipe, run.spec))
    ):
        recipe = recipe.model_copy(update={"batch_norm_devices": placement.number})
    checkpoint, changes = check(run.folder, recipe, **run.flags)
    if checkpoint is not None:
        changed = tuple(each.after(checkpoint.epoch) for each in changes)
        recipe = recipe.model_copy(
            update={"changed": (*checkpoint.recipe.get("changed", ()), *changed)}
        )
    return recipe.model_copy(update={"threads": torch.get_num_threads()}), checkpoint


def _check_parts(recipe: Recipe, images: int, ranks: ranked.Ranks) -> None:
    """Raise InputError unless every step of an epoch has an image for each rank."""
    step = min(images, recipe.images_per_step)
    if (fewest := images % step or step) < ranks.number:
        raise InputError(
            f"{ranks.number} devices cannot share a step of {fewest} of {images} images: take fewer devices, another "
            "batch (--set batch=...) or another number of images (--take)"
        )


def take_folder(stack: ExitStack, run: Run, *, begun: bool) -> None:
    """Lock the folder of the run until `stack` is closed, and clean it: of all that another run left, unless `begun`.

    Kept are a teacher's predictions, which may have taken hours and are used only if they fit.
    """
    make_folder(run.folder)
    stack.enter_context(claimed(run.folder))
    teacher = (
        "of the model" in run.recipe.folders().values()
    )  # which predicts under its own noise
    clear(run.folder, keep=OWN if begun else [TEACHER] * teacher)
    if not (run.folder / SETTINGS).exists():
        write_atomically(
            run.folder / SETTINGS,
            yaml.safe_dump(run.settings, sort_keys=False, allow_unicode=True).encode(),
        )


def training_images(
    recipe: Recipe, device: torch.device, own: Images | None = None
) -> Images:
    """The images to train on: `own` ones, or those of the recipe's data set."""
    images = (
        own.to(device)
        if own
        else data.load(recipe.dataset, "train", device=device, **recipe.reading)
    )
    return (
        images
        if recipe.take is None
        else images.subset(data.take(len(images), recipe.take))
    )


def fingerprint(images: Images) -> str:
    """What tells `images` from others in little time: how many there are, and a hash of some that lie apart.

    Example:
        >>> fingerprint(data.load("digits", "train"))
        '1433 images (sha256 ...)'
    """
    some = torch.linspace(0, len(images) - 1, min(SOME, len(images))).long()
    return f"{len(images)} images ({_hash(images, some)})"
