"""Everything that decides the weights of a training run: what a user chose, and what the preset supplies."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, ClassVar, NamedTuple

from pydantic import Field, field_serializer

from randsmooth import methods
from randsmooth.data import DatasetSpec
from randsmooth.documents import shown
from randsmooth.errors import BadValue, check_known
from randsmooth.methods import METHODS, Method
from randsmooth.methods.denoising import OBJECTIVES, SOURCE
from randsmooth.methods.hyperparameters import Noise as WhoseNoise
from randsmooth.methods.hyperparameters import declared
from randsmooth.noise import Noise, noise_from, noise_said
from randsmooth.training.presets import Preset, find
from randsmooth.training.schedule import Optimisation, scaled
from randsmooth.training.settings import (
    DenoiserSettings,
    Reading,
    TrainingPrecision,
    TrainingSettings,
)
from randsmooth.urls import without_credentials

# Settings that change how fast a run is, not what it computes: a resumed run may use others.
HOW = ("device", "compile")
WITHOUT_NOISE = "gaussian"  # the method that can train at sigma 0
DENOISER = "denoised-smoothing"  # the method of every denoiser
EARLIEST_FALL = 2  # epochs before the learning rate falls, or a run learns little
ABSENT = "nothing"  # stands for a setting that one of two recipes does not have


class Change(NamedTuple):
    """A setting in which two recipes differ.

    Example:
        >>> change = Change("lr", 0.1, 0.01)
        >>> str(change), change.after(2)
        ('lr: 0.1 in the file, 0.01 asked for', 'lr changed from 0.1 to 0.01 after 2 epochs')
    """

    setting: str
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.setting}: {shown(repr(self.before))} in the file, {shown(repr(self.now))} asked for"

    def after(self, epochs: int) -> str:
        """How a model's provenance words it."""
        return f"{self.setting} changed from {self.before!r} to {self.now!r} after {epochs} epoch{'s' * (epochs != 1)}"


class Recipe(Optimisation, Reading):
    """Everything that decides the weights, and where to compute them. Every checkpoint and model contains its recipe.

    Example:
        >>> from randsmooth import data, training
        >>> settings = training.TrainingSettings(sigma=0.25, epochs=2)
        >>> recipe, _ = training.resolve("digits", settings, data.describe("digits"))
        >>> [str(change) for change in recipe.changes(recipe.model_copy(update={"seed": 1}).model_dump(mode="json"))]
        ['seed: 1 in the file, 0 asked for']
    """

    optimiser: ClassVar[str] = "sgd"  # or adam

    dataset: str
    take: int | None
    arch: str
    method: str
    hyperparameters: dict[str, Any]
    preset: str
    sigma: float | None
    noise: dict[str, Any] | None = (
        None  # the facts of one that is no Gaussian of one sigma
    )
    precision: TrainingPrecision
    seed: int
    device: str = "auto"
    compile: bool = False
    threads: int | None = (
        None  # of the CPU; with another number, sums are rounded differently
    )
    batch_norm_devices: int | None = (
        None  # that normalise a part of each batch on their own; None: none does
    )
    asked: dict[str, str] = Field(
        default_factory=dict
    )  # hyperparameter -> weights hash of the model it names
    changed: tuple[
        str, ...
    ] = ()  # settings that were changed when the run was resumed, and after which epoch

    @field_serializer("dataset")
    def _dataset_told(self, dataset: str) -> str:
        """A recipe is kept with the model, and tells nobody what gives access to its data."""
        return without_credentials(dataset)

    @cached_property
    def smoothing(self) -> Noise | None:
        """The noise that is trained under; None: none is."""
        return noise_said(self.model_dump(include={"sigma", "noise"}))

    def build_method(self) -> Method:
        return methods.create(self.method, **self.hyperparameters)

    @cached_property
    def images_per_step(self) -> int:
        """B = batch / m."""
        return self.batch // self.build_method().m

    def summary(self) -> str:
        """What is trained and how, in one line for the user, without hyperparameters that are the method's defaults."""
        usual = vars(type(self.build_method()))
        given = ", ".join(
            f"{key}={value}"
            for key, value in self.hyperparameters.items()
            if value != usual.get(key)
        )
        what = f"preset {self.preset}: {self.method}{' with ' * bool(given)}{given}; {self.arch}"
        return f"{what}, {super().summary()}, {self.images_per_step} images per step"

    def folders(self) -> Mapping[str, WhoseNoise | None]:
        """The settings that name folders of other models, and the noise under which these predict, if any."""
        return declared(METHODS[self.method], "model")

    def flat(self) -> dict[str, Any]:
        """What decides the weights, by name on one level, without what is not set."""
        return {
            name: value
            for name, value in _flat(self.model_dump(mode="json")).items()
            if value not in (None, [])
        }

    def changes(self, other: Mapping[str, Any]) -> list[Change]:
        """The settings in which this recipe differs from a dumped one, `other`, so that the weights would differ."""
        if (
            other.get("method") != self.method
        ):  # the other differences follow from this one
            return [Change("method", other.get("method"), self.method)]
        mine, theirs = (
            _flat(settings) for settings in (self.model_dump(mode="json"), other)
        )
        # The paths of other models do not matter: `asked` has the hashes of their weights.
        keys = sorted(
            (mine.keys() | theirs.keys())
            - {*HOW, *self.folders(), "changed", "threads"}
        )
        changed = (
            key for key in keys if mine.get(key) != theirs.get(key)
        )  # an older one lacks settings that are off
        return [
            Change(key, theirs.get(key, ABSENT), mine.get(key, ABSENT))
            for key in changed
        ]


