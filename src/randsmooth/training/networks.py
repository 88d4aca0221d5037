"""The networks of a run: the untrained one, and the trained ones that it needs."""

from typing import Any

import torch

from randsmooth import models
from randsmooth.data import DatasetSpec
from randsmooth.documents import shown
from randsmooth.errors import Problem, WrongModel
from randsmooth.extras import versions
from randsmooth.models import Classifier, Denoiser
from randsmooth.noise import Stream, noise_said
from randsmooth.training.recipe import DenoiserRecipe, Recipe


def new_model(recipe: Recipe, spec: DatasetSpec) -> Classifier | Denoiser:
    """The untrained network of `recipe`, initialised from its seed, with the recipe as its provenance.

    A denoiser has the weights of the one to start from, if any.
    """
    unsaid = {"noise"} if recipe.noise is None else set()
    provenance = recipe.model_dump(mode="json", exclude=unsaid) | {
        "versions": versions()
    }
    with torch.random.fork_rng(
        devices=[]
    ):  # architectures take their initial weights from torch's global generator
        torch.default_generator.manual_seed(
            Stream(recipe.seed, "train/init").torch().initial_seed()
        )
        if not isinstance(recipe, DenoiserRecipe):
            facts: dict[str, Any] = {
                "classes": spec.classes,
                "shape": spec.shape,
                "mean": spec.mean,
                "std": spec.std,
            }
            extra = (
                recipe.smoothing.shape(spec.shape)[0] - spec.shape[0]
                if recipe.smoothing
                else 0
            )
            return Classifier(
                arch=recipe.arch, **facts, extra_channels=extra, provenance=provenance
            )
        denoiser = Denoiser(
            channels=spec.shape[0], arch=recipe.arch, provenance=provenance
        )
    if recipe.start is not None:
        denoiser.load_state_dict(other_models(recipe, spec)["start"].state_dict())
    return denoiser


def other_models(recipe: Recipe, spec: DatasetSpec) -> dict[str, Classifier | Denoiser]:
    """Setting -> the model in the folder that it names, frozen.

    Raises:
        Problem: there is no model, or it was trained for other images or under a noise that does not fit.
    """
    found: dict[str, Classifier | Denoiser] = {}
    facts = recipe.flat()
    for key, noise in recipe.folders().items():
        if not (source := facts.get(key)):
            continue
        try:
            model = Denoiser.load(source) if key == "start" else models.load(source)
        except Problem as error:
            raise WrongModel(f"{key}: {error}") from error
        needed: dict[str, Any] = {"shape": [*spec.shape]} | (
            {"classes": [*spec.classes]} if noise else {}
        )
        if key == "start":
            needed = Denoiser(arch=recipe.arch, channels=spec.shape[0]).config
            needed.pop("provenance")
        for name, need in needed.items():
            if model.config[name] != need:
                raise WrongModel(
                    f"{key}={source!r} has the {name} {shown(model.config[name])}, and {spec.name} with these settings "
                    f"needs {shown(need)}: name a model made for it"
                )
        if noise:
            _check_noise(
                f"{key}={source!r}", model, None if noise == "of the model" else recipe
            )
        found[key] = model.requires_grad_(False)
    return found


def _check_noise(
    which: str, model: Classifier | Denoiser, wanted: Recipe | None
) -> None:
    """Raise Problem unless the model records under which noise it was trained; or the one `wanted`, if it does."""
    own = {
        name: value
        for name in ("noise", "sigma")
        if (value := model.provenance.get(name)) is not None
    }
    if not own and wanted is not None:
        return
    if (found := noise_said(own)) is None:
        raise WrongModel(
            f"{which} does not record under which noise it was trained: name a model that does"
        )
    if wanted is not None and found != wanted.smoothing:
        now = wanted.smoothing.text if wanted.smoothing else "none"
        raise WrongModel(
            f"{which} was trained under {found.text}, this run is under {now}"
        )
