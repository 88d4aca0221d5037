"""Train a denoiser: from a data set and settings to a folder that `Denoised` puts before a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from lightning_fabric.loggers.logger import Logger
from torch import nn

from randsmooth import data, models
from randsmooth.errors import InputError
from randsmooth.extras import versions
from randsmooth.frozen_record import check_not_settings, settings_from
from randsmooth.models import Denoiser
from randsmooth.noise import Stream
from randsmooth.progress import Progress
from randsmooth.training.devices import placed
from randsmooth.training.execution import Job, Options, carry_out
from randsmooth.training.loop import Callback
from randsmooth.training.recipe import DenoiserRecipe
from randsmooth.training.resolution import resolve_denoiser
from randsmooth.training.settings import DenoiserSettings
from randsmooth.urls import Place, delivered_folder


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
    check_not_settings(dataset, "second")
    options = Options.checked(
        resume=resume,
        overwrite=overwrite,
        accept_changes=accept_changes,
        logger=logger,
        callback=callback,
        progress=progress,
    )
    chosen = settings_from(DenoiserSettings, settings, fields)
    placement = placed(device, devices, nodes, sync_batch_norm)
    spec = data.describe(dataset)
    recipe = resolve_denoiser(dataset, chosen, spec, device=device)
    classifier = its_classifier(recipe, spec)
    start = None if recipe.start is None else _start(recipe.start, recipe, spec)
    asked = {"classifier": classifier, "start": start}
    hashes = {name: models.weights_hash(model) for name, model in asked.items() if model is not None}
    recipe = recipe.model_copy(update={"asked": hashes})
    written = {"verb": "train-denoiser", **chosen.model_dump(mode="json", exclude_none=True)}
    with placement.folder(delivered_folder(out, resume=resume, overwrite=overwrite)) as folder:
        return carry_out(Job(recipe, spec, placement, folder, written, options, new_denoiser, its_classifier))


def new_denoiser(recipe: DenoiserRecipe, spec: data.DatasetSpec) -> Denoiser:
    """The untrained denoiser of `recipe`, or the one to start from, with the recipe as its provenance."""
    provenance = recipe.model_dump(mode="json") | {"versions": versions()}
    with torch.random.fork_rng(devices=[]):  # initial weights come from torch's global generator
        torch.default_generator.manual_seed(Stream(recipe.seed, "train/init").torch().initial_seed())
        denoiser = Denoiser(channels=spec.shape[0], arch=recipe.arch, provenance=provenance)
    if recipe.start is not None:
        denoiser.load_state_dict(_start(recipe.start, recipe, spec).state_dict())
    return denoiser


def its_classifier(recipe: DenoiserRecipe, spec: data.DatasetSpec) -> nn.Module | None:
    """The classifier that it is trained for, frozen. InputError where it does not take the images of `spec`."""
    source = recipe.classifier
    if source is None:
        return None
    try:
        model = models.load(source)
    except InputError as error:
        raise InputError(f"classifier: {error}") from error
    if tuple(model.shape) != tuple(spec.shape):
        raise InputError(
            f"classifier={source!r} takes images of shape {model.shape}, and those of {spec.name} are {spec.shape}: "
            "name one for these images"
        )
    return model.requires_grad_(False)


def _start(source: str, recipe: DenoiserRecipe, spec: data.DatasetSpec) -> Denoiser:
    """The denoiser in the folder `source`. InputError where it is another network."""
    try:
        denoiser = Denoiser.from_pretrained(source)
    except InputError as error:
        raise InputError(f"start: {error}") from error
    wanted = Denoiser(channels=spec.shape[0], arch=recipe.arch)
    if (denoiser.arch, denoiser.channels) != (wanted.arch, wanted.channels):
        raise InputError(
            f"start={source!r} is {denoiser.arch} for {denoiser.channels} channels, this run {wanted.arch} for "
            f"{wanted.channels}: give its arch (--arch {denoiser.arch})"
        )
    return denoiser
