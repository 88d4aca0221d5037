"""The settings of `randsmooth certify`, their checks, and what they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from randsmooth.certificates import CertificationSettings, Shard
from randsmooth.cli.configuration import as_given
from randsmooth.cli.denoiser_option import DENOISER, base_classifier, check_denoiser, default_out
from randsmooth.cli.ensemble_option import CONSENSUS, ENSEMBLE, check_ensemble, ensemble_of, joined, single
from randsmooth.cli.model_options import IDENTITY, KEY_VALUE, MODEL, MODEL_ARG, NUM_CLASSES, ModelArgs, written
from randsmooth.cli.settings import Settings, argument, option
from randsmooth.cli.shared_options import CROP, DATASET, DEVICE, IMAGE_COLUMN, LABEL_COLUMN, RESIZE
from randsmooth.cli.slurm_options import SlurmOptions
from randsmooth.cli.where_option import Where
from randsmooth.errors import InputError
from randsmooth.rules import RULES
from randsmooth.urls import Place

if TYPE_CHECKING:
    from randsmooth.certification.run import Run


class ModelAndImages(Settings):
    """The settings that say which model is certified, and on which images."""

    model: Annotated[str | list[str], BeforeValidator(single)] = argument(
        f"{MODEL} Several with --ensemble.", list[str]
    )
    ensemble: str | None = option(ENSEMBLE)
    consensus: int | None = option(CONSENSUS)
    model_arg: ModelArgs = option(MODEL_ARG, {}, json_schema_extra=KEY_VALUE)
    denoiser: str | None = option(DENOISER)
    dataset: str | None = option(DATASET + " (default: the data set by whose name the model was trained)")
    split: str = option("train or test.", "test")
    image_column: str | None = option(IMAGE_COLUMN)
    label_column: str | None = option(LABEL_COLUMN)
    resize: str | None = option(RESIZE)
    crop: str | None = option(CROP)
    take: int | None = option("Certify this many images, evenly spread over the file. (default: all)")
    skip: int | None = option("Certify every SKIP-th image, as the literature does. (default: all)")
    device: str = option(DEVICE, "auto")
    num_classes: int | None = option(NUM_CLASSES)
    identity: str | None = option(IDENTITY)


class WhatToCertify(ModelAndImages, CertificationSettings):
    """The settings that `certify` and `plan` have in common."""

    shard: str | None = option(
        "Certify one share of these images, such as 3/16, the third of every sixteen, into OUT-3-of-16.parquet; "
        "`randsmooth merge` makes one table of all shares."
    )

    @classmethod
    def epilog(cls) -> str:
        """The rules, those of other packages among them."""
        rules = (RULES.describe(name, lambda rule: f"{rule.usage}: {rule.help}") for name in RULES)
        return "\n\n".join(["Rules, and what holds under each with probability 1 - alpha for every image:", *rules])


class Certify(SlurmOptions, Where, WhatToCertify):
    """Settings of `randsmooth certify`."""

    out: Place | None = option(
        "Parquet file for the certificates, or its URL (s3://...). (default: MODEL.parquet, or MODEL+DENOISER.parquet)"
    )
    resume: bool = option("Go on with an interrupted run into the file.", False)
    overwrite: bool = option("Discard what is in the file.", False)
    array: int | None = option("With --slurm: how many tasks share the images; each certifies a shard of them.")
    parallel: int | None = option("With --slurm: how many tasks may run at once. (default: all)")
    plan: bool = option("Say what it will take instead, as `randsmooth plan` does.", False)


OF_THE_MODEL = {"model", "model_arg", "ensemble", "consensus", "denoiser"}
# How a run is shared out, which its shards need not know.
NOT_OF_A_SHARD = {*SlurmOptions.model_fields, *Where.model_fields, "array", "parallel", "plan"}


def check_names(given: WhatToCertify) -> None:
    """Raise InputError for a backend, model, denoiser, data set that is not there, before torch is loaded."""
    if given.shard is not None:
        Shard.parse(given.shard)
    check_sources(given, given.backend)


def check_sources(given: ModelAndImages, backend: str | None) -> None:
    """Raise InputError for a model, denoiser, data set or backend that is not there, before torch is loaded."""
    from randsmooth.certification.backends import check_backend
    from randsmooth.data.registry import check_dataset
    from randsmooth.models.sources import check_source

    check_backend(backend)
    check_ensemble(given.model, given.ensemble, given.consensus)
    for source in [given.model] if isinstance(given.model, str) else given.model:
        check_source(source)
    check_denoiser(given.denoiser)
    if given.dataset is not None:
        check_dataset(given.dataset)


def model_of(settings: ModelAndImages, sigma: float | None) -> tuple[object, dict[str, Any]]:
    """The model to certify as `randsmooth.certify` takes it, and its `model_args`."""
    model: object
    if isinstance(settings.model, str):
        model, arguments = settings.model, settings.model_arg
    else:
        if settings.model_arg:
            raise InputError("--model-arg is for one model: make each of several by a function without arguments")
        rule = settings.ensemble or ""
        model, arguments = ensemble_of(settings.model, rule, settings.consensus, settings.num_classes), {}
    if settings.denoiser is not None:
        return base_classifier(model, arguments, settings.denoiser, sigma), {}
    return model, arguments


def run_of(settings: WhatToCertify) -> Run:
    """What `settings` ask for, as any process can carry it out."""
    from randsmooth.certification.run import Run

    model, arguments = model_of(settings, settings.sigma)
    fields = {*WhatToCertify.model_fields} - OF_THE_MODEL
    return Run.of(model, **settings.model_dump(include=fields), model_args=arguments)


def out_file(settings: Certify) -> Place:
    """Where the certificates go; of a shard, its own file."""
    out = settings.out or default_out(joined(settings.model), settings.denoiser)
    return out if settings.shard is None else Shard.parse(settings.shard).file(out)


def command_of(settings: Certify) -> list[str]:
    """The words of the command that certifies with these `settings`, but for its file, its shard and secrets."""
    from randsmooth.launch.chains import command_words

    of_a_shard = {"model", "shard", "out", "resume", "overwrite", *NOT_OF_A_SHARD}
    given = settings.model_dump(exclude=of_a_shard, exclude_defaults=True)
    given |= {"model_arg": written(settings.model_arg)} if settings.model_arg else {}
    options = {as_given(name, Certify.model_fields[name]).removeprefix("--"): value for name, value in given.items()}
    return command_words("certify", settings.model, options)
