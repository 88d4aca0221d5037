"""The settings of `randsmooth certify` and of verbs like it, their checks, and what they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from randsmooth.certificates import CertificationSettings, Shard
from randsmooth.cli import models
from randsmooth.cli.options import DATASET, IDENTITY, MODEL, Images, Model, Slurm, written
from randsmooth.cli.settings import argument, as_given, option
from randsmooth.errors import InputError
from randsmooth.rules import RULES
from randsmooth.urls import Place

if TYPE_CHECKING:
    from randsmooth.certification.run import Run

OneOrMore = Annotated[
    str | list[str], BeforeValidator(lambda given: given[0] if isinstance(given, list) and len(given) == 1 else given)
]


class ModelAndImages(Images, Model):
    """The settings that say which model is certified, and on which images."""

    model: OneOrMore = argument(f"{MODEL} Several with --ensemble.", list[str])
    ensemble: str | None = option(
        f"How several models answer as one classifier, which is certified: {', '.join(models.ENSEMBLES)}."
    )
    consensus: int | None = option(
        "Ask the first so many models, and the others only where these disagree: another classifier than that of all, "
        "as soundly certified, which answers faster."
    )
    dataset: str | None = option(DATASET + " (default: the data set by whose name the model was trained)")
    split: str = option("train or test.", "test")
    take: int | None = option("Certify this many images, evenly spread over the file. (default: all)")
    skip: int | None = option("Certify every SKIP-th image, as the literature does. (default: all)")
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


class Certify(Slurm, WhatToCertify):
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
NOT_OF_A_SHARD = {*Slurm.model_fields, "array", "parallel", "plan"}


def check_names(given: ModelAndImages, backend: str | None, shard: str | None = None) -> None:
    """Raise InputError for a shard, backend, model, data set that cannot be, before torch is loaded."""
    if shard is not None:
        Shard.parse(shard)
    models.check_ensemble(given.model, given.ensemble, given.consensus)
    models.check_sources(given.model, given.denoiser, dataset=given.dataset, backend=backend)


def model_of(settings: ModelAndImages, sigma: float | None) -> tuple[object, dict[str, Any]]:
    """The model to certify as `randsmooth.certify` takes it, and its `model_args`."""
    model: Any = settings.model
    arguments = settings.model_arg
    if not isinstance(model, str):
        if arguments:
            raise InputError("--model-arg is for one model: make each of several by a function without arguments")
        from randsmooth.models import Ensemble

        rule = models.ENSEMBLES[str(settings.ensemble)]
        model = Ensemble(model, rule, consensus=settings.consensus, num_classes=settings.num_classes)
    if settings.denoiser is not None:
        return models.base_classifier(model, arguments, settings.denoiser, sigma), {}
    return model, arguments


def run_of(settings: WhatToCertify) -> Run:
    """What `settings` ask for, as any process can carry it out."""
    from randsmooth.certification.run import Run

    model, arguments = model_of(settings, settings.sigma)
    fields = {*WhatToCertify.model_fields} - OF_THE_MODEL
    return Run.of(model, **settings.model_dump(include=fields), model_args=arguments)


def out_file(settings: Certify) -> Place:
    """Where the certificates go; of a shard, its own file."""
    out = settings.out or models.default_out(settings.model, settings.denoiser)
    return out if settings.shard is None else Shard.parse(settings.shard).file(out)


def command_of(settings: Certify) -> list[str]:
    """The words of the command that certifies with these `settings`, but for its file, its shard and secrets."""
    from randsmooth.launch.chains import command_words

    of_a_shard = {"model", "shard", "out", "resume", "overwrite", *NOT_OF_A_SHARD}
    given = settings.model_dump(exclude=of_a_shard, exclude_defaults=True)
    given |= {"model_arg": written(settings.model_arg)} if settings.model_arg else {}
    options = {as_given(name, Certify.model_fields[name]).removeprefix("--"): value for name, value in given.items()}
    return command_words("certify", settings.model, options)
