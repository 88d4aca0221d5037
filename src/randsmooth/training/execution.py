"""Carry out a run that is decided: on this device alone, or together with other ranks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import torch
import yaml
from lightning_fabric import Fabric
from torch import nn

from randsmooth import data, models
from randsmooth.atomic import held, write_atomically
from randsmooth.models.stored_model import StoredModel
from randsmooth.training import threads
from randsmooth.training.batch_norm import batch_norms, synchronised
from randsmooth.training.checkpoint import Checkpoint
from randsmooth.training.conduct import SILENT, Conduct
from randsmooth.training.folder import SETTINGS, TEACHER, TRACKED, check, check_there, clear, sweep
from randsmooth.training.joining import joined, make_fabric
from randsmooth.training.launch import other_ranks
from randsmooth.training.loggers import LoggedRun, LoggerGroup, open_loggers
from randsmooth.training.loop import Trainer, work
from randsmooth.training.placement import Placement, RankEnvironment, check_batch
from randsmooth.training.ranks import Ranks
from randsmooth.training.recipe import Change, Recipe
from randsmooth.training.source import fingerprint
from randsmooth.training.teacher import SmoothedTeacher
from randsmooth.versions import versions

R = TypeVar("R", bound=Recipe)
M = TypeVar("M", bound=StoredModel)

_PICKED: dict[tuple[str, tuple[int, ...]], int] = {}  # number of threads by architecture and shape of the images


@dataclasses.dataclass(frozen=True)
class Job(Generic[R, M]):
    """A run that is decided, in words that another process can carry out.

    Attributes:
        recipe: of the run.
        placement: on which devices.
        folder: of the run.
        settings: the verb and the settings that were chosen, to be written into the folder.
        new_model: makes the untrained model of a recipe; a function of a module.
        classifier: opens the one that a denoiser is trained for; a function of a module.
        notes: on the recipe, for the user.
        own: the images, where they have no path; None: they are those of the recipe's data set.
    """

    recipe: R
    placement: Placement
    folder: Path
    settings: dict[str, Any]
    new_model: Callable[[R, data.DatasetSpec], M]
    classifier: Callable[[R, data.DatasetSpec], nn.Module | None] | None = None
    notes: tuple[str, ...] = ()
    own: data.Images | None = None


class Begun(NamedTuple):
    """What the first rank decides for all: the recipe with what was changed, and the checkpoint to go on from."""

    recipe: Recipe
    checkpoint: Checkpoint | None


def carry_out(job: Job[R, M], spec: data.DatasetSpec, conduct: Conduct) -> M:
    """Train what `job` describes, or go on with it; the trained model in eval mode.

    Args:
        job: what to train, where.
        spec: of its data set.
        conduct: whether to resume, and whom to tell what.
    """
    placement = job.placement
    check_batch(job.recipe.images_per_step, placement)
    if placement.ranks == 1 or placement.started is not None:
        return take_part(placement.started, job, None, conduct if placement.leads else SILENT, spec)
    begun = begin(job, spec, conduct)
    known = None if job.own is None else spec  # others find the data set by its name
    with other_ranks(placement.ranks, partial(take_part, job=job, begun=begun, spec=known)) as first:
        return take_part(first, job, begun, conduct, spec)


def begin(job: Job[R, M], spec: data.DatasetSpec, conduct: Conduct) -> Begun:
    """Check the folder of the run against what is asked for, before anything is changed."""
    recipe, placement = job.recipe, job.placement
    device = models.pick_device(recipe.device)
    if placement.ranks > 1 and not placement.sync_batch_norm and batch_norms(job.new_model(recipe, spec)):
        recipe = recipe.model_copy(update={"batch_norm_devices": placement.ranks})
    flags = {name: getattr(conduct, name) for name in ("resume", "overwrite", "accept_changes")}
    checkpoint, changes = check(job.folder, recipe, **flags)
    if checkpoint is not None:
        recipe = with_changes(recipe, checkpoint, changes)
    number = pick_threads(recipe, spec, device, job.new_model, checkpoint, placement.devices)
    return Begun(recipe.model_copy(update={"threads": number}), checkpoint)


def take_part(
    rank: RankEnvironment | None,
    job: Job[R, M],
    begun: Begun | None,
    conduct: Conduct | None = None,
    spec: data.DatasetSpec | None = None,
) -> M:
    """Train the run as one of its ranks, together with the others.

    Args:
        rank: which one; None: there are no others.
        job: what to train.
        begun: what the first rank decided; None: this is still to be done.
        conduct: whom to tell what; None: nobody.
        spec: of the data set; None: it is found by its name.
    """
    fabric = make_fabric(job.recipe, job.placement, rank)
    spec, conduct = spec or data.describe(job.recipe.dataset, **job.recipe.reading), conduct or SILENT
    with joined(fabric) as ranks:
        ranks.calls_roll = job.placement.started is not None  # else the first rank, which started the others, watches
        begun = begun or ranks.first(partial(begin, job, spec, conduct))
        recipe: Any = begun.recipe
        job = dataclasses.replace(job, recipe=recipe)
        return _train(job, spec, begun.checkpoint, conduct, fabric, ranks)


def _train(
    job: Job[R, M],
    spec: data.DatasetSpec,
    checkpoint: Checkpoint | None,
    conduct: Conduct,
    fabric: Fabric,
    ranks: Ranks,
) -> M:
    recipe, folder = job.recipe, job.folder
    model = job.new_model(recipe, spec)  # before the data are decoded, to refuse an unknown architecture at once
    classifier = None if job.classifier is None else job.classifier(recipe, spec)
    images = training_images(recipe, fabric.device, job.own)
    ranks.check_alike(versions() | {"training data": fingerprint(images)})
    model.load_state_dict(ranks.first(model.state_dict))  # another processor may round initial weights differently
    schedule = recipe.build_method().schedule()
    with ExitStack() as stack, threads.using(recipe.threads):
        ranks.first(lambda: take_folder(stack, job, begun=checkpoint is not None, resume=conduct.resume))
        schedule.prepare(SmoothedTeacher(recipe, images, folder, fabric.device, conduct.progress, ranks))
        plain, total = recipe.epochs * len(images), sum(work(schedule, e, len(images)) for e in range(recipe.epochs))
        with conduct.progress(f"train {recipe.method}", total, "images") as reporter:
            for note in (recipe.summary(), *job.placement.notes(), *job.notes, *recipe.changed):
                reporter.say(note)
            if total > plain:
                reporter.say(
                    f"before some epochs {recipe.method} asks about noisy copies of the images: about as much work as "
                    f"training on {total - plain:,} images, and counted as that"
                )
            trainer = Trainer(recipe, images, model, schedule, folder, fabric, reporter, classifier, ranks)
            if checkpoint is not None:
                trainer.go_on_from(checkpoint)
            with _normalising(model, job.placement, ranks), _loggers(job, trainer, conduct, ranks) as loggers:
                trainer.fit(loggers, conduct.callback)
        if ranks.is_first:
            check_there(folder)
            models.save(model, folder)
    return model.eval()


def _normalising(model: nn.Module, placement: Placement, ranks: Ranks) -> AbstractContextManager[None]:
    """The context in which batch normalisation sees what the user asked for."""
    return synchronised(model, ranks) if placement.sync_batch_norm and not ranks.alone else nullcontext()


def _loggers(job: Job[R, M], trainer: Trainer, conduct: Conduct, ranks: Ranks) -> AbstractContextManager[LoggerGroup]:
    """The loggers of the first rank; the others have none."""
    if not ranks.is_first:
        return nullcontext(LoggerGroup([]))
    return open_loggers(conduct.loggers, LoggedRun(job.folder, job.recipe.flat(), trainer.steps_taken))


def take_folder(stack: ExitStack, job: Job[R, M], *, begun: bool, resume: bool) -> None:
    """Lock the folder of the run until `stack` is closed, and make it ready."""
    job.folder.mkdir(parents=True, exist_ok=True)
    stack.enter_context(held(job.folder))
    make_ready(job, begun=begun, resume=resume)


def with_changes(recipe: R, checkpoint: Checkpoint, changes: Sequence[Change]) -> R:
    """`recipe`, which records the `changes` since the checkpoint's, and those before."""
    earlier = checkpoint["recipe"].get("changed", ())
    return recipe.model_copy(update={"changed": (*earlier, *(each.after(checkpoint["epoch"]) for each in changes))})


