"""A training run's settings: what a user asks for, and the recipe that it resolves to."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from randsmooth import bounds, methods
from randsmooth.data import DatasetSpec
from randsmooth.errors import InputError, unknown
from randsmooth.methods import Method
from randsmooth.training.presets import CIFAR, Optimisation, Preset, find

Precision = Literal["32", "bf16-mixed"]

# Settings that change how fast a run is, not what it computes: a resumed run may have others.
HOW = ("device", "compile")
MOST = 10**6  # epochs, or forward samples a step
PATHS = ("teacher", "p_A_from")  # of other models: where they lie does not matter, `asked` holds their weights

# Hyperparameters that name an epoch -> what begins there, by the hyperparameter that switches it off.
BEGINNINGS = {
    "E_t": {"discard": "discarding", "reweight": "reweighting", "attack": "the attack"},
    "lbd_from": {"lbd": "the robustness term"},
}


class Request(BaseModel):
    """What a user asks for; None means the preset's value. `set` overrides settings of method and optimisation.

    Without a method it is the preset's, and gaussian without a preset either. `anywhere` takes a preset to a data set
    that it was not published for.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    method: str | None = None
    sigma: float
    arch: str | None = None
    preset: str | None = None
    anywhere: bool = False
    epochs: int | None = None
    set: dict[str, Any] = Field(default_factory=dict)
    take: int | None = None
    precision: Precision = "32"
    device: str = "auto"
    compile: bool = False
    seed: int = 0


class Recipe(BaseModel):
    """Everything that decides the weights, and where to compute them: kept in every checkpoint and model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    take: int | None
    arch: str
    method: str
    hyperparameters: dict[str, Any]
    preset: str
    sigma: float
    epochs: int
    batch: int
    lr: float
    lr_drops: tuple[int, ...]
    lr_factor: float
    momentum: float
    weight_decay: float
    precision: Precision
    seed: int
    device: str = "auto"
    compile: bool = False
    asked: dict[str, str] = Field(default_factory=dict)  # hyperparameter -> weights hash of the model it names
    changed: tuple[str, ...] = ()  # what a resumed run was told to change, and when

    def build_method(self) -> Method:
        return methods.create(self.method, **self.hyperparameters)

    @cached_property
    def images_a_step(self) -> int:
        """B = batch / m."""
        return self.batch // self.build_method().m

    def lr_at(self, epoch: int) -> float:
        """Learning rate of `epoch` (from 0)."""
        return self.lr * self.lr_factor ** sum(epoch >= drop for drop in self.lr_drops)

    def told(self) -> str:
        """What is trained and how, for a person: the first line of a run."""
        given = ", ".join(f"{key}={value}" for key, value in self.hyperparameters.items() if value is not None)
        schedule = Optimisation(**{field.name: getattr(self, field.name) for field in dataclasses.fields(Optimisation)})
        step = f"{self.images_a_step} images a step"
        return f"preset {self.preset}: {self.method} with {given}; {self.arch}, {schedule.told()}, {step}"

    def differences(self, other: Mapping[str, Any]) -> list[str]:
        """The settings in which a recipe, dumped as `other`, would compute other weights."""
        if other.get("method") != self.method:  # all else follows from it
            return [f"method: {other.get('method')!r} there, {self.method!r} now"]
        mine, theirs = (_flat(settings) for settings in (self.model_dump(mode="json"), other))
        keys = sorted((mine.keys() | theirs.keys()) - {*HOW, *PATHS, "changed"})
        absent = "nothing"
        return [
            f"{key}: {theirs.get(key, absent)!r} there, {mine.get(key, absent)!r} now"
            for key in keys
            if mine.get(key, absent) != theirs.get(key, absent)
        ]


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the hyperparameters and the weights of other models among them."""
    flat = {key: value for key, value in settings.items() if key not in ("hyperparameters", "asked")}
    asked = {f"weights of {key}": weights[:19] for key, weights in settings.get("asked", {}).items()}
    return flat | dict(settings.get("hyperparameters", {})) | asked


