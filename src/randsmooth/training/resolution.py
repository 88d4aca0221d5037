"""From the settings that a user chose to the recipe of the run: the preset's values, fitted and overridden."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, get_type_hints

from randsmooth import methods
from randsmooth.data import DatasetSpec
from randsmooth.errors import InputError, unknown
from randsmooth.methods.checks import plain_type
from randsmooth.methods.hyperparameters import beginnings, in_epochs
from randsmooth.training.presets import CIFAR, Optimisation, Preset, find
from randsmooth.training.recipe import READING, Recipe
from randsmooth.training.settings import TrainingSettings

MOST = 10**6  # epochs, or noisy samples per step
WITHOUT_NOISE = "gaussian"  # the method that can train at sigma 0


class _Values(NamedTuple):
    """What a preset gives to a run of a certain length."""

    optimisation: Optimisation
    hyperparameters: dict[str, Any]

    def by_name(self) -> dict[str, Any]:
        return dataclasses.asdict(self.optimisation) | self.hyperparameters


def resolve(
    dataset: str, settings: TrainingSettings, spec: DatasetSpec, *, device: str = "auto"
) -> tuple[Recipe, list[str]]:
    """The recipe of a run on `dataset`, which `spec` describes, and notes for the user: first the preset's source.

    Settings override the preset. If they ask for fewer or more epochs than the preset, everything that is measured in
    epochs is compressed or stretched accordingly, except what they set explicitly.

    Raises:
        InputError: an unknown or impossible setting.

    Example:
        >>> from randsmooth import data
        >>> settings = TrainingSettings(method="gaussian", sigma=0.25, epochs=2)
        >>> recipe, notes = resolve("digits", settings, data.describe("digits"))
        >>> recipe.method, recipe.sigma, recipe.epochs, recipe.arch
        ('gaussian', 0.25, 2, 'small-cnn')
    """
    preset = find(settings.method, spec.name, settings.preset, anywhere=settings.anywhere)
    if settings.sigma == 0.0 and preset.method != WITHOUT_NOISE:
        raise InputError(
            f"sigma=0 trains without noise, and {preset.method} needs some: take method={WITHOUT_NOISE!r} (--method "
            f"{WITHOUT_NOISE}), or a sigma above 0"
        )
    arch = settings.arch or preset.arch or spec.arch
    usual, fitted = _usual_and_fitted(preset, settings, preset.schedule(spec.name, arch))
    hyper, steps = split_settings(preset.method, settings.set)
    epochs = fitted.optimisation.epochs
    methods.METHODS[preset.method].check_epochs(epochs, usual.hyperparameters | hyper, hyper.keys())
    method = methods.create(preset.method, **fitted.hyperparameters | hyper)
    recipe = Recipe(
        **settings.model_dump(include={"take", "sigma", "precision", "seed", "compile", *READING}),
        dataset=dataset,
        device=device,
        arch=arch,
        method=preset.method,
        hyperparameters=dataclasses.asdict(method),
        preset=preset.name,
        **dataclasses.asdict(fitted.optimisation) | steps,
    )
    check(recipe)
    overrides = _overrides({"arch": arch, **hyper, **steps}, {"arch": preset.arch or spec.arch, **fitted.by_name()})
    epochs_note = _epochs_note(usual, fitted, {*hyper, *steps})
    return recipe, [*_preset_notes(preset, spec, settings.sigma, hyper), *overrides, *epochs_note]


def check(recipe: Recipe) -> None:
    """Raise InputError for settings with which no run can be trained."""
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
    _check_beginnings(recipe)


def _check_beginnings(recipe: Recipe) -> None:
    """Raise InputError if a part of the method would begin only after the last epoch."""
    for name, parts in beginnings(methods.METHODS[recipe.method]):
        begins = recipe.hyperparameters[name]
        what = " and ".join(part for key, part in parts.items() if recipe.hyperparameters.get(key))
        if what and begins >= recipe.epochs:
            raise InputError(
                f"{name}={begins} lies beyond the last of {recipe.epochs} epochs, which count from 0: {what} would "
                f"never begin. Train longer or set a smaller {name} (--set {name}=...)"
            )


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
    """`value` as the type `kind` that the setting is declared with; a whole number is accepted for a float."""
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
    """`value` as the type of this setting of the optimisation; `lr_drops` must be epochs in rising order."""
    if key != "lr_drops":
        default = getattr(CIFAR, key)
        return _typed(key, value, default, type(default))
    drops: list[Any] = list(value) if isinstance(value, list | tuple) else [None]
    if not all(type(drop) is int and drop > 0 for drop in drops) or drops != sorted(set(drops)):
        raise InputError(f"lr_drops={value!r} must be epochs above 0 in rising order, such as [50, 100]")
    return tuple(drops)


def _preset_notes(preset: Preset, spec: DatasetSpec, sigma: float, hyper: Mapping[str, Any]) -> list[str]:
    """The preset's source, and where it was not published for this data set or sigma."""
    notes = [f"{preset.name}: {preset.source}"]
    if not preset.serves(spec.name):
        notes.append(f"published for {', '.join(preset.datasets)}, not for {spec.name}")
    return notes + _sigma_note(preset, sigma, hyper)


