"""The base classifier that a table of certificates is about: how to make it again, and whether a model is it."""

from __future__ import annotations

import warnings
from typing import Any

from torch import nn

from randsmooth import models
from randsmooth.certificates import (
    ANOTHER_MODEL,
    Certificates,
    CertificationSettings,
    Header,
    precision_named,
    told_apart,
    unchecked,
)
from randsmooth.certification.behaviour import on_made_up
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import InputError, Note
from randsmooth.models import Classifier, OnnxModel
from randsmooth.versions import versions


def certified_as(table: Certificates) -> CertificationSettings:
    """The settings that make the certified base classifier and its noise: sigma, sound, backend, precision and batch.

    Raises:
        InputError: the header does not say them or which model it is about, as that of a log does not, or names
            an unknown precision.

    Example:
        >>> import tempfile
        >>> from randsmooth.certification.dataset import certify
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = certify(model, "digits", sigma=0.25, n=100, take=5, out=f"{folder}/mine.parquet")
        >>> again = SmoothedClassifier(model, certified_as(table))
        >>> again.sigma, again.engine.backend.name
        (0.25, 'torch')
    """
    header = table.header
    said = {"sigma": header.sigma, "model's weights": _weights(table), "precision": header.precision}
    missing = [name for name, value in said.items() if value is None]
    if missing:
        raise InputError(
            f"{called(table)} does not say its {missing[0]} (a TSV log?), so there is no telling which classifier it "
            "is about: give the Parquet file that `randsmooth certify` wrote"
        )
    facts = {name: getattr(header, name) for name in ("sigma", "sound", "backend", "batch")}
    try:
        return CertificationSettings(**facts, precision=precision_named(header.precision or ""))
    except InputError as error:
        raise InputError(f"{called(table)}: {error}") from error


def describe_model(model: nn.Module | OnnxModel, identity: str | None = None) -> dict[str, Any]:
    """What identifies a base classifier, and how it came to be where that is known.

    Raises:
        InputError: it needs an `identity` (see `models.identity_of`).
    """
    known = {"weights": models.weights_hash(model), "identity": models.identity_of(model, identity)}
    known |= {} if identity is None else {"called": identity}
    if isinstance(model, OnnxModel):
        return known | {"arch": "ONNX file"}
    inner = models.unwrapped(model)
    if not isinstance(inner, Classifier):
        return known | {"arch": type(inner).__qualname__}
    return inner.provenance | known | {"arch": inner.arch} | {key: inner.config[key] for key in ("mean", "std")}


def check_same(model: nn.Module | OnnxModel, table: Certificates, identity: str | None = None) -> None:
    """Check, before long work, that `model` holds what the table's base classifier does.

    Raises:
        InputError: it is another, or it needs the `identity` that it was certified under.

    Example:
        >>> import tempfile
        >>> from randsmooth.certification.dataset import certify
        >>> model, other = (nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval() for _ in range(2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = certify(model, "digits", sigma=0.25, n=100, take=5, out=f"{folder}/mine.parquet")
        >>> check_same(model, table)
        >>> check_same(other, table)
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: mine is about another model: weights ...
    """
    apart = told_apart(table.header, Header(model=describe_model(model, identity)))
    if apart is not None:
        raise _another(table, apart[1])


def check_answers(smoothed: SmoothedClassifier, shape: tuple[int, ...], table: Certificates) -> None:
    """Check that `smoothed`, which passed `check_same`, answers noisy images of `shape` as the table's classifier did.

    Another processor or library computes other last bits, so that now and then a sample gets another class. That mixes
    no evidence, and only a `Note` says so; as it does for an older table, whose header holds no answers.

    Raises:
        InputError: the answers differ, and no difference of the arithmetic explains it.

    Example:
        >>> import tempfile
        >>> from randsmooth.certification.dataset import certify
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = certify(model, "digits", sigma=0.25, n=100, take=5, out=f"{folder}/mine.parquet")
        >>> check_answers(SmoothedClassifier(model, certified_as(table)), (1, 8, 8), table)
    """
    engine, header = smoothed.engine, table.header
    if header.behaviour is None:
        warnings.warn(f"{called(table)} was made by an older version: {unchecked(header)}", Note, stacklevel=2)
        return
    backend = engine.prepare(shape)
    now = {"device": backend.processor, "instructions": backend.instructions, "batch": engine.size}
    now |= {"backend": backend.name, "precision": backend.arithmetic, "versions": versions(*backend.packages)}
    apart = told_apart(header, header.model_copy(update=now | {"behaviour": on_made_up(engine, shape)}))
    if apart is not None and apart[0] == ANOTHER_MODEL:
        raise _another(table, apart[1])
    if apart is not None:
        warnings.warn(f"{called(table)} was certified in {': '.join(apart)}", Note, stacklevel=2)


def _another(table: Certificates, by: str) -> InputError:
    return InputError(f"{called(table)} is about another model: {by}. Give the model that was certified")


def _weights(table: Certificates) -> str | None:
    return (table.header.model or {}).get("weights")


def called(table: Certificates) -> str:
    """What to call a table in an error."""
    return table.name or "the table"
