"""Everything that decides the weights of a run: a user's choices, and the preset's."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, PlainValidator, field_serializer

from randsmooth import methods
from randsmooth.data import DatasetSpec
from randsmooth.documents import shown
from randsmooth.errors import BadValue, check_known
from randsmooth.methods import METHODS, Method
from randsmooth.methods.denoising import OBJECTIVES, SOURCE
from randsmooth.methods.hyperparameters import OtherModelNoise, declared
from randsmooth.noise import (
    Gaussian,
    Noise,
    UnderNoise,
    noise_from,
    recorded_noise,
    sigma_of,
)
from randsmooth.noise.spelling import AsFacts
from randsmooth.notes import Note
from randsmooth.training.presets import Preset, find
from randsmooth.training.schedule import Optimisation, counted_epochs, scaled
from randsmooth.training.settings import (
    DenoiserSettings,
    Reading,
    TrainingPrecision,
    TrainingSettings,
)
from randsmooth.urls import without_credentials

# Settings that change how fast a run is, not what it computes: a resumed run may use
# others.
SPEED_SETTINGS = ("device", "compile")
# The method that can train at sigma 0.
WITHOUT_NOISE = "gaussian"
# The method of every denoiser.
DENOISER = "denoised-smoothing"
# A run learns little whose learning rate falls before so many epochs.
EPOCHS_BEFORE_FALL = 2
# What a recipe takes over from the settings as it is.
PASSED_ON = {"take", "precision", "seed", "compile", *Reading.model_fields}
# Stands for a setting that one of two recipes does not have.
ABSENT = "nothing"
# Characters of a hash of weights that a change of recipe shows: "sha256 " and 12
# digits.
SHOWN_HASH = 19


class Change(NamedTuple):
    """A setting in which two recipes differ.

    Example:
        >>> change = Change("lr", 0.1, 0.01)
        >>> str(change)
        'lr: 0.1 in the file, 0.01 asked for'
        >>> change.after(2)
        'lr changed from 0.1 to 0.01 after 2 epochs'
    """

    setting: str
    before: Any
    now: Any

    def __str__(self) -> str:
        before = shown(repr(self.before))
        now = shown(repr(self.now))
        return f"{self.setting}: {before} in the file, {now} asked for"

    def after(self, epochs: int) -> str:
        """Return the change as a model's provenance words it."""
        change = f"{self.setting} changed from {self.before!r} to {self.now!r}"
        return f"{change} after {counted_epochs(epochs)}"


def _noise_of_recipe(value: object) -> Noise | None:
    """Return the noise itself, or the one whose facts a file has."""
    if value is None or isinstance(value, Noise):
        return value
    return recorded_noise({"noise": value})


