"""Everything that decides the weights of a training run, of a classifier or a denoiser."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from randsmooth import methods
from randsmooth.methods import Method
from randsmooth.methods.denoising import OBJECTIVES
from randsmooth.methods.hyperparameters import Noise, model_folders
from randsmooth.training.schedule import Optimisation
from randsmooth.training.settings import TrainingPrecision

# Settings that change how fast a run is, not what it computes: a resumed run may use others.
HOW = ("device", "compile")
READING = ("image_column", "label_column", "resize", "crop")  # arguments of `data.load`


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
        return f"{self.setting}: {self.before!r} in the file, {self.now!r} asked for"

    def after(self, epochs: int) -> str:
        """How a model's provenance words it."""
        return f"{self.setting} changed from {self.before!r} to {self.now!r} after {epochs} epoch{'s' * (epochs != 1)}"


class Recipe(Optimisation):
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
    image_column: str | None = None
    label_column: str | None = None
    resize: str | None = None
    crop: str | None = None
    take: int | None
    arch: str
    method: str
    hyperparameters: dict[str, Any]
    preset: str
    sigma: float
    precision: TrainingPrecision
    seed: int
    device: str = "auto"
    compile: bool = False
    threads: int | None = (
        None  # of the CPU; a resumed run uses as many, since with another number sums are rounded differently
    )
    batch_norm_devices: int | None = None  # that normalise a part of each batch on their own; None: none does
    asked: dict[str, str] = Field(default_factory=dict)  # hyperparameter -> weights hash of the model it names
    changed: tuple[str, ...] = ()  # settings that were changed when the run was resumed, and after which epoch

    @property
    def reading(self) -> dict[str, Any]:
        """How the images are read: arguments of `data.load` and `data.describe`."""
        return {name: getattr(self, name) for name in READING}

    def build_method(self) -> Method:
        return methods.create(self.method, **self.hyperparameters)

    @cached_property
    def images_per_step(self) -> int:
        """B = batch / m."""
        return self.batch // self.build_method().m

    def summary(self) -> str:
        """What is trained and how, in one line for the user."""
        given = ", ".join(f"{key}={value}" for key, value in self.hyperparameters.items() if value is not None)
        what = f"preset {self.preset}: {self.method} with {given}; {self.arch}"
        return f"{what}, {super().summary()}, {self.images_per_step} images per step"

    def folders(self) -> Mapping[str, Noise | None]:
        """The settings that name folders of other models, and the noise under which these predict, if any."""
        return model_folders(methods.METHODS[self.method])

    def flat(self) -> dict[str, Any]:
        """What decides the weights, by name on one level, without what is not set."""
        return {name: value for name, value in _flat(self.model_dump(mode="json")).items() if value not in (None, [])}

    def changes(self, other: Mapping[str, Any]) -> list[Change]:
        """The settings in which this recipe differs from a dumped one, `other`, so that the weights would differ."""
        if other.get("method") != self.method:  # the other differences follow from this one
            return [Change("method", other.get("method"), self.method)]
        mine, theirs = (_flat(settings) for settings in (self.model_dump(mode="json"), other))
        # The paths of other models do not matter: `asked` has the hashes of their weights.
        keys = sorted((mine.keys() | theirs.keys()) - {*HOW, *self.folders(), "changed", "threads"})
        changed = (key for key in keys if mine.get(key) != theirs.get(key))  # an older one lacks settings that are off
        return [Change(key, theirs.get(key, ABSENT), mine.get(key, ABSENT)) for key in changed]


DENOISER = "denoised-smoothing"  # the method of every denoiser


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

    def folders(self) -> Mapping[str, Noise | None]:
        return {"classifier": None, "start": None}

    def summary(self) -> str:
        for_classifier = f" for {self.classifier}" if self.classifier else ""
        start = f", from {self.start}" if self.start else ""
        schedule = f"{self.epochs} epochs of Adam, batch {self.batch}, {self.rate_in_words()}"
        return f"{self.arch} on {self.objective}{for_classifier}{start}; {schedule}"


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, with the hyperparameters and the weights of other models on the same level."""
    flat = {key: value for key, value in settings.items() if key not in ("hyperparameters", "asked")}
    asked = {f"weights of {key}": weights[:19] for key, weights in settings.get("asked", {}).items()}
    return flat | dict(settings.get("hyperparameters", {})) | asked
