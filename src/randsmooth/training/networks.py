"""The networks of a run: the untrained one, and the trained ones that it needs."""

from typing import Any

import torch

from randsmooth import models
from randsmooth.data import DatasetSpec
from randsmooth.documents import shown
from randsmooth.errors import Problem, WrongModel
from randsmooth.extras import versions
from randsmooth.methods.hyperparameters import OtherModelNoise
from randsmooth.models import Classifier, Denoiser
from randsmooth.noise import Noise, Stream, recorded_noise
from randsmooth.training.recipe import DenoiserRecipe, Recipe

# The setting that names the denoiser from which another is trained.
START = "start"


def new_model(recipe: Recipe, spec: DatasetSpec) -> Classifier | Denoiser:
    """Return the untrained network of `recipe`, initialised from its seed.

    Its provenance is the recipe. A denoiser has the weights of the one to start from,
    if any.
    """
    provenance = recipe.model_dump(mode="json")
    if provenance["noise"] is None:
        # Sigma says it.
        del provenance["noise"]
    provenance["versions"] = versions()

    # Architectures take their initial weights from torch's global generator.
    with torch.random.fork_rng(devices=[]):
        stream = Stream(recipe.seed, "train/init")
        torch.default_generator.manual_seed(stream.torch().initial_seed())
        if not isinstance(recipe, DenoiserRecipe):
            return Classifier(
                arch=recipe.arch,
                classes=list(spec.classes),
                shape=spec.shape,
                mean=spec.mean,
                std=spec.std,
                extra_channels=_extra_channels(recipe.noise, spec),
                provenance=provenance,
            )
        denoiser = Denoiser(
            channels=spec.shape[0], arch=recipe.arch, provenance=provenance
        )

    if recipe.start is not None:
        trained = other_models(recipe, spec)[START]
        denoiser.load_state_dict(trained.state_dict())
    return denoiser


def _extra_channels(noise: Noise | None, spec: DatasetSpec) -> int:
    """Count the channels that the noise adds to those of an image."""
    if noise is None:
        return 0
    return noise.shape(spec.shape)[0] - spec.shape[0]


def other_models(recipe: Recipe, spec: DatasetSpec) -> dict[str, Classifier | Denoiser]:
    """Return setting -> the model in the folder that it names, frozen.

    Raises:
        Problem: there is no model, or it was trained for other images or under a noise
            that does not fit.
    """
    networks: dict[str, Classifier | Denoiser] = {}
    settings = recipe.flat()
    for setting, whose_noise in recipe.folders().items():
        folder = settings.get(setting)
        if not folder:
            continue
        model = _load(setting, folder)
        which = f"{setting}={folder!r}"
        needed = _needed_config(setting, whose_noise, recipe, spec)
        for name, value in needed.items():
            if model.config[name] != value:
                raise WrongModel(
                    f"{which} has the {name} {shown(model.config[name])}, and "
                    f"{spec.name} with these settings needs {shown(value)}: name a "
                    "model made for it"
                )
        if whose_noise == "of the model":
            # It predicts under that noise, so it must record one.
            _recorded_noise(which, model)
        elif whose_noise == "of the run":
            _check_noise(which, model, recipe)
        networks[setting] = model.requires_grad_(False)
    return networks


def _load(setting: str, folder: str) -> Classifier | Denoiser:
    """Return the model in the `folder` that a setting names."""
    try:
        return Denoiser.load(folder) if setting == START else models.load(folder)
    except Problem as error:
        raise WrongModel(f"{setting}: {error}") from error


def _needed_config(
    setting: str, whose_noise: OtherModelNoise | None, recipe: Recipe, spec: DatasetSpec
) -> dict[str, Any]:
    """Return what a model's config must say, by name, for `setting` to name it."""
    if setting == START:
        # Its weights are taken over, so it must be the same network.
        same = Denoiser(arch=recipe.arch, channels=spec.shape[0]).config
        return {name: same[name] for name in same if name != "provenance"}
    needed: dict[str, Any] = {"shape": list(spec.shape)}
    if whose_noise is not None:
        # Its answers are compared with the labels.
        needed["classes"] = list(spec.classes)
    return needed


def _check_noise(which: str, model: Classifier | Denoiser, recipe: Recipe) -> None:
    """Raise Problem if the model records another noise than that of the run."""
    records = model.provenance
    if records.get("noise") is None and records.get("sigma") is None:
        return
    noise = _recorded_noise(which, model)
    if noise != recipe.noise:
        now = recipe.noise.text if recipe.noise else "none"
        raise WrongModel(
            f"{which} was trained under {noise.text}, this run is under {now}"
        )


def _recorded_noise(which: str, model: Classifier | Denoiser) -> Noise:
    """Return the noise that the model was trained under; Problem if it records none."""
    noise = recorded_noise(model.provenance)
    if noise is None:
        raise WrongModel(
            f"{which} does not record under which noise it was trained: name a model "
            "that does"
        )
    return noise
