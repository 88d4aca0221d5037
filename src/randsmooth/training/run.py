"""Train a base classifier: from a data set and settings to a model folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
import yaml
from lightning_fabric import Fabric
from lightning_fabric.loggers.logger import Logger
from torch import nn

from randsmooth import bounds, data, methods, models
from randsmooth.atomic import held, write_atomically
from randsmooth.errors import InputError
from randsmooth.frozen_record import check_not_settings, settings_from
from randsmooth.methods.hyperparameters import Noise, model_folders
from randsmooth.models import Classifier
from randsmooth.models.stored_model import StoredModel
from randsmooth.noise import Stream
from randsmooth.progress import Progress
from randsmooth.training import threads
from randsmooth.training.checkpoint import Checkpoint
from randsmooth.training.conduct import Conduct
from randsmooth.training.folder import SETTINGS, TEACHER, TRACKED, check, check_there, clear, sweep
from randsmooth.training.loggers import LoggedRun, open_loggers
from randsmooth.training.loop import Callback, Trainer
from randsmooth.training.recipe import Change, Recipe
from randsmooth.training.resolution import resolve
from randsmooth.training.settings import TrainingSettings
from randsmooth.training.source import named, require_labels
from randsmooth.training.teacher import SmoothedTeacher
from randsmooth.transfer import delivered_folder
from randsmooth.urls import Place
from randsmooth.versions import versions

R = TypeVar("R", bound=Recipe)
M = TypeVar("M", bound=StoredModel)

_PICKED: dict[tuple[str, tuple[int, ...]], int] = {}  # number of threads by architecture and shape of the images


def train(
    dataset: Any,
    settings: TrainingSettings | None = None,
    *,
    out: Place,
    device: str = "auto",
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
            `transfer.delivered_folder`).
        device: "auto", "cpu", "cuda" or, where there are several, "cuda:1".
        resume: go on with an interrupted run in the folder. It ends with the weights of an uninterrupted one, bit for
            bit on the CPU; a finished run is returned as it is.
        overwrite: discard an earlier run in the folder.
        accept_changes: with `resume`, go on with other settings; the model records what was changed after which epoch.
        logger: what is told the hyperparameters and the metrics, of every epoch and some steps: "tensorboard", "csv",
            "mlflow", "wandb", a Logger of Lightning (Fabric's or PyTorch Lightning's), or several. Default: those by
            name that a resumed run was begun with; for a new run TensorBoard, where it is installed.
        callback: called after every epoch with its metrics, the row of `history.csv`, once the checkpoint is written:
            whatever it raises ends the run, which can be resumed.
        progress: True shows how the run is progressing, False does not; default: on a terminal. Or a function like
            `progress.console`.
        fields: settings as keywords, instead of `settings` or in place of some of them: `sigma=0.5, method="amplify"`.

    Raises:
        InputError: settings or data that cannot be used, or a folder that must not be written to.
        TrainingDiverged: the loss became NaN or infinite.

    Example:
        >>> import tempfile
        >>> losses = []
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = train("digits", sigma=0.25, take=64, epochs=1, out=f"{folder}/model", callback=losses.append)
        >>> model.provenance["method"], len(model.classes), sorted(losses[0])
        ('gaussian', 10, ['cross_entropy', 'easy_share', 'epoch', 'hard_share', 'lr', 'seconds'])
    """
    check_not_settings(dataset, "second")
    conduct = Conduct.checked(
        resume=resume,
        overwrite=overwrite,
        accept_changes=accept_changes,
        logger=logger,
        callback=callback,
        progress=progress,
    )
    chosen = settings_from(TrainingSettings, settings, fields)
    name, source, reading = named(dataset, chosen.reading)
    spec = data.describe(source, **reading)
    require_labels(spec)
    recipe, notes = resolve(name, chosen, spec, device=device)
    recipe = recipe.model_copy(update={"asked": weights_of_other_models(recipe, spec)})
    written = {"verb": "train", **chosen.model_dump(mode="json", exclude_none=True)}
    own = None if isinstance(source, str) else source
    with delivered_folder(out, resume=resume, overwrite=overwrite) as folder:
        return carry_out(recipe, notes, spec, new_classifier, folder, written, conduct, own=own)