def resolve(request: Request, spec: DatasetSpec) -> tuple[Recipe, list[str]]:
    """The recipe for `request` on the data set `spec`, and what to tell the user about it: first the preset's source.

    Settings override the preset. Asking for fewer or more epochs than the preset compresses or stretches
    all that is measured in epochs with it, but for what is set explicitly.

    Raises:
        InputError: an unknown or impossible setting.
    """
    bounds.check_sigma(request.sigma)
    if request.method is not None:
        methods.METHODS[request.method]
    preset = find(request.method, spec.name, request.preset, anywhere=request.anywhere)
    usual_arch = preset.arch or spec.arch
    arch = request.arch or usual_arch
    optimisation = preset.schedule(spec.name, arch)
    epochs = optimisation.epochs if request.epochs is None else request.epochs
    if epochs < 1:
        raise InputError(f"epochs={epochs} must be at least 1")
    whole, usual = (_scaled(preset, request.sigma, optimisation, length) for length in (optimisation.epochs, epochs))
    hyper, steps = split_settings(preset.method, request.set)
    given = {"arch": arch, **hyper, **steps}
    notes = [
        f"{preset.name}: {preset.source}",
        *([] if preset.serves(spec.name) else [f"published for {', '.join(preset.datasets)}, not for {spec.name}"]),
        *_sigma_note(preset, request.sigma, hyper),
        *_overrides(given, {"arch": usual_arch, **usual}),
        *_epochs_note({key: value for key, value in whole.items() if key not in given}, usual),
    ]
    usual_steps = {field.name: usual.pop(field.name) for field in dataclasses.fields(Optimisation)}
    if epochs == 1 and whole.get("E_t"):
        _check_room({**usual, **hyper}, hyper)
    method = methods.create(preset.method, **usual | hyper)
    recipe = Recipe(
        **request.model_dump(include={"dataset", "take", "sigma", "precision", "seed", "device", "compile"}),
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
    for name, parts in BEGINNINGS.items():
        begins = recipe.hyperparameters.get(name, 0)
        what = " and ".join(part for key, part in parts.items() if recipe.hyperparameters.get(key))
        if what and begins >= recipe.epochs:
            raise InputError(
                f"{name}={begins} lies beyond the last of {recipe.epochs} epochs, which count from 0: {what} would "
                f"never begin. Train longer or set a smaller {name} (--set {name}=...)"
            )
    if recipe.seed < 0:
        raise InputError(f"seed={recipe.seed} must be 0 or more")


def _check_room(values: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise InputError where a single epoch leaves amplify none to train in before it discards."""
    if values["discard"] and values["p_A_from"] is None and "E_t" not in given:
        raise InputError(
            "amplify needs at least 2 epochs, not 1: it trains first, and then discards images by what it has learnt. "
            "Take --epochs 2 or more, or switch that part off: --set discard=false"
        )


def split_settings(method: str, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """`--set` values that belong to the method, and those that belong to the optimisation."""
    own = {field.name: field for field in dataclasses.fields(methods.METHODS[method])}
    steps = {field.name for field in dataclasses.fields(Optimisation)} - {"epochs"}
    for key in settings:
        if key not in own and key not in steps:
            raise unknown(f"setting of {method}", key, {*own, *steps})
    return (
        {key: _typed(key, value, own[key].default) for key, value in settings.items() if key in own},
        {key: _typed_step(key, value) for key, value in settings.items() if key in steps},
    )


def _typed(key: str, value: Any, default: Any) -> Any:
    """`value` as the type that the hyperparameter's default has; a whole number may stand for a float."""
    if default is None:  # only names of folders default to nothing
        if value is None:
            return None
        default = ""
    elif isinstance(default, str) and value is False:
        value = "off"  # the word that YAML reads as false
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        like = f", like {default!r}" if default != "" else f": quote it twice, --set '{key}=\"...\"'"
        raise InputError(f"{key}={value!r} must be of type {type(default).__name__}{like}")
    return value


def _typed_step(key: str, value: Any) -> Any:
    """`value` as the optimisation wants it; `lr_drops` are rising epochs."""
    if key != "lr_drops":
        return _typed(key, value, getattr(CIFAR, key))
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
    fields = dataclasses.fields(methods.METHODS[preset.method])
    values = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    values |= preset.hyperparameters(sigma)
    for field in fields:
        if field.metadata.get("unit") == "epochs" and values.get(field.name):  # epoch 0 stays the first
            most = epochs - 1 if field.name in BEGINNINGS else epochs
            values[field.name] = min(most, _scale(values[field.name], factor))
    return values


def _scale(epoch: int, factor: float) -> int:
    return max(1, round(epoch * factor))
