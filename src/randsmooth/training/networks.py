"""The networks of a run: the untrained one, and the trained ones that it needs."""

from __future__ import annotations

from typing import Any

import torch

from randsmooth import models
from randsmooth.data import DatasetSpec
from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.extras import versions
from randsmooth.models import Classifier, Denoiser
from randsmooth.noise import Stream, check_sigma
from randsmooth.training.recipe import DenoiserRecipe, Recipe


def new_model(recipe: Recipe, spec: DatasetSpec) -> Classifier | Denoiser:
    """The untrained network of `recipe`, initialised from its seed, with the recipe as its provenance.

    A denoiser has the weights of the one to start from, if any.
    """
    provenance = recipe.model_dump(mode="json") | {"versions": versions()}
    with torch.random.fork_rng(devices=[]):  # architectures take their initial weights from torch's global generator
        torch.default_generator.manual_seed(Stream(recipe.seed, "train/init").torch().initial_seed())
        if not isinstance(recipe, DenoiserRecipe):
            facts = {"classes": spec.classes, "shape": spec.shape, "mean": spec.mean, "std": spec.std}
            plain: dict[str, Any] = {name: None if value is None else list(value) for name, value in facts.items()}
            return Classifier(arch=recipe.arch, **plain, provenance=provenance)
        denoiser = Denoiser(channels=spec.shape[0], arch=recipe.arch, provenance=provenance)
    if recipe.start is not None:
        denoiser.load_state_dict(other_models(recipe, spec)["start"].state_dict())
    return denoiser


def other_models(recipe: Recipe, spec: DatasetSpec) -> dict[str, Classifier | Denoiser]:
    """Setting -> the model in the folder that it names, frozen.

    Raises:
        InputError: there is no model, or it was trained for other images or with a sigma that does not fit.
    """
    found: dict[str, Classifier | Denoiser] = {}
    facts = recipe.flat()
    for key, noise in recipe.folders().items():
        if not (source := facts.get(key)):
            continue
        try:
            model = Denoiser.load(source) if key == "start" else models.load(source)
        except InputError as error:
            raise InputError(f"{key}: {error}") from error
        needed: dict[str, Any] = {"shape": [*spec.shape]} | ({"classes": [*spec.classes]} if noise else {})
        if key == "start":
            needed = Denoiser(arch=recipe.arch, channels=spec.shape[0]).config
            needed.pop("provenance")
        for name, need in needed.items():
            if model.config[name] != need:
                raise InputError(
                    f"{key}={source!r} has the {name} {shown(model.config[name])}, and {spec.name} with these settings "
                    f"needs {shown(need)}: name a model made for it"
                )
        if noise:
            _check_sigma(f"{key}={source!r}", model, None if noise == "of the model" else recipe.sigma)
        found[key] = model.requires_grad_(False)
    return found


def _check_sigma(which: str, model: Classifier | Denoiser, wanted: float | None) -> None:
    """Raise InputError unless the model records at which sigma it was trained; or the one `wanted`, if it does."""
    sigma: Any = model.provenance.get("sigma")
    if sigma is None and wanted is not None:
        return
    try:
        check_sigma(sigma)
    except InputError as error:
        raise InputError(f"{which} does not record at which sigma it was trained: {error}") from error
    if wanted not in (None, sigma):
        raise InputError(f"{which} was trained at sigma={sigma}, this run is at sigma={wanted}")
