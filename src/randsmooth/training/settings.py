"""What a user chooses for a run of `train` or `train_denoiser`: one frozen object, from Python, CLI or YAML."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from randsmooth.data.dataset_spec import parse_size, written
from randsmooth.errors import InputError
from randsmooth.frozen_record import FrozenRecord
from randsmooth.methods import METHODS
from randsmooth.noise import check_sigma
from randsmooth.training import schedule

TrainingPrecision = Literal["32", "bf16-mixed"]
Objective = Literal["mse", "stability"]
READING = ("image_column", "label_column", "resize", "crop")  # arguments of `data.load`


def _said(default: Any, description: str, *, ge: int | None = None) -> Any:
    return Field(default=default, description=description, ge=ge)


TAKE = _said(None, "Train on this many images, evenly spread over the file. (default: all)")
PRECISION = _said("32", "Arithmetic: 32 or bf16-mixed.")
COMPILE = _said(False, "Compile the network with torch.compile.")
SEED = _said(0, "Seed of initialisation, order, augmentation and noise.", ge=0)


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

    method: str | None = _said(None, "Training method; see `randsmooth methods`. (default: the preset's, or gaussian)")
    sigma: float | None = _said(None, "Standard deviation of the noise, for pixels in [0, 1]. (default: the preset's)")
    arch: str | None = _said(
        None,
        "Architecture: small-cnn, lenet, resnet20 (6n+2), wrn28-10 (6n+4), densenet40, resnet50. (default: the data's)",
    )
    preset: str | None = _said(None, "Published settings; see `randsmooth methods --presets`. (default: the method's)")
    anywhere: bool = _said(False, "Use the preset on a data set that it was not published for, too.")
    epochs: int | None = _said(None, "Epochs, to which the preset's schedule is fitted. (default: the preset's)", ge=1)
    set: dict[str, Any] = Field(
        default_factory=dict,
        description="Override a setting of the method (m, E_t, p_t, ...) or of the optimisation (lr, batch, ...).",
    )
    take: int | None = TAKE
    precision: TrainingPrecision = PRECISION
    compile: bool = COMPILE
    image_column: str | None = _said(None, "Column, array or extension of the images. (default: image, img, x, ...)")
    label_column: str | None = _said(None, "Column, array or extension of the labels. (default: label, y, target, ...)")
    resize: str | None = _said(
        None, "Scale every image: the shorter side's pixels, or HEIGHTxWIDTH. (default: no scaling)"
    )
    crop: str | None = _said(
        None, "Cut the centre of every image, after scaling: a side's pixels, or HEIGHTxWIDTH. (default: all)"
    )
    seed: int = SEED

    @property
    def reading(self) -> dict[str, Any]:
        """How the images are read: arguments of `data.load` and `data.describe`."""
        return {name: getattr(self, name) for name in READING}

    @field_validator("resize", "crop", mode="before")
    @classmethod
    def _as_written(cls, value: Any, info: ValidationInfo) -> str | None:
        return written(parse_size(str(info.field_name), value))

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.sigma not in (None, 0.0):  # 0 is training without noise, which `resolve` allows the methods that can
            check_sigma(self.sigma)
        if self.method is not None:
            METHODS.check(self.method)
        if self.preset is not None:
            from randsmooth.training.presets import named  # which reads the papers' files

            named(self.preset)
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
        randsmooth.errors.InputError: objective='stability' with classifier=None: ...
    """

    sigma: float = Field(description="Standard deviation of the noise to remove, for pixels in [0, 1].")
    objective: Objective = _said("mse", "mse: the clean image back. stability: a classifier's class of it back.")
    classifier: str | None = _said(None, "Model folder of the classifier that stability is about; it is kept.")
    start: str | None = _said(None, "Folder of a denoiser to begin with, such as one of mse. (default: untrained)")
    arch: str = _said("dncnn-17x64", "The network: dncnn-DEPTHxWIDTH.")
    epochs: int = _said(90, "Epochs; the learning rate is multiplied by 0.1 after one and two thirds.")
    batch: int = _said(256, "Images per step.")
    lr: float = _said(1e-3, "Learning rate of Adam.")
    take: int | None = TAKE
    precision: TrainingPrecision = PRECISION
    compile: bool = COMPILE
    seed: int = SEED

    @model_validator(mode="after")
    def _usable(self) -> Self:
        check_sigma(self.sigma)
        schedule.Optimisation(epochs=self.epochs, lr=self.lr, batch=self.batch)  # refuses what is out of range
        if (self.objective == "stability") != (self.classifier is not None):
            raise InputError(
                f"objective={self.objective!r} with classifier={self.classifier!r}: stability, and it alone, is about "
                "what a classifier says (--classifier FOLDER on the command line)"
            )
        return self
