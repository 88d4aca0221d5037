"""Options that mean the same to every verb that has them: their help, and classes of those that go together."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from importlib import import_module
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Secret

from randsmooth import certificates, launch, report
from randsmooth.certificates import CertificationSettings
from randsmooth.cli.output import say_lines
from randsmooth.cli.printed_commands import command_words
from randsmooth.cli.settings import (
    Argument,
    Given,
    Listed,
    Pairs,
    Settings,
    as_given,
    option,
    words,
)
from randsmooth.documents import parse_json
from randsmooth.errors import BadValue, Conflict, MissingValue
from randsmooth.escape import say, to_json
from randsmooth.extras import needs
from randsmooth.models.sources import secret_arguments
from randsmooth.noise import ANoise
from randsmooth.urls import Place, without_credentials

DATASET = "Name (see `randsmooth data list`), folder of images, or file .npz, .csv, .parquet or .tar."
FILES = (
    "Parquet files of `randsmooth certify` (of an unfinished run its journal, OUT.parquet.partial), or TSV logs as the "
    "literature publishes them."
)
DEVICE = "auto, cpu, cuda, or one of several GPUs, such as cuda:1."
DEFAULT = (
    " (default: "  # begins what a description says of a default that is no fixed value
)
ModelArgs = Annotated[Pairs, AfterValidator(secret_arguments)]
Radii = Annotated[
    list[float] | None, BeforeValidator(words), Given(kind=str, metavar="R,R,...")
]


NoiseNamed = Annotated[ANoise, Given(kind=str, metavar="NAME=VALUE")]


def certification_option(
    name: str, default: Any = None, *, stands_for: str | None = None
) -> Any:
    """The option of `randsmooth certify` called `name`, with a default of its own.

    Args:
        name: a field of `CertificationSettings`, whose description is the help text.
        default: None where it is worked out when the verb runs.
        stands_for: what the default is, in words; as certify says it if omitted.

    Example:
        >>> certification_option("seed", stands_for="a new one").description
        'Seed of the noise. (default: a new one)'
    """
    help = CertificationSettings.model_fields[name].description or ""
    if default is not None or stands_for is not None:
        help = help.partition(DEFAULT)[0]
    return option(help + (f"{DEFAULT}{stands_for})" if stands_for else ""), default)


class Answered(Settings):
    """How a verb prints its answer.

    Attributes:
        format: Of the answer.
    """

    format: Literal["text", "json"] = "text"

    def answer(self, lines: Iterable[str], content: Callable[[], Any]) -> None:
        """Print the answer: `lines` for a person, or what `content()` gives, as JSON alone."""
        if self.format == "json":
            say(to_json(content(), indent=1))
        else:
            say_lines(lines)

    def answer_tables(
        self,
        tables: Sequence[certificates.Certificates],
        *lines: str,
        **content: object,
    ) -> None:
        """Print what was measured of `tables`, as `evaluate` does, then `lines`; as JSON with `content` in front."""
        measured = (
            (*report.render(tables).splitlines(), *lines)
            if self.format == "text"
            else ()
        )
        self.answer(
            measured,
            lambda: {
                **content,
                **parse_json(report.render(tables, format="json"), "the tables"),
            },
        )


class Columns(Settings):
    """How images and labels are found in files of a user's own.

    Attributes:
        image_column: Column, array or extension that holds the images. (default: image, img, x, path, ...)
        label_column: Column, array or extension that holds the labels; none: there are no labels. (default: label, y,
            target, cls, ...)
    """

    image_column: str | None = None
    label_column: str | None = None


class Resized(Settings):
    """How images are brought to the size that a model takes.

    Attributes:
        resize: Scale every image before noise is added: the shorter side's pixels, or HEIGHTxWIDTH. (default: as in
            the model's training, or no scaling)
        crop: Cut the centre of every image, after scaling, before noise: a side's pixels, or HEIGHTxWIDTH. (default: as
            in the model's training, or all)
    """

    resize: str | None = None
    crop: str | None = None


class Images(Resized, Columns):
    """How images are read, and brought to the size that a model takes."""

    def reading(self) -> dict[str, Any]:
        """The settings as `data.load` takes them."""
        return self.model_dump(include={*Images.model_fields})


class OneModel(Settings):
    """A model by its name, and how it is made.

    Attributes:
        model: Model folder, `user/name` on the Hugging Face hub, ONNX file, OpenVINO IR (.xml), TorchScript (.pt),
            exported program (.pt2), or code that makes the model: `package.module:NAME`, `file.py:NAME`. Or demo or
            demo-amplify, which come with randsmooth and know handwritten digits.
        model_arg: Argument of what makes or opens the model, such as depth=20, read as YAML reads it. Repeatable. Of
            secret:NAME=VALUE, and of names such as token, tables hold a hash. argv:NAME=VALUE is an option of the
            command line that code of yours reads.
    """

    model: Argument[str]
    model_arg: ModelArgs = {}


class OnDevice(OneModel):
    """What passes each noisy image before the model, and where both run.

    Attributes:
        denoiser: Folder of a denoiser that every noisy image passes before the model: of `randsmooth train-denoiser`,
            or of a diffusion model that diffusers saved, which takes one step.
    """

    denoiser: str | None = None
    device: str = option(DEVICE, "auto")


class Model(OnDevice):
    """What a model cannot say itself.

    Attributes:
        num_classes: How many classes there are, for a function that answers with labels. (default: what the data set
            says)
    """

    num_classes: int | None = None


class Identified(Images, Model):
    """A model that is certified, on images.

    Attributes:
        identity: A name that no other model of yours has, for one that cannot be compared by its content, such as a
            function.
    """

    identity: str | None = None


SIGMA = "Standard deviation of the noise, for pixels in [0, 1]."
SigmaNamed = Annotated[
    float | str | None,
    Field(union_mode="left_to_right"),
    Given(kind=str, metavar="SIGMA|Cstd"),
]
"""A number, or one of standard deviations of each feature, such as 0.25std, which stays a text."""


class Noisy(Settings):
    """The noise on images, as `certify` takes it."""

    sigma: float | None = option(
        SIGMA + " (default: the one that the model was trained with)"
    )
    noise: NoiseNamed = certification_option("noise")


class Smoothed(Noisy):
    """What is asked of each image, of a verb that takes a few settings of `certify`."""

    alpha: float = certification_option("alpha", 0.001)
    backend: str | None = certification_option("backend")


class Judged(Settings):
    """How certificate files are judged.

    Attributes:
        radii: Radii of the certified accuracies, such as 0,0.5,1. (default: every 0.25 in L2; in other norms up to
            eight)
        norm: Radii in this norm that follow by proof from those of the noise: l1 (Gaussian: the same numbers; uniform,
            laplace and splitting have it), l2, linf. (default: the noise's own)
        dimension: How many numbers make up an input, such as 3072 for 32x32 RGB; linf takes it. (default: what the data
            set's name says)
        sigma: Standard deviation sigma of the noise that TSV logs were made with. (default: what their paths say, such
            as noise_0.50)
        n: Judge as if n samples per image had been drawn: a random subset is taken. For TSV logs: the n that they were
            made with. (default: all samples; for logs, what their paths or radii show)
        alpha: Judge at this alpha, the probability that an image's certificate is wrong. For TSV logs: the alpha that
            they were made with. (default: that of each file; logs are judged at 0.001, whatever alpha their radii show)
    """

    radii: Radii = None
    norm: Literal["l1", "l2", "linf", "l0", "ellipsoid", "deviations"] | None = None
    dimension: int | None = None
    sigma: float | None = None
    n: int | None = None
    alpha: float | None = None


class Compared(Judged):
    """How certificate files are judged beside each other.

    Attributes:
        baseline: Name of the row that the others are compared with. (default: the Gaussian one, or the first of two)
    """

    files: Argument[list[Place]] = option(FILES, ...)
    baseline: str | None = None


class Trained(Settings):
    """Where a training runs, what it logs, and how it goes on.

    Attributes:
        devices: Devices of each machine that share every batch: GPUs or, with --device cpu, processes. (default: as
            many as torchrun started, else 1)
        nodes: Machines with so many devices each, on all of which torchrun starts this command.
        sync_batch_norm: Normalise by the whole batch's statistics, not on each device by those of its part of the
            batch.
        logger: Where metrics go besides history.csv: tensorboard or csv. Repeatable. (default: tensorboard, where it
            is installed; those that a resumed run had)
        resume: Go on with an interrupted run in the folder.
        accept_changes: With --resume: go on under the settings given, where they differ.
        overwrite: Discard an earlier run in the folder.
    """

    device: str = option(DEVICE, "auto")
    devices: int | None = None
    nodes: int = 1
    sync_batch_norm: bool = False
    logger: Annotated[
        list[str] | None, Listed, Given(kind=list[str], metavar="NAME")
    ] = None
    resume: bool = False
    accept_changes: bool = False
    overwrite: bool = False


class Where(Settings):
    """Who shares the work. The results do not depend on it.

    Attributes:
        workers: Share the work out among so many processes of this machine: one a GPU, else a share of the cores each.
            (default: this process alone; with --ray or --dask: as many as the cluster has room for)
        ray: Share the work out among the nodes of this Ray cluster: HOST:PORT, or auto for the one that this machine
            is in. All nodes must see the same folders. (default: none)
        dask: Share the work out among the workers of this Dask cluster: HOST:PORT of its scheduler. All of them must
            see the same folders. (default: none)
    """

    workers: int | None = None
    ray: str | None = None
    dask: str | None = None

    def where(self) -> launch.Workers | None:
        """The workers; None for this process alone. Problem where they cannot be, before torch is loaded."""
        if self.ray is not None and self.dask is not None:
            raise Conflict("--ray and --dask are two clusters: give one of them")
        for flag, package, kind in (
            ("ray", "ray", launch.Ray),
            ("dask", "distributed", launch.Dask),
        ):
            if (address := getattr(self, flag)) is not None:
                cluster: launch.Workers = kind(self.workers, address=address)
                with needs(f"--{flag}"):
                    import_module(package)
                return cluster
        return None if self.workers is None else launch.Processes(self.workers)


class Slurm(Where):
    """Who shares the work, tasks of Slurm too: what these ask of it, named as sbatch names it.

    Attributes:
        slurm: Submit to Slurm.
        partition: Partition of Slurm. (default: Slurm's)
        time: How long a task may run, as 2:00:00 or 1-12:00; then it goes on in its next turn.
        gpus: GPUs of each task. (default: Slurm's)
        cpus: Processor cores of each task. (default: Slurm's)
        mem: Memory of each task, such as 16G. (default: Slurm's)
        account: Account that Slurm charges. (default: Slurm's)
        qos: Quality of service of Slurm. (default: Slurm's)
        constraint: Features that a node must have, as sbatch writes them. (default: any node)
        setup: A line of shell that each task runs first, such as "module load cuda". Repeatable.
        slurm_arg: Any other parameter of sbatch, such as exclude=node7 or exclusive=true. Repeatable.
    """

    slurm: bool = False
    partition: str | None = None
    time: str | None = None
    gpus: int | None = None
    cpus: int | None = None
    mem: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    setup: Annotated[list[str], Listed, Given(kind=list[str], metavar="LINE")] = []
    slurm_arg: Pairs = {}

    def resources(self) -> launch.Resources:
        """What each task asks for. Problem where it is none that can be asked for, or --time is missing."""
        if (self.workers, self.ray, self.dask) != (None, None, None):
            raise Conflict(
                "--slurm, --workers, --ray and --dask say in different ways where the work runs: give one"
            )
        if self.time is None:
            raise MissingValue(
                "--slurm needs --time, how long a task may run, such as --time 2:00:00: one that has not finished by "
                "then is queued again and goes on"
            )
        asked = {
            "partition",
            "time",
            "gpus",
            "cpus",
            "mem",
            "account",
            "qos",
            "constraint",
        }
        return launch.Resources(
            **self.model_dump(include=asked),
            setup=tuple(self.setup),
            extra=self.slurm_arg,
        )


def written(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a model as a command that is kept gives them, stars in place of what is secret.

    Example:
        >>> written({"depth": 20, "token": Secret("abc")})
        {'depth': 20, 'secret:token': '**********'}
    """
    secret = {
        f"secret:{name}": str(value)
        for name, value in sorted(given.items())
        if isinstance(value, Secret)
    }
    return {
        name: value for name, value in given.items() if not isinstance(value, Secret)
    } | secret


def words_of(
    verb: str, arguments: Sequence[str], settings: OneModel, left_out: Set[str]
) -> list[str]:
    """The words of the command that gives these settings, without those left out, and stars in place of secrets."""
    given = settings.model_dump(exclude={*left_out}, exclude_defaults=True)
    given |= {"model_arg": written(settings.model_arg)} if settings.model_arg else {}
    given |= {"noise": settings.noise.text} if given.get("noise") else {}  # type: ignore[attr-defined]
    options = {
        as_given(name, type(settings)).removeprefix("--"): value
        for name, value in given.items()
    }
    return [
        without_credentials(word) for word in command_words(verb, arguments, options)
    ]


def as_typed(words: Sequence[str]) -> str:
    """The command of these words as a page may tell it: without what gives access in a URL.

    Example:
        >>> as_typed(["evaluate", "s3://key:word@bucket/a b.parquet"])
        "randsmooth evaluate 's3://***@bucket/a b.parquet'"
    """
    return shlex.join(["randsmooth", *map(without_credentials, words)])


def check_no_secrets(settings: Settings, what: str) -> None:
    """Raise Problem for settings that hold a secret, which `what` would keep for others to read.

    Stars in its place would be taken for the secret by whoever runs them.
    """
    given = settings.model_dump()
    secret = [
        name
        for name, value in given.get("model_arg", {}).items()
        if isinstance(value, Secret)
    ]
    texts = _texts(given)
    if (
        not secret
        and (
            found := next(
                (text for text in texts if without_credentials(text) != text), None
            )
        )
        is None
    ):
        return
    named = (
        f"the argument {secret[0]}"
        if secret
        else f"what gives access in {without_credentials(str(found))}"
    )
    way = "leave it out, and have it read from the environment (os.environ, a store's own variables)"
    raise BadValue(f"{what} would keep {named}, which is secret: {way}")


def _texts(value: Any) -> Iterator[str]:
    """All texts in nested values; of a URL that is a path's, too."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, str):
        yield value