def _sigma_note(preset: Preset, sigma: float, given: Mapping[str, Any]) -> list[str]:
    nearest = preset.nearest(sigma)
    wanting = [key for key in preset.by_sigma.get(nearest, {}) if key not in given]
    if nearest == sigma or not wanting:
        return []
    return [f"{preset.name} has no values for sigma={sigma}: {', '.join(wanting)} taken from sigma={nearest}"]


def _epochs_note(usual: _Values, fitted: _Values, chosen: Collection[str]) -> list[str]:
    """What a shorter or longer run than usual makes of the schedule; values that the user chose are not fitted."""
    before, after = usual.optimisation.epochs, fitted.optimisation.epochs
    if before == after:
        return []
    values = fitted.by_name()
    moved = [
        f"{key} {_word(value)} -> {_word(values[key])}"
        for key, value in usual.by_name().items()
        if key not in {"epochs", *chosen} and value != values[key]
    ]
    verb = "compressed" if after < before else "stretched"
    return [": ".join([f"schedule of {before} epochs {verb} to {after}", *([", ".join(moved)] if moved else [])])]


def _word(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _overrides(given: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
    """The values that were `given` and differ from the preset's `usual` ones, on one line."""
    different = [
        f"{key}={value!r}" + ("" if usual.get(key) is None else f" instead of the preset's {usual[key]!r}")
        for key, value in given.items()
        if value != usual.get(key)
    ]
    return ["; ".join(different)] if different else []


def _usual_and_fitted(
    preset: Preset, settings: TrainingSettings, optimisation: Optimisation
) -> tuple[_Values, _Values]:
    """What `preset` gives to a run as long as its schedule `optimisation`, and to one as long as `settings` ask for."""
    usual = optimisation.epochs
    epochs = usual if settings.epochs is None else settings.epochs
    of_usual, of_fitted = (
        _Values(
            _scaled_optimisation(optimisation, length), _scaled_hyperparameters(preset, settings.sigma, length, usual)
        )
        for length in (usual, epochs)
    )
    return of_usual, of_fitted


def _scaled_optimisation(optimisation: Optimisation, epochs: int) -> Optimisation:
    scaled = {_scale(drop, epochs / optimisation.epochs) for drop in optimisation.lr_drops}
    # `scaled` is a set, since two drops at one epoch would divide the learning rate twice.
    drops = tuple(sorted(drop for drop in scaled if drop < epochs))
    return dataclasses.replace(optimisation, epochs=epochs, lr_drops=drops)


def _scaled_hyperparameters(preset: Preset, sigma: float, epochs: int, usual: int) -> dict[str, Any]:
    """All hyperparameters, from `preset` or else the method's defaults, in a run of `epochs`, not `usual`."""
    factor = epochs / (preset.reference_epochs or usual)
    kind = methods.METHODS[preset.method]
    fields = dataclasses.fields(kind)
    values = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    values |= preset.hyperparameters(sigma)
    first_of_parts = dict(beginnings(kind))
    for name in in_epochs(kind):
        if values.get(name):  # epoch 0 stays the first at any length
            most = epochs - 1 if name in first_of_parts else epochs
            values[name] = min(most, _scale(values[name], factor))
    return values


def _scale(epoch: int, factor: float) -> int:
    return max(1, round(epoch * factor))