class DenoiserRecipe(Recipe):
    """As `Recipe`, for a denoiser: a `method` with objectives of its own, and Adam.

    Attributes:
        objective: "mse" or "stability".
        classifier: folder of the classifier that it is trained for.
        start: folder of the denoiser that it is trained from.
    """

    optimiser: ClassVar[str] = "adam"

    objective: str
    classifier: str | None = None
    start: str | None = None

    def build_method(self) -> Method:
        return OBJECTIVES[self.objective](**self.hyperparameters)

    def summary(self) -> str:
        """As of a recipe, after the objective and the models that were named."""
        said = {
            "objective": self.objective,
            "classifier": self.classifier,
            "start": self.start,
        }
        return f"{', '.join(f'{name} {value}' for name, value in said.items() if value)}; {super().summary()}"

    def folders(self) -> Mapping[str, WhoseNoise | None]:
        return {"classifier": None, "start": None}


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with the hyperparameters and the weights of other models on the same level, a noise in words."""
    flat = {
        key: value
        for key, value in settings.items()
        if key not in ("hyperparameters", "asked")
    }
    if settings.get("noise"):
        flat["noise"] = noise_from(settings["noise"]).text
    asked = {
        f"weights of {key}": weights[:19]
        for key, weights in settings.get("asked", {}).items()
    }
    return flat | dict(settings.get("hyperparameters", {})) | asked


def resolve(
    dataset: str, settings: TrainingSettings, spec: DatasetSpec, *, device: str = "auto"
) -> tuple[Recipe, list[str]]:
    """The recipe of a run on `dataset`, which `spec` describes, and notes for the user: first the preset's source.

    Settings override the preset. If they ask for fewer or more epochs than the preset, everything that is measured in
    epochs is compressed or stretched accordingly, except what they set explicitly.

    Raises:
        Problem: an unknown or impossible setting.

    Example:
        >>> from randsmooth import data
        >>> settings = TrainingSettings(method="gaussian", sigma=0.25, epochs=2)
        >>> recipe, notes = resolve("digits", settings, data.describe("digits"))
        >>> recipe.method, recipe.sigma, recipe.epochs, recipe.arch
        ('gaussian', 0.25, 2, 'small-cnn')
    """
    preset = find(
        settings.method, spec.name, settings.preset, anywhere=settings.anywhere
    )
    noise = settings.noise and settings.noise.of(spec.shape)
    sigma = (
        preset.usual_sigma()
        if settings.sigma is None and noise is None
        else settings.sigma
    )
    like = (
        preset.middle_sigma() if sigma is None else sigma
    )  # whose hyperparameters are taken
    if sigma == 0.0 and preset.method != WITHOUT_NOISE:
        raise BadValue(
            f"sigma=0 trains without noise, and {preset.method} needs some: take method={WITHOUT_NOISE!r} (--method "
            f"{WITHOUT_NOISE}), or a sigma above 0"
        )
    arch = settings.arch or preset.arch or spec.arch
    schedule = preset.schedule(spec.name, arch)
    usual = schedule.model_dump(mode="json") | _hyperparameters(
        preset, like, schedule.epochs, schedule.epochs
    )
    epochs = settings.epochs or schedule.epochs
    fields = {field.name for field in dataclasses.fields(METHODS[preset.method])}
    check_known(
        f"setting of {preset.method}",
        fields | {*Optimisation.model_fields} - {"epochs"},
        *settings.set,
    )
    own = {key: value for key, value in settings.set.items() if key in fields}
    method = methods.create(
        preset.method, **_hyperparameters(preset, like, epochs, schedule.epochs) | own
    )
    if noise is not None:
        _check_takes(method, preset.method, noise)
    chosen: dict[str, Any] = {
        "dataset": dataset,
        "device": device,
        "arch": arch,
        "sigma": sigma,
        "preset": preset.name,
    }
    chosen |= {
        "noise": noise and noise.facts(),
        "method": preset.method,
        "hyperparameters": dataclasses.asdict(method),
    }
    chosen |= settings.model_dump(
        include={"take", "precision", "seed", "compile", *Reading.model_fields}
    )
    steps = {key: value for key, value in settings.set.items() if key not in fields}
    recipe = Recipe(**chosen, **schedule.stretched(epochs).model_dump() | steps)
    _check(recipe, method.m)
    notes = _notes(
        preset, spec, recipe, {"arch": preset.arch or spec.arch, **usual}, like
    )
    if "lr_milestones" not in settings.set:
        notes += early_fall(
            epochs, lambda epochs: schedule.stretched(epochs).lr_milestones
        )
    named = settings.sigma is not None or noise is not None
    return recipe, [*notes, *([] if named else [f"sigma={sigma:g}, as none was named"])]


def early_fall(epochs: int, milestones: Callable[[int], Sequence[int]]) -> list[str]:
    """A note where the learning rate of a short run falls after its first epoch; none where it falls later, or never.

    Args:
        epochs: of the run.
        milestones: those of the schedule in a run of so many epochs.

    Example:
        >>> usual = Optimisation(epochs=150, lr=0.1, lr_milestones=(50, 100))
        >>> print(*early_fall(3, lambda epochs: usual.stretched(epochs).lr_milestones))
        the learning rate falls after the first of 3 epochs, before the network has learnt much: ...
        >>> early_fall(5, lambda epochs: usual.stretched(epochs).lr_milestones)
        []
    """
    if min(milestones(epochs), default=epochs) >= min(EARLIEST_FALL, epochs):
        return []
    enough = next(
        more
        for more in count(epochs)
        if min(milestones(more), default=0) >= EARLIEST_FALL
    )
    return [
        f"the learning rate falls after the first of {epochs} epochs, before the network has learnt much: "
        f"train for {enough} epochs or more"
    ]


def _check_takes(method: Method, name: str, noise: Noise) -> None:
    """Raise Problem where the formula of `method` is of Gaussian noise alone."""
    if method.gaussian_only:  # of a class whose settings decide it is a property
        others = ", ".join(
            sorted(each for each in METHODS if METHODS[each].gaussian_only is not True)
        )
        with_ = (
            f" with eps={method.eps}"
            if hasattr(method, "eps") and name in others
            else ""
        )
        raise BadValue(
            f"{name}{with_} is for Gaussian noise, --sigma SIGMA; under {noise.text} take one of {others}"
        )


def _hyperparameters(
    preset: Preset, sigma: float, epochs: int, usual: int
) -> dict[str, Any]:
    """All hyperparameters, from `preset` or else the method's defaults, in a run of `epochs`, not `usual`."""
    kind, factor = METHODS[preset.method], epochs / (preset.reference_epochs or usual)
    fields = (
        field
        for field in dataclasses.fields(kind)
        if field.default is not dataclasses.MISSING
    )
    values: dict[str, Any] = {
        field.name: field.default for field in fields
    } | preset.hyperparameters(sigma)
    first_of_parts = declared(kind, "begins")
    for name in declared(kind, "unit"):
        if values.get(name):  # epoch 0 stays the first at any length
            values[name] = min(
                epochs - (name in first_of_parts), scaled(values[name], factor)
            )
    return values