def training_images(recipe: Recipe, device: torch.device, own: data.Images | None = None) -> data.Images:
    """The images to train on: `own` ones, or those of the recipe's data set."""
    images = own.to(device) if own else data.load(recipe.dataset, "train", device=device, **recipe.reading)
    return images if recipe.take is None else images.subset(data.take(len(images), recipe.take))


def make_ready(job: Job[R, M], *, begun: bool, resume: bool) -> None:
    """Clean the folder of a run that is held: of everything that another run left, unless this one is `begun`.

    Kept are a teacher's predictions, which may have taken hours and are used only if they fit and, with `resume`, under
    which ids the loggers' trackers know a run that was killed before its first checkpoint.
    """
    sweep(job.folder)
    if not begun:
        clear(job.folder, keep=[TEACHER] * has_teacher(job.recipe) + [TRACKED] * resume)
    if not (job.folder / SETTINGS).exists():
        write_settings(job, job.folder / SETTINGS)


def write_settings(job: Job[R, M], path: Path) -> None:
    """Write what was chosen, so that `randsmooth VERB --config PATH` repeats the run."""
    where = {"dataset": job.recipe.dataset, "device": job.recipe.device, **job.placement.in_file()}
    values = {"verb": job.settings["verb"], **where, **job.settings}
    write_atomically(path, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode())


def pick_threads(
    recipe: R,
    spec: data.DatasetSpec,
    device: torch.device,
    new_model: Callable[[R, data.DatasetSpec], nn.Module],
    checkpoint: Checkpoint | None = None,
    processes: int = 1,
) -> int | None:
    """The number of CPU threads for each of the `processes` of this machine; None if another device computes.

    If the user set a number, it is kept. Otherwise a resumed run uses as many as when it began, and all runs of one
    network in a process use equally many, because with another number of threads sums are rounded differently. Several
    processes share torch's threads out.
    """
    if device.type != "cpu":
        return None
    if threads.chosen_by_user():
        return torch.get_num_threads()
    share = max(1, torch.get_num_threads() // processes)
    if checkpoint is not None and checkpoint["recipe"].get("threads"):
        return min(int(checkpoint["recipe"]["threads"]), share)
    if processes > 1:
        return share
    key = recipe.arch, tuple(spec.shape)
    if key not in _PICKED:
        _PICKED[key] = threads.fastest(new_model(recipe, spec).eval(), tuple(spec.shape))
    return _PICKED[key]


def has_teacher(recipe: Recipe) -> bool:
    """Whether the run has a teacher: a model that predicts, before the first epoch, under its own noise."""
    folders = recipe.folders()
    return any(folders[key] == "of the model" for key in recipe.asked)
