"""Carry out a run that is decided: on this device alone, or together with other ranks."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
import yaml
from lightning_fabric.loggers.logger import Logger
from torch import nn

from randsmooth import data, models
from randsmooth.atomic import claimed, write_atomically
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import versions
from randsmooth.models.folder import StoredModel
from randsmooth.progress import Progress, chosen_progress, silent
from randsmooth.training.checkpoint import Checkpoint
from randsmooth.training.devices import Placement, Ranks, batch_norms, joined, launch, make_fabric, started
from randsmooth.training.folder import SETTINGS, TEACHER, TRACKED, check, check_there, clear, sweep
from randsmooth.training.loggers import LoggedRun, LoggerGroup, check_loggers, open_loggers
from randsmooth.training.loop import Callback, Trainer, work
from randsmooth.training.predictions import SmoothedTeacher
from randsmooth.training.recipe import Recipe

R = TypeVar("R", bound=Recipe)
M = TypeVar("M", bound=StoredModel)

Loggers = str | Logger | Sequence[str | Logger] | None
SOME = 16  # images that stand for all, where hashing all would take long


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """How a run is begun, and whom it tells what: nothing here changes the weights.

    Attributes:
        resume, overwrite, accept_changes, callback: as in `train`.
        loggers: as `open_loggers` takes them.
        progress: what shows the progress.
    """

    resume: bool = False
    overwrite: bool = False
    accept_changes: bool = False
    loggers: list[str | Logger] | None = None
    callback: Callback | None = None
    progress: Progress = silent

    @classmethod
    def checked(
        cls, logger: Loggers, callback: Callback | None, progress: Progress | bool | None, **flags: bool
    ) -> Options:
        """What `train` was given. Raises InputError for an unusable logger or callback."""
        try:
            inspect.signature(callback or (lambda metrics, model: None)).bind({}, None)
        except (TypeError, ValueError) as error:
            what = "must be a function of two, an epoch's metrics and the model so far"
            raise InputError(f"callback={shown(repr(callback))} {what} ({error})") from error
        return cls(loggers=check_loggers(logger), callback=callback, progress=chosen_progress(progress), **flags)


@dataclasses.dataclass(frozen=True)
class Run(Generic[R, M]):
    """A run that is decided, in words that another process can carry out.

    Attributes:
        recipe: of the run.
        spec: of its data set.
        placement: on which devices.
        folder: of the run.
        settings: the verb and the settings that were chosen, to be written into the folder.
        options: how it is begun, and whom it tells what.
        new_model: makes the untrained model of a recipe.
        classifier: opens the one that a denoiser is trained for.
        notes: on the recipe, for the user.
        own: the images, where they have no path; None: they are those of the recipe's data set.
    """

    recipe: R
    spec: data.DatasetSpec
    placement: Placement
    folder: Path
    settings: dict[str, Any]
    options: Options
    new_model: Callable[[R, data.DatasetSpec], M]
    classifier: Callable[[R, data.DatasetSpec], nn.Module | None] = lambda recipe, spec: None
    notes: tuple[str, ...] = ()
    own: data.Images | None = None


def carry_out(run: Run[R, M]) -> M:
    """Train what `run` describes, or go on with it; the trained model in eval mode."""
    placement = run.placement
    if placement.number == 1 or started():
        return take_part(run)
    launch(placement.number, partial(take_part, run), run.options.callback)
    return type(run.new_model(run.recipe, run.spec)).load(run.folder, placement.own_device)


def take_part(run: Run[R, M]) -> M:
    """Train the run as one of its ranks, together with the others; the first decides, writes and reports for all."""
    fabric = make_fabric(run.recipe, run.placement)
    with joined(run.placement) as ranks, ExitStack() as stack:
        if not ranks.is_first:
            run = dataclasses.replace(run, options=Options(loggers=[]))
        recipe, checkpoint = ranks.first(partial(begin, run))
        run = dataclasses.replace(run, recipe=recipe)
        model = run.new_model(
            recipe, run.spec
        )  # before the data are decoded, to refuse an unknown architecture at once
        classifier = run.classifier(recipe, run.spec)
        images = training_images(recipe, fabric.device, run.own)
        _check_parts(recipe, len(images), ranks)
        ranks.check_alike(versions() | {"training data": fingerprint(images)})
        model.load_state_dict(ranks.first(model.state_dict))  # another processor may round initial weights differently
        if run.placement.sync_batch_norm and not ranks.alone:
            model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
        ranks.first(lambda: take_folder(stack, run, begun=checkpoint is not None))
        schedule = recipe.build_method().schedule()
        schedule.prepare(SmoothedTeacher(recipe, images, run.folder, fabric.device, run.options.progress, ranks))
        plain, total = recipe.epochs * len(images), sum(work(schedule, e, len(images)) for e in range(recipe.epochs))
        reporter = stack.enter_context(run.options.progress(f"train {recipe.method}", total, "images"))
        for note in (recipe.summary(), *run.placement.notes(), *run.notes, *recipe.changed):
            reporter.say(note)
        if total > plain:
            reporter.say(
                f"before some epochs {recipe.method} asks about noisy copies of the images: about as much work as "
                f"training on {total - plain:,} images, and counted as that"
            )
        trainer = Trainer(recipe, images, model, schedule, run.folder, fabric, reporter, classifier, ranks)
        if checkpoint is not None:
            trainer.restore(checkpoint)
            reporter.say(f"resumed after epoch {trainer.epoch} of {recipe.epochs}")
            reporter.skip(sum(work(schedule, epoch, len(images)) for epoch in range(trainer.epoch)))
        logged = LoggedRun(run.folder, recipe.flat(), trainer.steps_taken)
        with open_loggers(run.options.loggers, logged) if ranks.is_first else nullcontext(LoggerGroup([])) as loggers:
            trainer.fit(loggers, run.options.callback)
        if ranks.is_first:
            check_there(run.folder)
            models.save(model, run.folder)
    return model.eval()


def begin(run: Run[R, M]) -> tuple[R, Checkpoint | None]:
    """Check the folder against what is asked for; the recipe with what was changed, and where to go on from."""
    recipe, placement, options = run.recipe, run.placement, run.options
    if placement.number > 1 and not placement.sync_batch_norm and batch_norms(run.new_model(recipe, run.spec)):
        recipe = recipe.model_copy(update={"batch_norm_devices": placement.number})
    flags = {name: getattr(options, name) for name in ("resume", "overwrite", "accept_changes")}
    checkpoint, changes = check(run.folder, recipe, **flags)
    if checkpoint is not None:
        changed = tuple(each.after(checkpoint.epoch) for each in changes)
        recipe = recipe.model_copy(update={"changed": (*checkpoint.recipe.get("changed", ()), *changed)})
    return recipe.model_copy(update={"threads": torch.get_num_threads()}), checkpoint


def _check_parts(recipe: Recipe, images: int, ranks: Ranks) -> None:
    """Raise InputError unless every step of an epoch has an image for each rank."""
    step = min(images, recipe.images_per_step)
    fewest = min(step, images % step or step)
    if fewest < ranks.number:
        raise InputError(
            f"{ranks.number} devices cannot share a step of {fewest} of {images} images: take fewer devices, another "
            "batch (--set batch=...) or another number of images (--take)"
        )


def take_folder(stack: ExitStack, run: Run[R, M], *, begun: bool) -> None:
    """Lock the folder of the run until `stack` is closed, and clean it: of all that another run left, unless `begun`.

    Kept are a teacher's predictions, which may have taken hours and are used only if they fit and, with `resume`, under
    which ids the loggers' trackers know a run that was killed before its first checkpoint.
    """
    run.folder.mkdir(parents=True, exist_ok=True)
    stack.enter_context(claimed(run.folder))
    sweep(run.folder)
    if not begun:
        teacher = "of the model" in run.recipe.folders().values()  # which predicts under its own noise
        clear(run.folder, keep=[TEACHER] * teacher + [TRACKED] * run.options.resume)
    if not (run.folder / SETTINGS).exists():
        usual, asked = dataclasses.asdict(Placement()), dataclasses.asdict(run.placement)
        where = {name: value for name, value in asked.items() if name == "device" or value != usual[name]}
        values = {"verb": run.settings["verb"], "dataset": run.recipe.dataset, **where, **run.settings}
        write_atomically(run.folder / SETTINGS, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode())


def training_images(recipe: Recipe, device: torch.device, own: data.Images | None = None) -> data.Images:
    """The images to train on: `own` ones, or those of the recipe's data set."""
    images = own.to(device) if own else data.load(recipe.dataset, "train", device=device, **recipe.reading)
    return images if recipe.take is None else images.subset(data.take(len(images), recipe.take))


def fingerprint(images: data.Images) -> str:
    """What tells `images` from others in little time: how many there are, and a hash of some that lie apart.

    Example:
        >>> fingerprint(data.load("digits", "train"))
        '1433 images (sha256 ...)'
    """
    some = torch.linspace(0, len(images) - 1, min(SOME, len(images))).long()
    x, y = images.batch(some)
    hashed = hashlib.sha256(y.cpu().numpy().tobytes() + x.cpu().contiguous().numpy().tobytes())
    return f"{len(images)} images (sha256 {hashed.hexdigest()[:16]})"