def _check(recipe: Recipe, m: int) -> None:
    """Raise Problem for settings with which no run can be trained."""
    if recipe.batch < m or recipe.batch % m:
        raise BadValue(
            f"batch={recipe.batch} must be a multiple of m={m}: it holds m noises of batch / m images"
        )
    for name, parts in declared(METHODS[recipe.method], "begins").items():
        begins = recipe.hyperparameters[name]
        what = " and ".join(
            part for key, part in parts.items() if recipe.hyperparameters.get(key)
        )
        if what and begins >= recipe.epochs:
            less = f" or set a smaller {name} (--set {name}=...)" * (recipe.epochs > 1)
            raise BadValue(
                f"{name}={begins} lies beyond the last of {recipe.epochs} epochs, which count from 0: {what} would "
                f"never begin. Train longer{less}"
            )


def _notes(
    preset: Preset,
    spec: DatasetSpec,
    recipe: Recipe,
    usual: Mapping[str, Any],
    like: float,
) -> list[str]:
    """The preset's source; where it was not published for this data set or noise; and what is not as in it."""
    notes = [f"{preset.name}: {preset.source}"]
    if not preset.serves(spec.name):
        notes.append(f"published for {', '.join(preset.datasets)}, not for {spec.name}")
    nearest, flat = preset.nearest(like), recipe.flat()
    if nearest != recipe.sigma and (
        values := ", ".join(preset.by_sigma.get(nearest, ()))
    ):
        what = f"sigma={recipe.sigma}" if recipe.noise is None else flat["noise"]
        notes.append(
            f"{preset.name} has no values for {what}: {values} of sigma={nearest}"
        )
    now = {"lr_milestones": []} | flat
    different = ", ".join(
        f"{key} {usual[key]} -> {now.get(key)}"
        for key in usual
        if usual[key] != now.get(key)
    )
    return [*notes, *([f"unlike the preset: {different}"] if different else [])]


def resolve_denoiser(
    dataset: str, settings: DenoiserSettings, spec: DatasetSpec, *, device: str
) -> tuple[DenoiserRecipe, list[str]]:
    """The recipe of a denoiser's run on `dataset`, which `spec` describes, and notes for the user."""
    fixed: dict[str, Any] = {
        "dataset": dataset,
        "device": device,
        "method": DENOISER,
        "preset": SOURCE,
    }
    fixed["hyperparameters"] = dataclasses.asdict(OBJECTIVES[settings.objective]())
    recipe = DenoiserRecipe(
        **settings.model_dump(), **fixed, lr_milestones=_thirds(settings.epochs)
    )
    begun = settings.start is not None  # and has learnt already
    return recipe, [] if begun else early_fall(settings.epochs, _thirds)


def _thirds(epochs: int) -> tuple[int, ...]:
    """A third and two thirds of the run, as in the authors' code: 30 and 60 of 90 epochs."""
    return tuple(sorted({third * epochs // 3 for third in (1, 2)} - {0}))
