"""Options that mean the same to every verb that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from randsmooth import certificates, report
from randsmooth.certificates import CertificationSettings
from randsmooth.cli.output import say_lines
from randsmooth.cli.settings import Argument, Given, Pairs, Settings, option
from randsmooth.documents import parse_json
from randsmooth.escape import say, to_json
from randsmooth.models.arguments import secret_arguments
from randsmooth.noise import NamedNoise, named_noise, sigma_of

# Helps of options that several verbs have.
DATASET = (
    "Name (see `randsmooth data list`), folder of images, or file .npz, .csv, "
    ".parquet or .tar."
)
DATASET_OF_THE_MODEL = (
    f"{DATASET} (default: the data set by whose name the model was trained)"
)
DEVICE = "auto, cpu, cuda, or one of several GPUs, such as cuda:1."
SIGMA = "Standard deviation of the noise, for pixels in [0, 1]."

# Begins what a description says of a default that is worked out.
DEFAULT = " (default: "

ModelArgs = Annotated[Pairs, AfterValidator(secret_arguments)]
NoiseNamed = Annotated[NamedNoise, Given(metavar="NAME=VALUE")]

# A number, or a number of standard deviations of each feature, such as 0.25std, which
# stays a text.
SigmaNamed = Annotated[
    float | str | None,
    Field(union_mode="left_to_right"),
    Given(metavar="SIGMA|Cstd"),
]


def certification_option(
    name: str, default: Any = None, *, stands_for: str | None = None
) -> Any:
    """Return the option of `randsmooth certify` called `name`, with another default.

    Args:
        name: a field of `CertificationSettings`, whose description is the help.
        default: the default; None where the verb works it out when it runs.
        stands_for: the words that the help has for the default. Without them, a value
            stands for itself, and None has the words of `certify`.

    Example:
        >>> certification_option("seed", stands_for="a new one").description
        'Seed of the noise. (default: a new one)'
    """
    help = CertificationSettings.model_fields[name].description or ""
    # Cut off the words for the default of `certify`, which is another.
    if default is not None or stands_for is not None:
        help = help.partition(DEFAULT)[0]
    if stands_for is not None:
        help += f"{DEFAULT}{stands_for})"
    return option(help, default)


class Answered(Settings):
    """How a verb prints its answer.

    Attributes:
        format: Of the answer.
    """

    format: Literal["text", "json"] = "text"

    def answer(self, lines: Iterable[str], content: Callable[[], Any]) -> None:
        """Print `lines`, or with --format json what `content` returns and nothing else.

        Args:
            lines: the answer for a person.
            content: makes the answer for programs, which is made for JSON only.
        """
        if self.format == "json":
            say(to_json(content(), indent=1))
        else:
            say_lines(lines)

    def answer_tables(
        self,
        tables: Sequence[certificates.Certificates],
        *lines: str,
        news: Sequence[str] = (),
        **content: object,
    ) -> None:
        """Print the metrics of `tables`, as `evaluate` does, between other lines.

        Args:
            tables: the certificates.
            lines: the lines below the metrics, for a person.
            news: the lines above the metrics, for a person.
            content: the keys and values above the metrics, for programs.
        """
        if self.format == "json":
            # `render` returns a text, to which no key can be added.
            metrics = parse_json(report.render(tables, format="json"), "the tables")
            say(to_json(content | metrics, indent=1))
        else:
            say_lines([*news, *report.render(tables).splitlines(), *lines])


class Columns(Settings):
    """How images and labels are found in files of a user's own.

    Attributes:
        image_column: Column, array or extension that holds the images. (default:
            image, img, x, path, ...)
        label_column: Column, array or extension that holds the labels; none: there are
            no labels. (default: label, y, target, cls, ...)
        text_column: Column that holds texts, where the model takes texts. (default:
            text, sentence, review, ..., or the only one)
    """

    image_column: str | None = None
    label_column: str | None = None
    text_column: str | None = None


class Resized(Settings):
    """How images are brought to the size that a model takes.

    Attributes:
        resize: Scale every image before noise is added: the shorter side's pixels, or
            HEIGHTxWIDTH. (default: as in the model's training, or no scaling)
        crop: Cut the centre of every image, after scaling, before noise: a side's
            pixels, or HEIGHTxWIDTH. (default: as in the model's training, or all)
    """

    resize: str | None = None
    crop: str | None = None


class ImageReading(Resized, Columns):
    """How images are read, and brought to the size that a model takes."""

    def reading(self) -> dict[str, Any]:
        """Return these settings as keywords of `data.load`."""
        # Not `self.model_fields`, which has the other settings of a verb, too.
        return self.model_dump(include={*ImageReading.model_fields})


class OneModel(Settings):
    """A model by its name, and how it is made.

    Attributes:
        model: Model folder, `user/name` on the Hugging Face hub, ONNX file, OpenVINO IR
            (.xml), TorchScript (.pt), exported program (.pt2), or code that makes the
            model: `package.module:NAME`, `file.py:NAME`. The bundled models demo and
            demo-amplify know handwritten digits.
        model_arg: Argument of the function or loader that makes the model, such as
            depth=20, read as YAML reads it. Repeatable. Tables hold only a hash of
            secret:NAME=VALUE, and of names such as token. argv:NAME=VALUE is an option
            of the command line that your code reads.
    """

    model: Argument[str]
    model_arg: ModelArgs = {}


class OnDevice(OneModel):
    """What passes each noisy image before the model, and where both run.

    Attributes:
        denoiser: Folder of a denoiser that every noisy image passes before the model:
            of `randsmooth train-denoiser`, or of a diffusion model that diffusers
            saved, which takes one step.
    """

    denoiser: str | None = None
    device: str = option(DEVICE, "auto")


class Model(OnDevice):
    """A model, with the number of its classes where it does not say it.

    Attributes:
        num_classes: How many classes there are, for a function that answers with
            labels. (default: what the data set says)
        refusal: The class that stands for declined answers. `class` adds one, for -1,
            None and NaN in place of a label, or for a last logit; or the name of a
            class of the model. (default: no answer may decline)
    """

    num_classes: int | None = None
    refusal: str | None = None


class Identified(ImageReading, Model):
    """A model that is certified, on images.

    Attributes:
        identity: A name that no other model of yours has, for one that cannot be
            compared by its content, such as a function.
    """

    identity: str | None = None


class Noisy(Settings):
    """The noise on images, as `certify` takes it."""

    sigma: float | None = option(
        f"{SIGMA} (default: the one that the model was trained with)"
    )
    noise: NoiseNamed = certification_option("noise")

    @property
    def gaussian_sigma(self) -> float | None:
        """Return the sigma of Gaussian noise, which a denoiser may have to know."""
        return sigma_of(named_noise(self.sigma, self.noise))


class NoisyInputs(Noisy):
    """The noise on images or on features.

    Attributes:
        sigma: Standard deviation of the noise, for pixels in [0, 1], or in the units of
            features; 0.25std: so many standard deviations of each feature. (default:
            the one that the model was trained with)
    """

    # A float in `Noisy`; of features also a text.
    sigma: SigmaNamed = None  # type: ignore[assignment]


class Smoothed(Noisy):
    """The noise, alpha and backend, for a verb that takes a few settings of `certify`."""

    alpha: float = certification_option("alpha", default=0.001)
    backend: str | None = certification_option("backend")
