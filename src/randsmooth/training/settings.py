"""What a user chooses for a run of `train` or `train_denoiser`: one frozen object, from Python, CLI or YAML."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from randsmooth.data.dataset_spec import parse_size, written
from randsmooth.errors import InputError
from randsmooth.frozen_record import FrozenRecord
from randsmooth.methods import METHODS
from randsmooth.noise import check_sigma
from randsmooth.training import presets, schedule

TrainingPrecision = Literal["32", "bf16-mixed"]
Objective = Literal["mse", "stability"]


def _size(name: str, value: Any) -> str | None:
    """A size as it is written in files, of whatever a user gave."""
    return written(parse_size(name, value))


class TrainingSettings(FrozenRecord):
    """Settings of a training run on any data set; the preset supplies what is None.

    Without a method, the preset's method is trained; with neither, `gaussian`.

    Attributes:
        sigma: standard deviation of the noise, for pixels in [0, 1]; None: the one that the preset was published for
            or, of several, the middle one. With 0, method gaussian trains without noise: a classifier to put behind a
            denoiser (see `Denoised`).
        set: overrides of the method's hyperparameters and of the optimisation, by name.
        anywhere: allow the preset on a data set that it was not published for.
        take: train on this many images, spread evenly over the training split.
        image_column, label_column, resize, crop: as for `data.load`.

    Raises:
        InputError: an unknown setting, method or preset, or a value of a wrong type or out of its range. What depends
            on the data set or the method, such as the settings in `set`, is checked when a run begins.

    Example:
        >>> settings = TrainingSettings(method="amplify", sigma=0.5, set={"p_t": 0.3})
        >>> settings.replace(epochs=10).epochs
        10
        >>> TrainingSettings(sigma=0.5, epoch=10)
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: unknown setting 'epoch': did you mean 'epochs'? Expected one of: ...
    """

    method: str | None = Field(
        default=None, description="Training method; see `randsmooth methods`. (default: the preset's, or gaussian)"
    )
    sigma: float | None = Field(
        default=None,
        description="Standard deviation of the noise, for pixels in [0, 1]. (default: the preset's, or the middle one)",
    )
    arch: str | None = Field(
        default=None,
        description="Architecture: small-cnn, lenet, resnet20 (any 6n+2), wrn28-10 (any 6n+4), densenet40, resnet50. "
        "(default: the data set's)",
    )
    preset: str | None = Field(
        default=None,
        description="Published settings; see `randsmooth methods --presets`. (default: the method's usual ones)",
    )
    anywhere: bool = Field(
        default=False, description="Use the preset on a data set that it was not published for, too."
    )
    epochs: int | None = Field(
        default=None,
        description="Epochs; the preset's schedule is compressed or stretched to them. (default: the preset's)",
    )
    set: dict[str, Any] = Field(
        default_factory=dict,
        description="Override a setting of the method (m, E_t, p_t, ...) or of the optimisation (lr, batch, ...).",
    )
    take: int | None = Field(
        default=None, description="Train on this many images, evenly spread over the file. (default: all)"
    )
    precision: TrainingPrecision = Field(default="32", description="Arithmetic: 32 or bf16-mixed.")
    compile: bool = Field(default=False, description="Compile the network with torch.compile.")
    image_column: str | None = Field(
        default=None, description="Column, array or extension that holds the images. (default: image, img, x, ...)"
    )
    label_column: str | None = Field(
        default=None, description="Column, array or extension that holds the labels. (default: label, y, target, ...)"
    )
    resize: Annotated[str | None, BeforeValidator(partial(_size, "resize"))] = Field(
        default=None,
        description="Scale every image: the shorter side's pixels, or HEIGHTxWIDTH. (default: no scaling)",
    )
    crop: Annotated[str | None, BeforeValidator(partial(_size, "crop"))] = Field(
        default=None,
        description="Cut the centre of every image, after scaling: a side's pixels, or HEIGHTxWIDTH. (default: all)",
    )
    seed: int = Field(default=0, description="Seed of initialisation, order, augmentation and noise.")

    @property
    def reading(self) -> dict[str, Any]:
        """How the images are read: arguments of `data.load` and `data.describe`."""
        return {name: getattr(self, name) for name in ("image_column", "label_column", "resize", "crop")}

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.sigma not in (None, 0.0):  # 0 is training without noise, which `resolve` allows the methods that can
            check_sigma(self.sigma)
        if self.method is not None:
            METHODS.check(self.method)
        if self.preset is not None:
            presets.named(self.preset)
        if self.epochs is not None and self.epochs < 1:
            raise InputError(f"epochs={self.epochs} must be at least 1")
        if self.seed < 0:
            raise InputError(f"seed={self.seed} must be 0 or more")
        return self


class DenoiserSettings(FrozenRecord):
    """Settings of `train_denoiser`; the defaults are those of Salman et al. 2020, which take days without a GPU.

    Raises:
        InputError: an unknown setting, or a value of a wrong type or out of its range; or the objective "stability"
            without a classifier.

    Example:
        >>> DenoiserSettings(sigma=0.5, epochs=5).objective
        'mse'
        >>> DenoiserSettings(sigma=0.5, objective="stability")
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: objective='stability' is about what a classifier says: name one ...
    """

    sigma: float = Field(description="Standard deviation of the noise to remove, for pixels in [0, 1].")
    objective: Objective = Field(
        default="mse",
        description="mse: the clean image back. stability: a classifier's class of the clean image back.",
    )
    classifier: str | None = Field(
        default=None, description="Model folder of the classifier that the objective stability is about; it is kept."
    )
    start: str | None = Field(
        default=None, description="Folder of a denoiser to begin with, such as one trained on mse. (default: untrained)"
    )
    arch: str = Field(default="dncnn-17x64", description="The network: dncnn-DEPTHxWIDTH.")
    epochs: int = Field(default=90, description="Epochs; the learning rate drops x0.1 after one and two thirds.")
    batch: int = Field(default=256, description="Images per step.")
    lr: float = Field(default=1e-3, description="Learning rate of Adam.")
    take: int | None = Field(
        default=None, description="Train on this many images, evenly spread over the file. (default: all)"
    )
    precision: TrainingPrecision = Field(default="32", description="Arithmetic: 32 or bf16-mixed.")
    compile: bool = Field(default=False, description="Compile the network with torch.compile.")
    seed: int = Field(default=0, description="Seed of initialisation, order, augmentation and noise.")

    @model_validator(mode="after")
    def _usable(self) -> Self:
        check_sigma(self.sigma)
        for name in ("epochs", "batch"):
            if not 1 <= (value := getattr(self, name)) <= schedule.MOST:
                raise InputError(f"{name}={value} must lie from 1 to {schedule.MOST:,}")
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise InputError(f"lr={self.lr} must be a finite number above 0")
        if self.seed < 0:
            raise InputError(f"seed={self.seed} must be 0 or more")
        if self.objective == "stability" and self.classifier is None:
            raise InputError(
                "objective='stability' is about what a classifier says: name one (--classifier FOLDER on the command "
                "line)"
            )
        if self.objective == "mse" and self.classifier is not None:
            raise InputError("objective='mse' asks no classifier: leave it out, or choose objective='stability'")
        return self
