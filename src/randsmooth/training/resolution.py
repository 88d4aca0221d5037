"""From the settings that a user chose to the recipe of the run: the preset's values, fitted and overridden."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, get_type_hints

from randsmooth import methods
from randsmooth.data import DatasetSpec
from randsmooth.errors import InputError, unknown
from randsmooth.methods.checks import plain_type
from randsmooth.methods.denoising import OBJECTIVES, SOURCE
from randsmooth.methods.hyperparameters import beginnings, in_epochs
from randsmooth.training.presets import Preset, find
from randsmooth.training.recipe import DENOISER, READING, DenoiserRecipe, Recipe
from randsmooth.training.schedule import Optimisation, scaled
from randsmooth.training.settings import DenoiserSettings, TrainingSettings

WITHOUT_NOISE = "gaussian"  # the method that can train at sigma 0


class _Values(NamedTuple):
    """What a preset gives to a run of a certain length."""

    optimisation: Optimisation
    hyperparameters: dict[str, Any]

    def by_name(self) -> dict[str, Any]:
        return self.optimisation.model_dump() | self.hyperparameters


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
    unsaid = settings.sigma is None
    settings = settings.replace(sigma=preset.usual_sigma()) if unsaid else settings
    if settings.sigma == 0.0 and preset.method != WITHOUT_NOISE:
        raise InputError(
            f"sigma=0 trains without noise, and {preset.method} needs some: take method={WITHOUT_NOISE!r} (--method "
            f"{WITHOUT_NOISE}), or a sigma above 0"
        )
    arch = settings.arch or preset.arch or spec.arch
    schedule, sigma = preset.schedule(spec.name, arch), float(settings.sigma or 0.0)
    usual = _values(preset, sigma, schedule, schedule.epochs)
    fitted = _values(preset, sigma, schedule, settings.epochs or schedule.epochs)
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
        **fitted.optimisation.model_dump() | steps,
    )
    check(recipe)
    overrides = _overrides({"arch": arch, **hyper, **steps}, {"arch": preset.arch or spec.arch, **fitted.by_name()})
    epochs_note = _epochs_note(usual, fitted, {*hyper, *steps})
    sigma_note = [f"sigma={recipe.sigma:g}, as none was named"] * unsaid
    return recipe, [*_preset_notes(preset, spec, recipe.sigma, hyper), *sigma_note, *overrides, *epochs_note]


def check(recipe: Recipe) -> None:
    """Raise InputError for settings with which no run can be trained."""
    m = recipe.build_method().m
    if recipe.batch < m or recipe.batch % m:
        raise InputError(f"batch={recipe.batch} must be a multiple of m={m}: it holds m noises of batch / m images")
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
    steps = {*Optimisation.model_fields} - {"epochs"}
    for key in settings:
        if key not in own and key not in steps:
            raise unknown(f"setting of {method}", key, {*own, *steps})
    hints = get_type_hints(kind)
    of_steps = {key: value for key, value in settings.items() if key not in own}
    checked = Optimisation(epochs=1, **{"lr": 1.0} | of_steps)
    return (
        {key: _typed(key, value, own[key], plain_type(hints[key])) for key, value in settings.items() if key in own},
        {key: getattr(checked, key) for key in of_steps},
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


def _values(preset: Preset, sigma: float, optimisation: Optimisation, epochs: int) -> _Values:
    """What `preset` gives to a run of `epochs`, with its schedule `optimisation` brought to that length."""
    hyperparameters = _scaled_hyperparameters(preset, sigma, epochs, optimisation.epochs)
    return _Values(optimisation.stretched(epochs), hyperparameters)


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
            values[name] = min(most, scaled(values[name], factor))
    return values


def resolve_denoiser(dataset: str, settings: DenoiserSettings, spec: DatasetSpec, *, device: str) -> DenoiserRecipe:
    """The recipe of a denoiser's run on `dataset`, which `spec` describes."""
    method = OBJECTIVES[settings.objective]()
    own = ("take", "sigma", "arch", "epochs", "batch", "lr", "precision", "seed", "compile", "objective", "start")
    return DenoiserRecipe(
        **settings.model_dump(include={*own, "classifier"}),
        lr_gamma=0.1,
        momentum=0.9,
        weight_decay=1e-4,
        dataset=dataset,
        device=device,
        method=DENOISER,
        hyperparameters=dataclasses.asdict(method),
        preset=SOURCE,
        # After a third and two thirds of the run, as in the authors' code: 30 and 60 of 90 epochs.
        lr_milestones=tuple(sorted({epoch for third in (1, 2) if (epoch := third * settings.epochs // 3) > 0})),
    )
