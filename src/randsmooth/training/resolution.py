"""From the settings that a user chose to the recipe of the run: what the preset says, overridden and fitted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, get_type_hints

from randsmooth import bounds, methods
from randsmooth.data import DatasetSpec
from randsmooth.errors import InputError, unknown
from randsmooth.methods.checks import plain_type
from randsmooth.methods.hyperparameters import beginnings, in_epochs
from randsmooth.training.presets import CIFAR, Optimisation, Preset, find
from randsmooth.training.recipe import Recipe
from randsmooth.training.settings import TrainingSettings

MOST = 10**6  # epochs, or forward samples a step


def resolve(
    dataset: str, settings: TrainingSettings, spec: DatasetSpec, *, device: str = "auto"
) -> tuple[Recipe, list[str]]:
    """The recipe of a run on `dataset`, which `spec` describes, and notes for the user: first the preset's source.

    Settings override the preset. Asking for fewer or more epochs than the preset compresses or stretches
    all that is measured in epochs with it, but for what is set explicitly.

    Raises:
        InputError: an unknown or impossible setting.

    Example:
        >>> from randsmooth import data
        >>> settings = TrainingSettings(method="gaussian", sigma=0.25, epochs=2)
        >>> recipe, notes = resolve("digits", settings, data.describe("digits"))
        >>> recipe.method, recipe.sigma, recipe.epochs, recipe.arch
        ('gaussian', 0.25, 2, 'small-cnn')
    """
    bounds.check_sigma(settings.sigma)
    if settings.method is not None:
        methods.METHODS[settings.method]
    preset = find(settings.method, spec.name, settings.preset, anywhere=settings.anywhere)
    usual_arch = preset.arch or spec.arch
    arch = settings.arch or usual_arch
    optimisation = preset.schedule(spec.name, arch)
    epochs = optimisation.epochs if settings.epochs is None else settings.epochs
    if epochs < 1:
        raise InputError(f"epochs={epochs} must be at least 1")
    whole, usual = (_scaled(preset, settings.sigma, optimisation, length) for length in (optimisation.epochs, epochs))
    hyper, steps = split_settings(preset.method, settings.set)
    given = {"arch": arch, **hyper, **steps}
    notes = [
        f"{preset.name}: {preset.source}",
        *([] if preset.serves(spec.name) else [f"published for {', '.join(preset.datasets)}, not for {spec.name}"]),
        *_sigma_note(preset, settings.sigma, hyper),
        *_overrides(given, {"arch": usual_arch, **usual}),
        *_epochs_note({key: value for key, value in whole.items() if key not in given}, usual),
    ]
    usual_steps = {field.name: usual.pop(field.name) for field in dataclasses.fields(Optimisation)}
    whole_steps = {field.name for field in dataclasses.fields(Optimisation)}
    methods.METHODS[preset.method].check_epochs(
        epochs, {key: value for key, value in (whole | hyper).items() if key not in whole_steps}, hyper.keys()
    )
    method = methods.create(preset.method, **usual | hyper)
    recipe = Recipe(
        **settings.model_dump(include={"take", "sigma", "precision", "seed", "compile"}),
        dataset=dataset,
        device=device,
        arch=arch,
        method=preset.method,
        hyperparameters=dataclasses.asdict(method),
        preset=preset.name,
        **usual_steps | steps,
    )
    check(recipe)
    return recipe, notes


def check(recipe: Recipe) -> None:
    """Raise InputError for settings that fit no training run."""
    for name in ("epochs", "batch"):
        if (value := getattr(recipe, name)) > MOST:
            raise InputError(f"{name}={value} must be at most {MOST:,}")
    m = recipe.build_method().m
    if recipe.batch < m or recipe.batch % m:
        raise InputError(f"batch={recipe.batch} must be a multiple of m={m}: it holds m noises of batch / m images")
    for name in ("lr", "lr_factor"):
        if not (math.isfinite(value := getattr(recipe, name)) and value > 0):
            raise InputError(f"{name}={value} must be a finite number above 0")
    for name, most in (("momentum", 1.0), ("weight_decay", math.inf)):
        if not 0.0 <= (value := getattr(recipe, name)) < most:
            raise InputError(f"{name}={value} must lie in [0, {most})")
    for name, parts in beginnings(methods.METHODS[recipe.method]):
        begins = recipe.hyperparameters[name]
        what = " and ".join(part for key, part in parts.items() if recipe.hyperparameters.get(key))
        if what and begins >= recipe.epochs:
            raise InputError(
                f"{name}={begins} lies beyond the last of {recipe.epochs} epochs, which count from 0: {what} would "
                f"never begin. Train longer or set a smaller {name} (--set {name}=...)"
            )
    if recipe.seed < 0:
        raise InputError(f"seed={recipe.seed} must be 0 or more")


def split_settings(method: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of `--set` that belong to the method, and those that belong to the optimisation."""
    kind = methods.METHODS[method]
    own = {field.name: field.default for field in dataclasses.fields(kind)}
    steps = {field.name for field in dataclasses.fields(Optimisation)} - {"epochs"}
    for key in settings:
        if key not in own and key not in steps:
            raise unknown(f"setting of {method}", key, {*own, *steps})
    hints = get_type_hints(kind)
    return (
        {key: _typed(key, value, own[key], plain_type(hints[key])) for key, value in settings.items() if key in own},
        {key: _typed_step(key, value) for key, value in settings.items() if key in steps},
    )


