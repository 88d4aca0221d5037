"""Carry out a run that is decided: on this device alone, or together with other ranks."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import torch
import yaml
from lightning_fabric import Fabric
from lightning_fabric.loggers.logger import Logger
from torch import nn

from randsmooth import data, models
from randsmooth.atomic import claimed, write_atomically
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import versions
from randsmooth.models.stored_model import StoredModel
from randsmooth.progress import Progress, chosen_progress, silent
from randsmooth.training import threads
from randsmooth.training.checkpoint import Checkpoint
from randsmooth.training.devices import Placement, joined, launch, make_fabric
from randsmooth.training.folder import SETTINGS, TEACHER, TRACKED, check, check_there, clear, sweep
from randsmooth.training.loggers import LoggedRun, LoggerGroup, check_loggers, open_loggers
from randsmooth.training.loop import Callback, Trainer, work
from randsmooth.training.ranks import Ranks, batch_norms, synchronised
from randsmooth.training.recipe import Change, Recipe
from randsmooth.training.teacher import SmoothedTeacher

R = TypeVar("R", bound=Recipe)
M = TypeVar("M", bound=StoredModel)

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
        cls,
        *,
        logger: str | Logger | Sequence[str | Logger] | None,
        callback: Callback | None,
        progress: Progress | bool | None,
        **flags: bool,
    ) -> Options:
        """What `train` was given. Raises InputError for an unusable logger or callback."""
        if callback is not None and not _takes_both(callback):
            raise InputError(
                f"callback={shown(repr(callback))} must be a function of two: an epoch's metrics, and the model so far"
            )
        loggers = check_loggers(logger)
        return cls(loggers=loggers, callback=callback, progress=chosen_progress(progress), **flags)


def _takes_both(callback: Callable[..., object]) -> bool:
    """Whether it can be called with metrics and a model, as far as its signature tells."""
    try:
        inspect.signature(callback).bind({}, None)
    except TypeError:  # no function, or one of other arguments
        return False
    except ValueError:  # a builtin that does not tell
        return callable(callback)
    return True


@dataclasses.dataclass(frozen=True)
class Job(Generic[R, M]):
    """A run that is decided, in words that another process can carry out.

    Attributes:
        recipe: of the run.
        spec: of its data set.
        placement: on which devices.
        folder: of the run.
        settings: the verb and the settings that were chosen, to be written into the folder.
        options: how it is begun, and whom it tells what.
        new_model: makes the untrained model of a recipe; a function of a module.
        classifier: opens the one that a denoiser is trained for; a function of a module.
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
    classifier: Callable[[R, data.DatasetSpec], nn.Module | None] | None = None
    notes: tuple[str, ...] = ()
    own: data.Images | None = None


class Begun(NamedTuple):
    """What the first rank decides for all: the recipe with what was changed, and the checkpoint to go on from."""

    recipe: Recipe
    checkpoint: Checkpoint | None


def carry_out(job: Job[R, M]) -> M:
    """Train what `job` describes, or go on with it; the trained model in eval mode."""
    placement, images = job.placement, job.recipe.images_per_step
    if images < placement.ranks:
        raise InputError(
            f"{placement.ranks} devices cannot share steps of {images} image{'s' * (images > 1)}: take fewer devices "
            "or a larger batch"
        )
    if placement.ranks == 1 or placement.started is not None:
        return take_part(job)
    launch(placement.ranks, partial(take_part, job, begin(job)))
    model = job.new_model(job.recipe, job.spec)
    return type(model).from_pretrained(job.folder, map_location=placement.own_device)


def begin(job: Job[R, M]) -> Begun:
    """Check the folder of the run against what is asked for, before anything is changed."""
    recipe, placement, options = job.recipe, job.placement, job.options
    if placement.ranks > 1 and not placement.sync_batch_norm and batch_norms(job.new_model(recipe, job.spec)):
        recipe = recipe.model_copy(update={"batch_norm_devices": placement.ranks})
    flags = {name: getattr(options, name) for name in ("resume", "overwrite", "accept_changes")}
    checkpoint, changes = check(job.folder, recipe, **flags)
    if checkpoint is not None:
        recipe = with_changes(recipe, checkpoint, changes)
    earlier = None if checkpoint is None else checkpoint["recipe"].get("threads")
    device = models.pick_device(recipe.device)
    number = threads.pick(recipe, job.spec, device, job.new_model, earlier, placement.devices)
    return Begun(recipe.model_copy(update={"threads": number}), checkpoint)


