"""What is certified: models by their names, images, and how `certify` is asked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from randsmooth import certification, models
from randsmooth.certificates import (
    CertificationOptions,
    CertificationSettings,
    HowToCertify,
    Shard,
)
from randsmooth.certification.backends import check_backend
from randsmooth.cli.options import (
    DATASET_OF_THE_MODEL,
    Identified,
    NoisyInputs,
)
from randsmooth.cli.settings import Argument, option
from randsmooth.data.dataset_paths import check_dataset
from randsmooth.documents import shown
from randsmooth.errors import BadValue, Problem, check_known
from randsmooth.models.places import check_place
from randsmooth.models.sources import check_source
from randsmooth.noise import NOISES
from randsmooth.rules import RULES
from randsmooth.urls import fetched, is_url, name_of

# Value of --ensemble -> the rule by which the models are combined.
ENSEMBLES = {
    "mean-logits": "logits",
    "mean-probabilities": "probabilities",
    "vote": "vote",
}
# Help of the argument that names one model or more.
MODELS = f"{Identified.model_fields['model'].description} Several with --ensemble."

# Settings that say which classifier is certified, not how.
OF_THE_MODEL = {"model", "model_arg", "ensemble", "denoiser"}


def _alone(models: Any) -> Any:
    """Return the model of a list of one: without --ensemble a setting is one model.

    A list of several is returned as it is.
    """
    if isinstance(models, list) and len(models) == 1:
        return models[0]
    return models


OneOrMore = Annotated[str | list[str], BeforeValidator(_alone)]


def check_sources(
    model: str | Sequence[str],
    denoiser: str | None = None,
    *,
    dataset: str | None = None,
    backend: str | None = None,
) -> None:
    """Raise Problem where one of these is not there, before torch is loaded.

    Args:
        model: the source of one model, or those of several.
        denoiser: the folder of a denoiser, or its URL.
        dataset: the name or path of a data set.
        backend: the name of a backend.
    """
    check_backend(backend)
    sources = [model] if isinstance(model, str) else model
    for source in sources:
        check_source(source)
    if denoiser is not None:
        check_place(fetched(denoiser) if is_url(denoiser) else denoiser)
    if dataset is not None:
        check_dataset(dataset)


def _is_data(place: str) -> bool:
    """Return whether a data set can be opened at `place`, and a model cannot."""
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
    """Return the model, opened if it is named, behind a denoiser if one is named.

    Args:
        model: a model, or its name.
        model_args: arguments of what makes or opens the model.
        denoiser: the folder of a denoiser, or None.
        sigma: the sigma of Gaussian noise, which a diffusion model must know; or None.
    """
    base: str | models.BaseClassifier = model
    if isinstance(base, str):
        base = certification.load_model(base, **model_args)
    if denoiser is None:
        return base
    return models.Denoised(models.load_denoiser(denoiser, sigma=sigma), base)


class ModelAndImages(Identified):
    """Settings that say which model is certified, and on which images.

    Attributes:
        split: train, validation or test; of data without a test split the validation
            split, which the table says.
        take: Certify this many images, evenly spread over the file. (default: all)
        skip: Certify every SKIP-th image, as the literature does. (default: all)
    """

    # One model, or several with --ensemble.
    model: Argument[OneOrMore] = option(MODELS, ...)  # type: ignore[assignment]
    ensemble: str | None = option(
        "How several models answer as one classifier, which is certified: "
        f"{', '.join(ENSEMBLES)}."
    )
    dataset: str | None = option(DATASET_OF_THE_MODEL)
    split: str = "test"
    take: int | None = None
    skip: int | None = None

    def check(self, backend: str | None, shard: str | None = None) -> None:
        """Raise Problem for settings of no certification, before torch is loaded.

        Args:
            backend: the name of a backend, or None.
            shard: the text of a shard, such as "3/16", or None.
        """
        if shard is not None:
            # It raises for a text that is no shard; the run parses it again.
            Shard.parse(shard)
        self._check_ensemble()
        check_sources(self.model, self.denoiser, dataset=self.dataset, backend=backend)

    def _check_ensemble(self) -> None:
        """Raise Problem unless there is one model, or --ensemble for several."""
        if self.ensemble is not None:
            check_known("ensemble", ENSEMBLES, self.ensemble)
        is_one = isinstance(self.model, str)
        if is_one == (self.ensemble is None):
            return

        # Users forget --dataset, and the data set is taken for a second model.
        last = self.model[-1]
        if not is_one and _is_data(last):
            raise BadValue(
                f"{shown(last)} is data and no model: give it by "
                f"--dataset {shown(last)}"
            )
        raise BadValue(
            f"--ensemble ({', '.join(ENSEMBLES)}) makes several models one classifier; "
            f"got the models {shown(self.model)} and --ensemble {self.ensemble}"
        )

    def opened(self, sigma: float | None) -> tuple[object, dict[str, Any]]:
        """Return the model as `randsmooth.certify` takes it, and its `model_args`.

        Args:
            sigma: the sigma of Gaussian noise, which a denoiser may have to know.
        """
        model: Any = self.model
        if not isinstance(model, str):
            model = self._opened_ensemble()
        if self.denoiser is not None:
            # The arguments have been used to open the model.
            return base_classifier(model, self.model_arg, self.denoiser, sigma), {}
        return model, self.model_arg

    def _opened_ensemble(self) -> models.Ensemble:
        """Return the ensemble of several models. Problem where --model-arg is given."""
        if self.model_arg:
            raise BadValue(
                "--model-arg is for one model: make each of several by a function "
                "without arguments"
            )
        # `_check_ensemble` has made sure that it is given.
        rule = ENSEMBLES[str(self.ensemble)]
        return models.Ensemble(self.model, rule, num_classes=self.num_classes)


class WhatToCertify(ModelAndImages, HowToCertify, NoisyInputs):
    """The settings that `certify` and `plan` have in common.

    Attributes:
        shard: Certify one share of these images, such as 3/16, the third of every
            sixteen, into OUT-3-of-16.parquet; `randsmooth merge` makes one table of all
            shares.
        unlabelled: Leave out the labels of the data, which are no classes of the model;
            a router's classes are experts.
    """

    shard: str | None = None
    unlabelled: bool = False

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        """Raise Problem for settings of no certification, before anything is opened."""
        names = {*CertificationOptions.__optional_keys__}
        # Made for its checks alone; `spec` makes the settings of the run.
        CertificationSettings(**self.model_dump(include=names))
        return self

    def spec(self) -> certification.RunSpec:
        """Return the run to certify, as a value that any process can carry out."""
        model, arguments = self.opened(self.gaussian_sigma)
        fields = {*WhatToCertify.model_fields} - OF_THE_MODEL
        return certification.RunSpec.of(
            model, **self.model_dump(include=fields), model_args=arguments
        )

    @classmethod
    def epilog(cls) -> str:
        """Return the rules and the noises, those of other packages among them."""
        parts = [
            "Rules, and the guarantee of each, with probability 1 - alpha for "
            "every image:"
        ]
        for name in RULES:
            parts.append(
                RULES.describe(name, lambda rule: f"{rule.usage}: {rule.summary}")
            )
        parts.append(
            "Noises (--noise), their noisy copies, and the norm in which they certify:"
        )
        for name in NOISES:
            parts.append(
                NOISES.describe(name, lambda noise: f"{noise.usage}: {noise.summary}")
            )
        return "\n\n".join(parts)


def default_out(
    model: str | Sequence[str], denoiser: str | None = None, ending: str = ".parquet"
) -> Path:
    """Return the file of a model's certificates: MODEL.parquet, or MODEL+DENOISER.

    The name of an ensemble has the names of all models, in the folder of the first. The
    file of a model at a URL is in the current folder.

    Args:
        model: the source of one model, or those of several.
        denoiser: the folder of a denoiser, or its URL.
        ending: the end of the file's name.

    Example:
        >>> default_out(["runs/a", "runs/b/", "net.onnx"]).as_posix()
        'runs/a+b+net.onnx.parquet'
        >>> default_out("zoo.py:net", "runs/d").as_posix()
        'zoo.py-net+d.parquet'
    """
    sources = [model] if isinstance(model, str) else model
    names = [source.rstrip("/") for source in sources]
    first = names[0]
    others = names[1:]
    if denoiser is not None:
        others.append(denoiser)
    # A path keeps its folder.
    beginning = name_of(first) if is_url(first) else first
    stem = "+".join([beginning, *map(name_of, others)])
    # Code is named zoo.py:net, and Windows allows no colon in the name of a file.
    return Path(stem.replace(":", "-") + ending)