def _typed(key: str, value: Any, default: Any, kind: type | None) -> Any:
    """`value` as the type `kind` that the setting is declared with; a whole number will do for a float."""
    if kind is None or (value is None and default is None):
        return value
    if kind is str and value is False and default is not None:
        value = "off"  # the word that YAML reads as false
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        quoted = f": quote it twice, --set '{key}=\"...\"'" if kind is str else ""
        like = quoted if default in (None, dataclasses.MISSING) else f", like {default!r}"
        raise InputError(f"{key}={value!r} must be of type {kind.__name__}{like}")
    return value


def _typed_step(key: str, value: Any) -> Any:
    """`value` as the optimisation wants it; `lr_drops` are rising epochs."""
    if key != "lr_drops":
        default = getattr(CIFAR, key)
        return _typed(key, value, default, type(default))
    drops: list[Any] = list(value) if isinstance(value, list | tuple) else [None]
    if not all(type(drop) is int and drop > 0 for drop in drops) or drops != sorted(set(drops)):
        raise InputError(f"lr_drops={value!r} must be epochs above 0 in rising order, such as [50, 100]")
    return tuple(drops)


def _sigma_note(preset: Preset, sigma: float, given: Mapping[str, Any]) -> list[str]:
    nearest = preset.nearest(sigma)
    wanting = [key for key in preset.by_sigma.get(nearest, {}) if key not in given]
    if nearest == sigma or not wanting:
        return []
    return [f"{preset.name} has no values for sigma={sigma}: {', '.join(wanting)} taken from sigma={nearest}"]


def _epochs_note(whole: Mapping[str, Any], scaled: Mapping[str, Any]) -> list[str]:
    """What a shorter or longer run makes of the `whole` schedule."""
    usual, epochs = whole["epochs"], scaled["epochs"]
    if epochs == usual:
        return []
    moved = [
        f"{key} {_word(value)} -> {_word(scaled[key])}"
        for key, value in whole.items()
        if key != "epochs" and value != scaled[key]
    ]
    verb = "compressed" if epochs < usual else "stretched"
    return [": ".join([f"schedule of {usual} epochs {verb} to {epochs}", *([", ".join(moved)] if moved else [])])]


def _word(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _overrides(given: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
    """What is `given` in place of the preset's other value, on one line."""
    different = [
        f"{key}={value!r}" + ("" if usual.get(key) is None else f" instead of the preset's {usual[key]!r}")
        for key, value in given.items()
        if value != usual.get(key)
    ]
    return ["; ".join(different)] if different else []


def _scaled(preset: Preset, sigma: float, optimisation: Optimisation, epochs: int) -> dict[str, Any]:
    """All settings of method and optimisation in a run of `epochs`."""
    steps = dataclasses.asdict(_scaled_optimisation(optimisation, epochs))
    return steps | _scaled_hyperparameters(preset, sigma, epochs, optimisation.epochs)


def _scaled_optimisation(optimisation: Optimisation, epochs: int) -> Optimisation:
    scaled = {_scale(drop, epochs / optimisation.epochs) for drop in optimisation.lr_drops}
    drops = tuple(sorted(drop for drop in scaled if drop < epochs))  # two drops at one epoch would be a leap
    return dataclasses.replace(optimisation, epochs=epochs, lr_drops=drops)


def _scaled_hyperparameters(preset: Preset, sigma: float, epochs: int, usual: int) -> dict[str, Any]:
    """All hyperparameters, of `preset` or else the method's defaults, in a run of `epochs` in place of the `usual`."""
    factor = epochs / (preset.reference_epochs or usual)
    kind = methods.METHODS[preset.method]
    fields = dataclasses.fields(kind)
    values = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    values |= preset.hyperparameters(sigma)
    first_of_parts = dict(beginnings(kind))
    for name in in_epochs(kind):
        if values.get(name):  # epoch 0 stays the first
            most = epochs - 1 if name in first_of_parts else epochs
            values[name] = min(most, _scale(values[name], factor))
    return values


def _scale(epoch: int, factor: float) -> int:
    return max(1, round(epoch * factor))
