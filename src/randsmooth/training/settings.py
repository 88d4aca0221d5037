"""What a user chooses for a run of `train` or `train_denoiser`.

It is one frozen object, whether from Python, CLI or YAML.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Unpack

from pydantic import (
    Field,
    PlainValidator,
    ValidationInfo,
    field_validator,
    model_validator,
)

from randsmooth.data.dataset_spec import ReadingOptions
from randsmooth.data.image_size import parse_size, written
from randsmooth.errors import BadValue, Setting
from randsmooth.frozen_record import FrozenRecord
from randsmooth.methods import METHODS
from randsmooth.methods.hyperparameters import Count, Positive
from randsmooth.noise import (
    Deviations,
    Noise,
    UnderNoise,
    check_sigma,
    named_noise,
    noise_meant,
    spelled,
)
from randsmooth.noise.spelling import AsFacts

TrainingPrecision = Literal["32", "bf16-mixed"]
Objective = Literal["mse", "stability"]

# In the place of a noise, that images are trained on as they are.
NO_NOISE: Literal["none"] = "none"


class Reading(FrozenRecord):
    """How images of a user's own are read: arguments of `data.load`.

    Attributes:
        image_column: Column, array or extension of the images. (default: image, img, x,
            ...)
        label_column: Column, array or extension of the labels. (default: label, y,
            target, ...)
        resize: Scale every image: the shorter side's pixels, or HEIGHTxWIDTH. (default:
            no scaling)
        crop: Cut the centre of every image, after scaling: a side's pixels, or
            HEIGHTxWIDTH. (default: all)

    Example:
        >>> Reading(crop=(24, 32)).reading["crop"]
        '24x32'
    """

    image_column: str | None = None
    label_column: str | None = None
    resize: str | None = None
    crop: str | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """Return these settings alone."""
        return self.model_dump(include={*Reading.model_fields})

    @field_validator("resize", "crop", mode="before")
    @classmethod
    def _size(cls, value: Any, info: ValidationInfo) -> str | None:
        """Return the size as it is written in files."""
        return written(parse_size(str(info.field_name), value))


class TrainingOptions(ReadingOptions, total=False):
    """What `TrainingSettings` takes as keywords: its fields, and sigma.

    `train` takes them in place of the object. `TrainingSettings` says what each means,
    and its default.

    Example:
        >>> options: TrainingOptions = {"method": "amplify", "sigma": 0.5}
        >>> TrainingSettings(**options).noise
        Gaussian(sigma=0.5)
    """

    method: str | None
    sigma: float | None
    noise: Noise | str | Mapping[str, Any] | None
    arch: str | None
    preset: str | None
    anywhere: bool
    epochs: int | None
    set: dict[str, Any]
    take: int | None
    precision: TrainingPrecision
    compile: bool
    seed: int


class HowToTrain(Reading):
    """The settings of `train` besides the noise, with their types and defaults.

    Attributes:
        method: Training method; see `randsmooth methods`. (default: the preset's, or
            gaussian)
        arch: Architecture: small-cnn, lenet, resnet20 (6n+2), wrn28-10 (6n+4),
            densenet40, resnet50. (default: the data's)
        preset: Published settings; see `randsmooth methods --presets`. (default: the
            method's)
        anywhere: Use the preset on a data set that it was not published for, too.
        epochs: Epochs, to which the preset's schedule is fitted. (default: the
            preset's)
        set: Override a setting of the method (m, E_t, p_t, ...) or of the optimisation
            (lr, batch, ...).
        take: Train on this many images, evenly spread over the file. (default: all)
        precision: Arithmetic: 32 or bf16-mixed.
        compile: Compile the network with torch.compile.
        seed: Seed of initialisation, order, augmentation and noise.

    Example:
        >>> HowToTrain(epochs=5).precision
        '32'
    """

    method: str | None = None
    arch: str | None = None
    preset: str | None = None
    anywhere: bool = False
    epochs: Annotated[int | None, Field(ge=1)] = None
    set: dict[str, Any] = {}  # noqa: RUF012 pydantic copies it
    take: int | None = None
    precision: TrainingPrecision = "32"
    compile: bool = False
    seed: Annotated[int, Field(ge=0)] = 0


def _training_noise(value: object) -> Noise | Literal["none"] | None:
    """Return the noise that the setting `noise` of a training means.

    Raises:
        Problem: it means none, or one that is known by training data alone.
    """
    if value == NO_NOISE:
        return NO_NOISE
    noise = noise_meant(value)
    if isinstance(noise, Deviations):
        raise BadValue(
            field="noise",
            value=noise.text,
            fix="train under noise of the same sigma for all, such as gaussian=0.5",
        )
    return noise


class TrainingSettings(HowToTrain, UnderNoise):
    """Settings of a training run on any data set; the preset supplies what is None.

    Without a method, the preset's method is trained; with neither, `gaussian`. Without
    a noise it is Gaussian of the sigma that the preset was published for or, of
    several, the middle one. With sigma 0, which is `noise="none"`, method gaussian
    trains without noise: a classifier to put behind a denoiser (see `Denoised`). Under
    another noise than Gaussian only some methods train, with the hyperparameters of the
    preset's middle sigma. The settings by which images are read (image_column,
    label_column, resize, crop) are those of `data.load`.

    Args:
        sigma: the spelling of Gaussian noise: `sigma=0.5` is `noise=Gaussian(0.5)`.

    Attributes:
        noise: Other noise, by its name: uniform=0.6, laplace=0.3, splitting=0.5,
            ablation=45, gaussian=std.npy. (default: Gaussian of sigma)

    The others are those of `HowToTrain`.

    Raises:
        Problem: an unknown setting, method or preset, or a value of a wrong type or out
            of its range. What depends on the data set or the method, such as the
            settings in `set`, is checked when a run begins.

    Example:
        >>> settings = TrainingSettings(method="amplify", sigma=0.5, set={"p_t": 0.3})
        >>> settings.noise, settings.replace(epochs=10).epochs
        (Gaussian(sigma=0.5), 10)
        >>> TrainingSettings(sigma=0.5, epoch=10)
        Traceback (most recent call last):
        ...
        randsmooth.errors.UnknownName: unknown setting 'epoch': did you mean ...
    """

    noise: Annotated[
        Noise | Literal["none"] | None, PlainValidator(_training_noise), AsFacts
    ] = None

    if TYPE_CHECKING:
        # A type checker shall see what is taken at the door: sigma, and a noise's text.
        def __init__(self, **options: Unpack[TrainingOptions]) -> None: ...

    @model_validator(mode="after")
    def _check_usable(self) -> Self:
        if isinstance(self.noise, Noise):
            self.noise.check_for_pixels()
        if self.method is not None:
            METHODS.check(self.method)
        if self.preset is not None:
            # Imported where it is needed, since it reads the papers' files.
            from randsmooth.training.presets import named

            named(self.preset)
        return self

    @classmethod
    def _noise_named(cls, sigma: Any, noise: Any) -> object:
        """As for all settings; sigma 0 stands for no noise."""
        if sigma == 0 and noise in (None, NO_NOISE):
            return NO_NOISE
        return named_noise(sigma, noise)

    def _spelled_noise(self) -> dict[str, Any]:
        return {"sigma": 0.0} if self.noise == NO_NOISE else spelled(self.noise)


class DenoiserOptions(ReadingOptions, total=False):
    """The fields of `DenoiserSettings` as keywords.

    `train_denoiser` takes them in place of the object. `DenoiserSettings` says what
    each means, and its default.

    Example:
        >>> options: DenoiserOptions = {"sigma": 0.5, "epochs": 5}
        >>> DenoiserSettings(**options).epochs
        5
    """

    sigma: float
    objective: Objective
    classifier: str | None
    start: str | None
    arch: str
    epochs: int
    batch: int
    lr: float
    take: int | None
    precision: TrainingPrecision
    compile: bool
    seed: int


class DenoiserSettings(Reading):
    """Settings of `train_denoiser`.

    The defaults are those of Salman et al. 2020, which take days without a GPU.

    Attributes:
        sigma: Standard deviation of the noise to remove, for pixels in [0, 1].
        objective: mse: the clean image back. stability: a classifier's class of it
            back.
        classifier: Model folder of the classifier that stability is about; it is kept.
        start: Folder of a denoiser to begin with, such as one of mse. (default:
            untrained)
        arch: The network: dncnn-DEPTHxWIDTH.
        epochs: Epochs; the learning rate is multiplied by 0.1 after one and two thirds.
        batch: Images per step.
        lr: Learning rate of Adam.
        take: Train on this many images, evenly spread over the file. (default: all)
        precision: Arithmetic: 32 or bf16-mixed.
        compile: Compile the network with torch.compile.
        seed: Seed of initialisation, order, augmentation and noise.

    Raises:
        Problem: an unknown setting, or a value of a wrong type or out of its range; or
            the objective "stability" without a classifier.

    Example:
        >>> DenoiserSettings(sigma=0.5, epochs=5).objective
        'mse'
        >>> DenoiserSettings(sigma=0.5, objective="stability")
        Traceback (most recent call last):
        ...
        randsmooth.errors.BadValue: objective='stability' with classifier=None: ...
    """

    sigma: float
    objective: Objective = "mse"
    classifier: str | None = None
    start: str | None = None
    arch: str = "dncnn-17x64"
    epochs: Count = 90
    batch: Count = 256
    lr: Positive = 1e-3
    take: int | None = None
    precision: TrainingPrecision = "32"
    compile: bool = False
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _usable(self) -> Self:
        check_sigma(self.sigma)
        needs_classifier = self.objective == "stability"
        if needs_classifier != (self.classifier is not None):
            way: tuple[str | Setting, ...] = ("leave out ", Setting("classifier"))
            if needs_classifier:
                way = ("name the classifier: ", Setting("classifier", "FOLDER"))
            raise BadValue(
                f"objective={self.objective!r} with classifier={self.classifier!r}: "
                "only the objective stability takes a classifier, and it needs "
                "one",
                field="classifier",
                value=self.classifier,
                fix=way,
            )
        return self