def carry_out(
    recipe: R,
    notes: list[str],
    spec: data.DatasetSpec,
    new_model: Callable[[R, data.DatasetSpec], M],
    folder: Path,
    settings: dict[str, Any],
    conduct: Conduct,
    classifier: nn.Module | None = None,
    own: data.Images | None = None,
) -> M:
    """Train what `recipe` describes into `folder`, or go on with it; the trained model in eval mode.

    Args:
        recipe: of the run.
        notes: on it, for the user.
        spec: of its data set.
        new_model: makes the untrained model of a recipe.
        folder: of the run.
        settings: the verb and the settings that were chosen, to be written into the folder.
        conduct: whether to resume, and whom to tell what.
        classifier: that a denoiser is trained for.
        own: the images, where they have no path; None: they are those of the recipe's data set.
    """
    fabric = make_fabric(recipe)
    flags = {name: getattr(conduct, name) for name in ("resume", "overwrite", "accept_changes")}
    checkpoint, changes = check(folder, recipe, **flags)
    if checkpoint is not None:
        recipe = with_changes(recipe, checkpoint, changes)
    recipe = recipe.model_copy(update={"threads": pick_threads(recipe, spec, fabric, new_model, checkpoint)})
    model = new_model(recipe, spec)  # before the data are decoded, to refuse an unknown architecture at once
    images = training_images(recipe, fabric, own)
    folder.mkdir(parents=True, exist_ok=True)
    schedule = recipe.build_method().schedule()
    with held(folder), threads.using(recipe.threads):
        make_ready(folder, recipe, settings, begun=checkpoint is not None, resume=conduct.resume)
        schedule.prepare(SmoothedTeacher(recipe, images, folder, fabric.device, conduct.progress))
        with conduct.progress(f"train {recipe.method}", recipe.epochs * len(images), "images") as reporter:
            for note in (recipe.summary(), *notes, *recipe.changed):
                reporter.say(note)
            trainer = Trainer(recipe, images, model, schedule, folder, fabric, reporter, classifier)
            if checkpoint is not None:
                trainer.go_on_from(checkpoint)
            with open_loggers(conduct.loggers, LoggedRun(folder, recipe.flat(), trainer.steps_taken)) as loggers:
                trainer.fit(loggers, conduct.callback)
        check_there(folder)
        models.save(model, folder)
    return model.eval()


def with_changes(recipe: R, checkpoint: Checkpoint, changes: Sequence[Change]) -> R:
    """`recipe`, which records the `changes` since the checkpoint's, and those before."""
    earlier = checkpoint["recipe"].get("changed", ())
    return recipe.model_copy(update={"changed": (*earlier, *(each.after(checkpoint["epoch"]) for each in changes))})


def training_images(recipe: Recipe, fabric: Fabric, own: data.Images | None = None) -> data.Images:
    """The images to train on: `own` ones, or those of the recipe's data set."""
    if own is not None:
        images = own.to(fabric.device)
    else:
        images = data.load(recipe.dataset, "train", device=fabric.device, **recipe.reading)
    return images if recipe.take is None else images.subset(data.take(len(images), recipe.take))


def make_ready(folder: Path, recipe: Recipe, settings: dict[str, Any], *, begun: bool, resume: bool) -> None:
    """Clean the folder of a run that is held: of everything that another run left, unless this one is `begun`.

    Kept are a teacher's predictions, which may have taken hours and are used only if they fit and, with `resume`, under
    which ids the loggers' trackers know a run that was killed before its first checkpoint.
    """
    sweep(folder)
    if not begun:
        clear(folder, keep=[TEACHER] * has_teacher(recipe) + [TRACKED] * resume)
    if not (folder / SETTINGS).exists():
        write_settings(recipe, settings, folder / SETTINGS)


def write_settings(recipe: Recipe, settings: dict[str, Any], path: Path) -> None:
    """Write what was chosen, so that `randsmooth VERB --config PATH` repeats the run."""
    where = {"dataset": recipe.dataset, "device": recipe.device}
    values = {"verb": settings["verb"], **where, **settings}
    write_atomically(path, yaml.safe_dump(values, sort_keys=False, allow_unicode=True).encode())


