"""The networks of a run: the untrained one, and the trained ones that it needs."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from randsmooth import models
from randsmooth.data import DatasetSpec
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import versions
from randsmooth.methods import METHODS
from randsmooth.methods.hyperparameters import model_folders
from randsmooth.models import Classifier, Denoiser
from randsmooth.noise import Stream, check_sigma
from randsmooth.training.recipe import DenoiserRecipe, Recipe


def new_classifier(recipe: Recipe, spec: DatasetSpec) -> Classifier:
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


def new_denoiser(recipe: DenoiserRecipe, spec: DatasetSpec) -> Denoiser:
    """The untrained denoiser of `recipe`, or the one to start from, with the recipe as its provenance."""
    provenance = recipe.model_dump(mode="json") | {"versions": versions()}
    with torch.random.fork_rng(devices=[]):  # initial weights come from torch's global generator
        torch.default_generator.manual_seed(Stream(recipe.seed, "train/init").torch().initial_seed())
        denoiser = Denoiser(channels=spec.shape[0], arch=recipe.arch, provenance=provenance)
    if recipe.start is not None:
        denoiser.load_state_dict(_start(recipe.start, recipe, spec).state_dict())
    return denoiser


def its_classifier(recipe: DenoiserRecipe, spec: DatasetSpec) -> nn.Module | None:
    """The classifier that it is trained for, frozen. InputError where it does not take the images of `spec`."""
    if recipe.classifier is None:
        return None
    model = _opened("classifier", recipe.classifier)
    _check_like("classifier", recipe.classifier, spec, shape=(tuple(model.shape), tuple(spec.shape)))
    return model.requires_grad_(False)


def _start(source: str, recipe: DenoiserRecipe, spec: DatasetSpec) -> Denoiser:
    """The denoiser in the folder `source`. InputError where it is another network."""
    try:
        denoiser = Denoiser.load(source)
    except InputError as error:
        raise InputError(f"start: {error}") from error
    wanted = Denoiser(channels=spec.shape[0], arch=recipe.arch)
    same = {name: (getattr(denoiser, name), getattr(wanted, name)) for name in ("arch", "channels")}
    _check_like("start", source, spec, **same)
    return denoiser


def weights_of_other_models(recipe: Recipe, spec: DatasetSpec) -> dict[str, str]:
    """Setting -> weights hash of the model in the folder that it names.

    Raises:
        InputError: there is no model, or it was trained for other images or with a sigma that does not fit.
    """
    if isinstance(recipe, DenoiserRecipe):
        start = None if recipe.start is None else _start(recipe.start, recipe, spec)
        others = {"classifier": its_classifier(recipe, spec), "start": start}
    else:
        named = {key: recipe.hyperparameters[key] for key in model_folders(METHODS[recipe.method])}
        others = {key: _other_model(key, source, recipe, spec) for key, source in named.items() if source}
    return {key: models.weights_hash(model) for key, model in others.items() if model is not None}


def _other_model(key: str, source: str, recipe: Recipe, spec: DatasetSpec) -> Classifier:
    other, noise = _opened(key, source), model_folders(METHODS[recipe.method])[key]
    _check_like(
        key, source, spec, shape=(tuple(other.shape), tuple(spec.shape)), classes=(tuple(other.classes), spec.classes)
    )
    sigma: Any = other.provenance.get("sigma")
    if sigma is not None or noise == "of the model":
        try:
            check_sigma(sigma)
        except InputError as error:
            raise InputError(f"{key}={source!r} does not record at which sigma it was trained: {error}") from error
    if noise == "of the run" and sigma not in (None, recipe.sigma):
        raise InputError(f"{key}={source!r} was trained at sigma={sigma}, this run is at sigma={recipe.sigma}")
    return other


def _opened(key: str, source: str) -> Classifier:
    try:
        return models.load(source)
    except InputError as error:
        raise InputError(f"{key}: {error}") from error


def _check_like(key: str, source: str, spec: DatasetSpec, **facts: tuple[object, object]) -> None:
    """Raise InputError unless what is `facts`, by name, of the model equals what this run needs."""
    for name, (theirs, needed) in facts.items():
        if theirs != needed:
            raise InputError(
                f"{key}={source!r} has the {name} {shown(theirs)}, and {spec.name} with these settings needs "
                f"{shown(needed)}: name a model made for it"
            )
