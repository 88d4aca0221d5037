"""The model that a verb is given: one or several, behind a denoiser or not; looked for before torch is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from randsmooth.errors import InputError, unknown
from randsmooth.urls import fetched, has_protocol, is_url, name_of

if TYPE_CHECKING:
    from randsmooth.models import BaseClassifier, Ensemble

ENSEMBLES = {"mean-logits": "logits", "mean-probabilities": "probabilities", "vote": "vote"}


def check_sources(
    model: str | Sequence[str], denoiser: str | None = None, *, dataset: str | None = None, backend: str | None = None
) -> None:
    """Raise InputError for a model, denoiser, data set or backend that is not there, before torch is loaded."""
    from randsmooth.certification.backends import check_backend
    from randsmooth.data.registry import check_dataset
    from randsmooth.models.sources import check_place, check_source

    check_backend(backend)
    for source in [model] if isinstance(model, str) else model:
        check_source(source)
    if denoiser is not None:
        check_place(fetched(denoiser) if has_protocol(denoiser) else denoiser)
    if dataset is not None:
        check_dataset(dataset)


def check_ensemble(model: str | Sequence[str], rule: str | None, consensus: int | None) -> None:
    """Raise InputError for several models without a rule, a rule for one, or one that does not exist.

    Example:
        >>> check_ensemble(["runs/a", "runs/b"], "vote", None)
        >>> check_ensemble(["runs/a", "runs/b"], None, None)
        Traceback (most recent call last):
        randsmooth.errors.InputError: 2 models are given: certify each alone, or all as one classifier by --ensemble ...
    """
    if rule is not None and rule not in ENSEMBLES:
        raise unknown("ensemble", rule, ENSEMBLES)
    if not isinstance(model, str) and rule is None:
        raise InputError(
            f"{len(model)} models are given: certify each alone, or all as one classifier by --ensemble and "
            f"{', '.join(ENSEMBLES)}"
        )
    if isinstance(model, str) and rule is not None:
        raise InputError(f"--ensemble {rule} needs at least two models; got {model}")
    if rule is None and consensus is not None:
        raise InputError(f"--consensus {consensus} is for several models and --ensemble")


def base_classifier(
    model: str | Ensemble, model_args: dict[str, Any], denoiser: str | None, sigma: float | None
) -> BaseClassifier:
    """The model that is given or named, behind the denoiser in a folder, if any; `sigma` of the noise, if known."""
    from randsmooth import models
    from randsmooth.certification import load_model

    base = load_model(model, **model_args) if isinstance(model, str) else model
    return base if denoiser is None else models.Denoised(models.load_denoiser(denoiser, sigma=sigma), base)


def default_out(model: str | Sequence[str], denoiser: str | None = None, ending: str = ".parquet") -> Path:
    """The file of certificates for a model, MODEL.parquet or MODEL+DENOISER.parquet; of a URL, in this folder.

    Of several models it has the names of all, in the folder of the first.

    Example:
        >>> default_out(["runs/a", "runs/b/", "net.onnx"]).as_posix(), default_out("zoo.py:net", "runs/d").as_posix()
        ('runs/a+b+net.onnx.parquet', 'zoo.py-net+d.parquet')
    """
    first, *others = (each.rstrip("/") for each in ([model] if isinstance(model, str) else model))
    start = name_of(first) if is_url(first) else first
    behind = [] if denoiser is None else [name_of(denoiser)]
    return Path("+".join([start, *map(name_of, others), *behind]).replace(":", "-") + ending)