def pick_threads(
    recipe: R,
    spec: data.DatasetSpec,
    fabric: Fabric,
    new_model: Callable[[R, data.DatasetSpec], nn.Module],
    checkpoint: Checkpoint | None = None,
) -> int | None:
    """The number of CPU threads to train with; None if another device computes.

    If the user set a number, it is kept. Otherwise a resumed run uses as many as when it began, and all runs of one
    network in a process use equally many, because with another number of threads sums are rounded differently.
    """
    if fabric.device.type != "cpu":
        return None
    if threads.chosen_by_user():
        return torch.get_num_threads()
    if checkpoint is not None and checkpoint["recipe"].get("threads"):
        return min(int(checkpoint["recipe"]["threads"]), torch.get_num_threads())
    key = recipe.arch, tuple(spec.shape)
    if key not in _PICKED:
        _PICKED[key] = threads.fastest(new_model(recipe, spec).eval(), tuple(spec.shape))
    return _PICKED[key]


def has_teacher(recipe: Recipe) -> bool:
    """Whether the run has a teacher: a model that predicts, before the first epoch, under its own noise."""
    folders = recipe.folders()
    return any(folders[key] == "of the model" for key in recipe.asked)


def weights_of_other_models(recipe: Recipe, spec: data.DatasetSpec) -> dict[str, str]:
    """Hyperparameter -> weights hash of the model in the folder that it names.

    Raises:
        InputError: there is no model, or it was trained for other images or with a sigma that does not fit.
    """
    weights = {}
    for key, noise in model_folders(methods.METHODS[recipe.method]).items():
        source = recipe.hyperparameters[key]
        if source:
            weights[key] = models.weights_hash(_other_model(key, source, noise, recipe, spec))
    return weights


def _other_model(key: str, source: str, noise: Noise, recipe: Recipe, spec: data.DatasetSpec) -> Classifier:
    try:
        other = models.load(source)
    except InputError as error:
        raise InputError(f"{key}: {error}") from error
    unlike = _difference(other, spec)
    if unlike:
        theirs = other.provenance.get("dataset", "other data")
        raise InputError(
            f"{key}={source!r} was made for {theirs}, and {unlike} in {recipe.dataset}: name a model trained on "
            f"{recipe.dataset}"
        )
    sigma = other.provenance.get("sigma")
    if noise == "of the model" and sigma is None:
        raise InputError(
            f"{key}={source!r} does not record at which sigma it was trained: name a model made by `train`"
        )
    if sigma is not None:
        _check_sigma(key, source, sigma)
    if noise == "of the run" and sigma not in (None, recipe.sigma):
        raise InputError(f"{key}={source!r} was trained at sigma={sigma}, this run is at sigma={recipe.sigma}")
    return other


def _check_sigma(key: str, source: str, sigma: object) -> None:
    try:
        bounds.check_sigma(sigma)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"{key}={source!r} records an impossible sigma: {error}") from error


def _difference(other: Classifier, spec: data.DatasetSpec) -> str:
    """How the images and classes of `other` differ from those of `spec`; empty if they do not."""
    if other.shape != tuple(spec.shape):
        return f"its images have the shape {other.shape}, not {tuple(spec.shape)} as"
    if other.num_classes != len(spec.classes):
        return f"it has {other.num_classes} classes, not {len(spec.classes)} as"
    for k, (theirs, ours) in enumerate(zip(other.classes, spec.classes, strict=True)):
        if theirs != ours:
            return f"its class {k} is {theirs!r}, not {ours!r} as"
    return ""


def new_classifier(recipe: Recipe, spec: data.DatasetSpec) -> Classifier:
    """The untrained network of `recipe`, initialised from its seed, with the recipe as its provenance."""
    provenance = recipe.model_dump(mode="json") | {"versions": versions()}
    with torch.random.fork_rng(devices=[]):  # architectures take their initial weights from torch's global generator
        torch.default_generator.manual_seed(Stream(recipe.seed, "train/init").torch().initial_seed())
        return Classifier(
            arch=recipe.arch,
            classes=list(spec.classes),
            shape=list(spec.shape),
            mean=None if spec.mean is None else list(spec.mean),
            std=None if spec.std is None else list(spec.std),
            provenance=provenance,
        )


def make_fabric(recipe: Recipe) -> Fabric:
    """The device and precision to train with. Raises InputError if this machine has no such device."""
    precision = {"32": "32-true", "bf16-mixed": "bf16-mixed"}[recipe.precision]
    device = models.pick_device(recipe.device)
    devices = 1 if device.index is None else [device.index]
    return Fabric(accelerator=device.type, devices=devices, precision=precision)  # type: ignore[arg-type]