def take_part(job: Job[R, M], begun: Begun | None = None) -> M:
    """Train the run as one of its ranks, together with the others; `begun` None: the first rank decides."""
    fabric = make_fabric(job.recipe, job.placement)
    with joined(job.placement) as ranks:
        if not ranks.is_first:
            job = dataclasses.replace(job, options=Options(loggers=[]))  # the first writes and reports for all
        begun = begun or ranks.first(partial(begin, job))
        recipe: Any = begun.recipe
        return _train(dataclasses.replace(job, recipe=recipe), begun.checkpoint, fabric, ranks)


def _train(job: Job[R, M], checkpoint: Checkpoint | None, fabric: Fabric, ranks: Ranks) -> M:
    recipe, options = job.recipe, job.options
    model = job.new_model(recipe, job.spec)  # before the data are decoded, to refuse an unknown architecture at once
    classifier = None if job.classifier is None else job.classifier(recipe, job.spec)
    images = training_images(recipe, fabric.device, job.own)
    ranks.check_alike(versions() | {"training data": fingerprint(images)})
    model.load_state_dict(ranks.first(model.state_dict))  # another processor may round initial weights differently
    schedule = recipe.build_method().schedule()
    with ExitStack() as stack, threads.using(recipe.threads):
        ranks.first(lambda: take_folder(stack, job, begun=checkpoint is not None))
        schedule.prepare(SmoothedTeacher(recipe, images, job.folder, fabric.device, options.progress, ranks))
        plain, total = recipe.epochs * len(images), sum(work(schedule, e, len(images)) for e in range(recipe.epochs))
        with options.progress(f"train {recipe.method}", total, "images") as reporter:
            for note in (recipe.summary(), *job.placement.notes(), *job.notes, *recipe.changed):
                reporter.say(note)
            if total > plain:
                reporter.say(
                    f"before some epochs {recipe.method} asks about noisy copies of the images: about as much work as "
                    f"training on {total - plain:,} images, and counted as that"
                )
            trainer = Trainer(recipe, images, model, schedule, job.folder, fabric, reporter, classifier, ranks)
            if checkpoint is not None:
                trainer.go_on_from(checkpoint)
            together = job.placement.sync_batch_norm and not ranks.alone
            with synchronised(model, ranks) if together else nullcontext(), _loggers(job, trainer, ranks) as loggers:
                trainer.fit(loggers, options.callback)
        if ranks.is_first:
            check_there(job.folder)
            models.save(model, job.folder)
    return model.eval()


def _loggers(job: Job[R, M], trainer: Trainer, ranks: Ranks) -> AbstractContextManager[LoggerGroup]:
    """The loggers of the first rank; the others have none."""
    if not ranks.is_first:
        return nullcontext(LoggerGroup([]))
    return open_loggers(job.options.loggers, LoggedRun(job.folder, job.recipe.flat(), trainer.steps_taken))


def take_folder(stack: ExitStack, job: Job[R, M], *, begun: bool) -> None:
    """Lock the folder of the run until `stack` is closed, and clean it: of all that another run left, unless `begun`.

    Kept are a teacher's predictions, which may have taken hours and are used only if they fit and, with `resume`, under
    which ids the loggers' trackers know a run that was killed before its first checkpoint.
    """
    job.folder.mkdir(parents=True, exist_ok=True)
    stack.enter_context(claimed(job.folder))
    sweep(job.folder)
    if not begun:
        folders = job.recipe.folders()
        teacher = any(folders[key] == "of the model" for key in job.recipe.asked)  # which predicts under its own noise
        clear(job.folder, keep=[TEACHER] * teacher + [TRACKED] * job.options.resume)
    if not (job.folder / SETTINGS).exists():
        write_settings(job, job.folder / SETTINGS)


def with_changes(recipe: R, checkpoint: Checkpoint, changes: Sequence[Change]) -> R:
    """`recipe`, which records the `changes` since the checkpoint's, and those before."""
    earlier = checkpoint["recipe"].get("changed", ())
    return recipe.model_copy(update={"changed": (*earlier, *(each.after(checkpoint["epoch"]) for each in changes))})


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


def write_settings(job: Job[R, M], path: Path) -> None:
    """Write what was chosen, so that `randsmooth VERB --config PATH` repeats the run."""
    where = {"dataset": job.recipe.dataset, "device": job.recipe.device, **job.placement.in_file()}
    values = {"verb": job.settings["verb"], **where, **job.settings}
    write_atomically(path, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode())