class Recipe(Optimisation, Reading, UnderNoise):
    """Everything that decides the weights, and where to compute them.

    Every checkpoint and model contains its recipe.

    Example:
        >>> from randsmooth import data, training
        >>> settings = training.TrainingSettings(sigma=0.25, epochs=2)
        >>> recipe, _ = training.resolve("digits", settings, data.describe("digits"))
        >>> other = recipe.model_copy(update={"seed": 1})
        >>> [str(change) for change in recipe.changes(other.model_dump(mode="json"))]
        ['seed: 1 in the file, 0 asked for']
    """

    # The other optimiser is "adam".
    optimiser: ClassVar[str] = "sgd"

    dataset: str
    take: int | None
    arch: str
    method: str
    hyperparameters: dict[str, Any]
    preset: str
    # None: the images are trained on as they are.
    noise: Annotated[Noise | None, PlainValidator(_noise_of_recipe), AsFacts]
    precision: TrainingPrecision
    seed: int
    device: str = "auto"
    compile: bool = False
    # Threads of the CPU; with another number, sums are rounded differently.
    threads: int | None = None
    # So many devices normalise a part of each batch on their own; None: none does.
    batch_norm_devices: int | None = None
    # Hyperparameter -> weights hash of the model that it names.
    asked: dict[str, str] = Field(default_factory=dict)
    # Settings that were changed when the run was resumed, and after which epoch.
    changed: tuple[str, ...] = ()

    @field_serializer("dataset")
    def _without_credentials(self, dataset: str) -> str:
        """Return the data set as it may be published with the model."""
        return without_credentials(dataset)

    @property
    def sigma(self) -> float | None:
        """The sigma of Gaussian noise, 0 where there is no noise; None under another noise."""
        return 0.0 if self.noise is None else sigma_of(self.noise)

    @classmethod
    def _noise_named(cls, sigma: Any, noise: Any) -> object:
        """As files have it: sigma 0 stands for no noise."""
        return recorded_noise({"sigma": sigma, "noise": noise})

    def _spelled_noise(self) -> dict[str, Any]:
        entries: dict[str, Any] = {"sigma": self.sigma, "noise": None}
        if self.noise is not None and self.sigma is None:
            entries["noise"] = self.noise.facts()
        return entries

    def build_method(self) -> Method:
        """Return the method with the hyperparameters."""
        return methods.create(self.method, **self.hyperparameters)

    @cached_property
    def images_per_step(self) -> int:
        """Count the images of a step, B = batch / m."""
        return self.batch // self.build_method().m

    def summary(self) -> str:
        """Return one line for the user on the training.

        Hyperparameters that are the method's defaults are left out.
        """
        fields = dataclasses.fields(self.build_method())
        defaults = {field.name: field.default for field in fields}
        changed = [
            f"{name}={value}"
            for name, value in self.hyperparameters.items()
            if value != defaults.get(name)
        ]
        method = self.method
        if changed:
            method += f" with {', '.join(changed)}"
        steps = f"{super().summary()}, {self.images_per_step} images per step"
        return f"preset {self.preset}: {method}; {self.arch}, {steps}"

    def folders(self) -> Mapping[str, OtherModelNoise | None]:
        """Return the settings that name folders of models.

        Each is mapped to the noise under which its model predicts; None: under none.
        """
        return declared(METHODS[self.method], "model")

    def flat(self) -> dict[str, Any]:
        """Return what decides the weights and is set, by name on one level."""
        flat = _flat(self.model_dump(mode="json"))
        return {name: value for name, value in flat.items() if value not in (None, [])}

    def changes(self, other: Mapping[str, Any]) -> list[Change]:
        """Return the differences from a dumped recipe that make the weights differ."""
        if other.get("method") != self.method:
            # The other differences follow from this one.
            return [Change("method", other.get("method"), self.method)]
        now = _flat(self.model_dump(mode="json"))
        before = _flat(other)
        # The paths of other models do not matter: `asked` has the hashes of their
        # weights.
        immaterial = {*SPEED_SETTINGS, *self.folders(), "changed", "threads"}
        changes = []
        for name in sorted((now.keys() | before.keys()) - immaterial):
            # An older recipe lacks settings that are off, which are None.
            if now.get(name) != before.get(name):
                change = Change(name, before.get(name, ABSENT), now.get(name, ABSENT))
                changes.append(change)
        return changes


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
        """Return the summary of a recipe, after the objective and the models named."""
        parts = [f"objective {self.objective}"]
        if self.classifier:
            parts.append(f"classifier {self.classifier}")
        if self.start:
            parts.append(f"start {self.start}")
        return f"{', '.join(parts)}; {super().summary()}"

    def folders(self) -> Mapping[str, OtherModelNoise | None]:
        return {"classifier": None, "start": None}


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a dumped recipe on one level, with its noise in words."""
    flat = dict(settings)
    hyperparameters = flat.pop("hyperparameters", {})
    asked = flat.pop("asked", {})
    if settings.get("noise"):
        flat["noise"] = noise_from(settings["noise"]).text
    flat.update(hyperparameters)
    for key, weights in asked.items():
        flat[f"weights of {key}"] = weights[:SHOWN_HASH]
    return flat


def resolve(
    dataset: str, settings: TrainingSettings, spec: DatasetSpec, *, device: str = "auto"
) -> tuple[Recipe, list[Note]]:
    """Resolve what a user chose into a recipe.

    Settings override the preset. If they ask for fewer or more epochs than the preset,
    everything that is measured in epochs is compressed or stretched accordingly, except
    what they set explicitly.

    Args:
        dataset: name or path of what is trained on.
        settings: the choices of the user.
        spec: the facts about the data set.
        device: where to train.

    Returns:
        The recipe, and notes on it for the user, the preset's source first.

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
    noise = _resolved_noise(settings, preset, spec)
    published_sigma = _published_sigma(preset, noise)

    usual_arch = preset.arch or spec.arch
    arch = settings.arch or usual_arch
    schedule = preset.schedule(spec.name, arch)
    epochs = settings.epochs or schedule.epochs
    own_hyperparameters, own_optimisation = _split_by_owner(settings.set, preset.method)
    hyperparameters = _hyperparameters(preset, published_sigma, epochs, schedule.epochs)
    hyperparameters.update(own_hyperparameters)
    method = methods.create(preset.method, **hyperparameters)
    if noise is not None and not isinstance(noise, Gaussian):
        _check_takes(method, preset.method, noise)

    optimisation = schedule.stretched(epochs).model_dump()
    optimisation.update(own_optimisation)
    recipe = Recipe(
        dataset=dataset,
        device=device,
        arch=arch,
        noise=noise,
        preset=preset.name,
        method=preset.method,
        hyperparameters=dataclasses.asdict(method),
        **settings.model_dump(include=PASSED_ON),
        **optimisation,
    )
    _check(recipe, method.m)

    published = {
        "arch": usual_arch,
        **schedule.model_dump(mode="json"),
        **_hyperparameters(preset, published_sigma, schedule.epochs, schedule.epochs),
    }
    notes = _notes(preset, spec, recipe, published, published_sigma)
    if "lr_milestones" not in settings.set:
        notes += early_fall(
            epochs, lambda epochs: schedule.stretched(epochs).lr_milestones
        )
    if settings.noise is None:
        notes.append(Note("usual_sigma", sigma=recipe.sigma))
    return recipe, notes


