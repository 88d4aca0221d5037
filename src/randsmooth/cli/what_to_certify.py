"""What is certified on the command line: models by their names, images, and what `certify` and verbs like it ask."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from randsmooth import certification, models
from randsmooth.certificates import CertificationSettings, Shard
from randsmooth.certification.backends import check_backend
from randsmooth.cli.options import DATASET, Identified, NoiseNamed, certification_option
from randsmooth.cli.settings import Argument, Given, option
from randsmooth.data.dataset_paths import check_dataset
from randsmooth.documents import shown
from randsmooth.errors import BadValue, Problem, check_known
from randsmooth.models.sources import check_place, check_source
from randsmooth.noise import NOISES
from randsmooth.rules import RULES
from randsmooth.urls import fetched, is_url, name_of

ENSEMBLES = {
    "mean-logits": "logits",
    "mean-probabilities": "probabilities",
    "vote": "vote",
}
MODELS = f"{Identified.model_fields['model'].description} Several with --ensemble."
OneOrMore = Annotated[
    str | list[str],
    BeforeValidator(
        lambda given: given[0] if isinstance(given, list) and len(given) == 1 else given
    ),
    Given(kind=list[str]),
]


OF_THE_MODEL = {"model", "model_arg", "ensemble", "denoiser"}


def check_sources(
    model: str | Sequence[str],
    denoiser: str | None = None,
    *,
    dataset: str | None = None,
    backend: str | None = None,
) -> None:
    """Raise Problem for a model, denoiser, data set or backend that is not there, before torch is loaded."""
    check_backend(backend)
    for source in [model] if isinstance(model, str) else model:
        check_source(source)
    if denoiser is not None:
        check_place(fetched(denoiser) if is_url(denoiser) else denoiser)
    if dataset is not None:
        check_dataset(dataset)


def _is_data(place: str) -> bool:
    """Whether a data set can be opened at `place`, and no model."""
    try:
        check_source(place)
    except Problem:
        with suppress(Problem):
            check_dataset(place)
            return True
    return False


def base_classifier(
    model: str | models.Ensemble,
    model_args: dict[str, Any],
    denoiser: str | None,
    sigma: float | None,
) -> models.BaseClassifier:
    """The model that is given or named, behind the denoiser in a folder, if any; `sigma` of the noise, if known."""
    base = (
        certification.load_model(model, **model_args)
        if isinstance(model, str)
        else model
    )
    return (
        base
        if denoiser is None
        else models.Denoised(models.load_denoiser(denoiser, sigma=sigma), base)
    )


class ModelAndImages(Identified):
    """The settings that say which model is certified, and on which images.

    Attributes:
        split: train, validation or test; of data without a test split the validation split, which the table says.
        take: Certify this many images, evenly spread over the file. (default: all)
        skip: Certify every SKIP-th image, as the literature does. (default: all)
    """

    model: Argument[OneOrMore] = option(MODELS, ...)  # type: ignore[assignment]  # one, or several
    ensemble: str | None = option(
        f"How several models answer as one classifier, which is certified: {', '.join(ENSEMBLES)}."
    )
    dataset: str | None = option(
        DATASET + " (default: the data set by whose name the model was trained)"
    )
    split: str = "test"
    take: int | None = None
    skip: int | None = None

    def check(self, backend: str | None, shard: str | None = None) -> None:
        """Raise Problem for a shard, ensemble, model, data set or backend that cannot be, before torch is loaded."""
        if shard is not None:
            Shard.parse(shard)
        rule, one = self.ensemble, isinstance(self.model, str)
        if rule is not None:
            check_known("ensemble", ENSEMBLES, rule)
        if rule is None and not one and _is_data(last := self.model[-1]):
            raise BadValue(
                f"{shown(last)} is data and no model: give it by --dataset {shown(last)}"
            )
        if one != (rule is None):
            raise BadValue(
                f"--ensemble ({', '.join(ENSEMBLES)}) makes several models one classifier; "
                f"got the models {shown(self.model)} and --ensemble {rule}"
            )
        check_sources(self.model, self.denoiser, dataset=self.dataset, backend=backend)

    def opened(self, sigma: float | None) -> tuple[object, dict[str, Any]]:
        """The model to certify as `randsmooth.certify` takes it, and its `model_args`."""
        model: Any = self.model
        if not isinstance(model, str):
            if self.model_arg:
                raise BadValue(
                    "--model-arg is for one model: make each of several by a function without arguments"
                )
            rule = ENSEMBLES[str(self.ensemble)]
            model = models.Ensemble(model, rule, num_classes=self.num_classes)
        if self.denoiser is not None:
            return base_classifier(model, self.model_arg, self.denoiser, sigma), {}
        return model, self.model_arg


class WhatToCertify(ModelAndImages, CertificationSettings):
    """The settings that `certify` and `plan` have in common.

    Attributes:
        shard: Certify one share of these images, such as 3/16, the third of every sixteen, into OUT-3-of-16.parquet;
            `randsmooth merge` makes one table of all shares.
    """

    sigma: Annotated[float | None, Given(kind=str, metavar="SIGMA|Cstd")] = (
        certification_option("sigma")
    )
    noise: NoiseNamed = certification_option("noise")
    shard: str | None = None

    def spec(self) -> certification.RunSpec:
        """What is asked for, as any process can carry it out."""
        model, arguments = self.opened(self.sigma)
        fields = {*WhatToCertify.model_fields} - OF_THE_MODEL
        return certification.RunSpec.of(
            model, **self.model_dump(include=fields), model_args=arguments
        )

    @classmethod
    def epilog(cls) -> str:
        """The rules and the noises, those of other packages among them."""
        rules = (
            RULES.describe(name, lambda rule: f"{rule.usage}: {rule.summary}")
            for name in RULES
        )
        noises = (
            NOISES.describe(name, lambda noise: f"{noise.usage}: {noise.summary}")
            for name in NOISES
        )
        head = "Rules, and what holds under each with probability 1 - alpha for every image:"
        return "\n\n".join(
            [
                head,
                *rules,
                "Noises (--noise), what a copy is, and in which norm it certifies:",
                *noises,
            ]
        )


def default_out(
    model: str | Sequence[str], denoiser: str | None = None, ending: str = ".parquet"
) -> Path:
    """The file of certificates for a model, MODEL.parquet or MODEL+DENOISER.parquet; of a URL, in this folder.

    Of several models it has the names of all, in the folder of the first.

    Example:
        >>> default_out(["runs/a", "runs/b/", "net.onnx"]).as_posix(), default_out("zoo.py:net", "runs/d").as_posix()
        ('runs/a+b+net.onnx.parquet', 'zoo.py-net+d.parquet')
    """
    first, *others = (
        each.rstrip("/") for each in ([model] if isinstance(model, str) else model)
    )
    behind = [] if denoiser is None else [denoiser]
    whole = "+".join(
        [name_of(first) if is_url(first) else first, *map(name_of, [*others, *behind])]
    )
    return Path(whole.replace(":", "-") + ending)