def _resolved_noise(
    settings: TrainingSettings, preset: Preset, spec: DatasetSpec
) -> Noise | None:
    """Return the noise of a run: the preset's where none is named; None: there is none.

    Raises:
        Problem: the preset names none, it is not for these images, or the method needs
            some and there is to be none.
    """
    if settings.noise is None:
        return Gaussian(preset.usual_sigma())
    if isinstance(settings.noise, Noise):
        return settings.noise.of(spec.shape)
    if preset.method != WITHOUT_NOISE:
        raise BadValue(
            f"sigma=0 trains without noise, and {preset.method} needs some: take "
            f"method={WITHOUT_NOISE!r}, or a sigma above 0",
            field="sigma",
            value=0,
        )
    return None


def _published_sigma(preset: Preset, noise: Noise | None) -> float:
    """Return the sigma whose published hyperparameters are taken under `noise`."""
    if noise is None:
        return 0.0
    return noise.sigma if isinstance(noise, Gaussian) else preset.middle_sigma()


def _split_by_owner(
    overrides: Mapping[str, Any], method: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split what `set` overrides into hyperparameters of `method` and of the optimiser.

    Raises:
        Problem: a setting is of neither.
    """
    of_method = {field.name for field in dataclasses.fields(METHODS[method])}
    of_optimiser = set(Optimisation.model_fields) - {"epochs"}
    check_known(f"setting of {method}", of_method | of_optimiser, *overrides)
    hyperparameters = {}
    optimisation = {}
    for name, value in overrides.items():
        if name in of_method:
            hyperparameters[name] = value
        else:
            optimisation[name] = value
    return hyperparameters, optimisation


def early_fall(epochs: int, milestones: Callable[[int], Sequence[int]]) -> list[Note]:
    """Return a note where the learning rate of a short run falls after its first epoch.

    Where it falls later, or never, there is none.

    Args:
        epochs: the number of epochs of the run.
        milestones: the milestones of the schedule in a run of so many epochs.

    Example:
        >>> usual = Optimisation(epochs=150, lr=0.1, lr_milestones=(50, 100))
        >>> print(*early_fall(3, lambda epochs: usual.stretched(epochs).lr_milestones))
        the learning rate falls after the first of 3 epochs, before the network has ...
        >>> early_fall(5, lambda epochs: usual.stretched(epochs).lr_milestones)
        []
    """
    first_fall = min(milestones(epochs), default=epochs)
    if first_fall >= min(EPOCHS_BEFORE_FALL, epochs):
        return []
    enough = epochs
    while min(milestones(enough), default=0) < EPOCHS_BEFORE_FALL:
        enough += 1
    return [Note("early_fall", epochs=epochs, enough=enough)]


def _check_takes(method: Method, name: str, noise: Noise) -> None:
    """Raise Problem where the formula of `method` is of Gaussian noise alone."""
    # Of a class whose settings decide it, `gaussian_only` is a property.
    if not method.gaussian_only:
        return
    others = [other for other in METHODS if METHODS[other].gaussian_only is not True]
    which = name
    if hasattr(method, "eps") and name in others:
        which = f"{name} with eps={method.eps}"
    raise BadValue(
        f"{which} is for Gaussian noise, a sigma; under {noise.text} take one of "
        f"{', '.join(sorted(others))}",
        field="method",
        value=name,
    )


def _hyperparameters(
    preset: Preset, sigma: float, epochs: int, usual_epochs: int
) -> dict[str, Any]:
    """Return all hyperparameters of a run of `epochs`, not `usual_epochs`.

    They are those of `preset`, or else the method's defaults.
    """
    kind = METHODS[preset.method]
    values: dict[str, Any] = {
        field.name: field.default
        for field in dataclasses.fields(kind)
        if field.default is not dataclasses.MISSING
    }
    values.update(preset.hyperparameters(sigma))
    factor = epochs / (preset.reference_epochs or usual_epochs)
    begin_parts = declared(kind, "begins")
    for name in declared(kind, "unit"):
        # Epoch 0 stays the first at any length.
        if values.get(name):
            # An epoch at which a part begins must lie in the run.
            largest = epochs - 1 if name in begin_parts else epochs
            values[name] = min(largest, scaled(values[name], factor))
    return values


def _check(recipe: Recipe, m: int) -> None:
    """Raise Problem for settings with which no run can be trained."""
    if recipe.batch < m or recipe.batch % m:
        raise BadValue(
            field="batch",
            value=recipe.batch,
            expected=(
                f"must be a multiple of m={m}: it holds m noises of batch / m images"
            ),
        )
    for name, parts in declared(METHODS[recipe.method], "begins").items():
        begins = recipe.hyperparameters[name]
        waiting = [
            part for key, part in parts.items() if recipe.hyperparameters.get(key)
        ]
        if waiting and begins >= recipe.epochs:
            way_out = "Train longer"
            if recipe.epochs > 1:
                way_out += f" or set a smaller {name}"
            raise BadValue(
                f"{name}={begins} lies beyond the last of {recipe.epochs} epochs, "
                f"which count from 0: {' and '.join(waiting)} would never begin. "
                f"{way_out}",
                field=name,
                value=begins,
            )


def _notes(
    preset: Preset,
    spec: DatasetSpec,
    recipe: Recipe,
    published: Mapping[str, Any],
    published_sigma: float,
) -> list[Note]:
    """Return notes on a recipe for the user.

    They tell the preset's source, where it was not published for this data set or
    noise, and which values are not the `published` ones.
    """
    notes = [Note("preset", name=preset.name, source=preset.source)]
    if not preset.serves(spec.name):
        datasets = ", ".join(preset.datasets)
        notes.append(Note("published_for_others", datasets=datasets, dataset=spec.name))

    flat = recipe.flat()
    nearest = preset.nearest(published_sigma)
    from_nearest = ", ".join(preset.by_sigma.get(nearest, ()))
    if nearest != recipe.sigma and from_nearest:
        wanted = flat.get("noise", f"sigma={recipe.sigma}")
        notes.append(
            Note(
                "values_of_nearest_sigma",
                preset=preset.name,
                wanted=wanted,
                values=from_nearest,
                nearest=nearest,
            )
        )

    # `flat` lacks milestones where there are none.
    values = {"lr_milestones": [], **flat}
    changes = {
        name: (published[name], values.get(name))
        for name in published
        if published[name] != values.get(name)
    }
    if changes:
        notes.append(Note("unlike_preset", changes=changes))
    return notes


def resolve_denoiser(
    dataset: str, settings: DenoiserSettings, spec: DatasetSpec, *, device: str
) -> tuple[DenoiserRecipe, list[Note]]:
    """Resolve what a user chose into a denoiser's recipe, with notes as `resolve`."""
    recipe = DenoiserRecipe(
        dataset=dataset,
        device=device,
        method=DENOISER,
        preset=SOURCE,
        hyperparameters=dataclasses.asdict(OBJECTIVES[settings.objective]()),
        lr_milestones=_thirds(settings.epochs),
        **settings.model_dump(),
    )
    if settings.start is not None:
        # It has learnt already.
        return recipe, []
    return recipe, early_fall(settings.epochs, _thirds)


def _thirds(epochs: int) -> tuple[int, ...]:
    """Return the epochs after a third and two thirds of the run, but not epoch 0.

    They are 30 and 60 of 90 epochs, as in the authors' code.
    """
    thirds = {epochs // 3, 2 * epochs // 3}
    return tuple(sorted(thirds - {0}))
