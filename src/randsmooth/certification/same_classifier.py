"""The base classifier that a table of certificates is about: how to rebuild it, and whether a model is the same."""

from __future__ import annotations

import warnings

from randsmooth import models
from randsmooth.certificates import (
    ANOTHER_MODEL,
    Certificates,
    CertificationSettings,
    Header,
    classifier_difference,
    precision_named,
)
from randsmooth.certification.behaviour import on_made_up
from randsmooth.certification.described import describe_model
from randsmooth.certification.smoothed import SmoothedClassifier
from randsmooth.errors import InputError, Note
from randsmooth.extras import versions


def certified_as(table: Certificates) -> CertificationSettings:
    """The settings that the certified classifier depends on: sigma, sound, backend, precision and batch.

    Raises:
        InputError: the header lacks one of them or the model (as that of a TSV log does), or names an unknown
            precision.

    Example:
        >>> import tempfile
        >>> from torch import nn
        >>> from randsmooth.certification.dataset import certify
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = certify(model, "digits", sigma=0.25, n=100, take=5, out=f"{folder}/mine.parquet")
        >>> again = SmoothedClassifier(model, certified_as(table))
        >>> again.sigma, again.engine.backend.name
        (0.25, 'torch')
    """
    header = table.header
    recorded = {"sigma": header.sigma, "model's weights": _weights(table), "precision": header.precision}
    missing = [name for name, value in recorded.items() if value is None]
    if missing:
        raise InputError(
            f"{called(table)} does not say its {missing[0]} (a TSV log?), so it cannot be known which classifier it is "
            "about: give the Parquet file that `randsmooth certify` wrote"
        )
    facts = {name: getattr(header, name) for name in ("sigma", "sound", "backend", "batch")}
    try:
        return CertificationSettings(**facts, precision=precision_named(header.precision or ""))
    except InputError as error:
        raise InputError(f"{called(table)}: {error}") from error


def check_same(model: object, table: Certificates, identity: str | None = None) -> None:
    """Check that `model` has the same name and weights as the table's base classifier.

    It is quick, and meant to come before long work; `check_answers` compares outputs too.

    Raises:
        InputError: it is another model, or it needs the `identity` under which it was certified.

    Example:
        >>> import tempfile
        >>> from torch import nn
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
    difference = classifier_difference(table.header, Header(model=describe_model(models.adapt(model), identity)))
    if difference is not None:
        raise _another(table, difference.detail)


def check_answers(smoothed: SmoothedClassifier, shape: tuple[int, ...], table: Certificates) -> None:
    """Check that `smoothed` gives the same outputs as the table's classifier did, for noisy images of `shape`.

    Call `check_same` first. On another processor, or with another version of a library, the last bits of the logits
    may differ, and with them the class of a few samples. Since no evidence is mixed here, that is only a `Note`.

    Raises:
        InputError: the outputs differ, and no difference in the arithmetic explains it.

    Example:
        >>> import tempfile
        >>> from torch import nn
        >>> from randsmooth.certification.dataset import certify
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = certify(model, "digits", sigma=0.25, n=100, take=5, out=f"{folder}/mine.parquet")
        >>> check_answers(SmoothedClassifier(model, certified_as(table)), (1, 8, 8), table)
    """
    engine, header = smoothed.engine, table.header
    backend = engine.prepare(shape)
    now = {"device": backend.processor, "instructions": backend.instructions, "batch": engine.size}
    now |= {"backend": backend.name, "precision": backend.arithmetic, "versions": versions(*backend.packages)}
    now |= {"behaviour": on_made_up(engine, shape)}
    difference = classifier_difference(header, header.model_copy(update=now))
    if difference is not None and difference.kind == ANOTHER_MODEL:
        raise _another(table, difference.detail)
    if difference is not None:
        warnings.warn(f"{called(table)} was certified in {': '.join(difference)}", Note, stacklevel=2)


def _another(table: Certificates, detail: str) -> InputError:
    return InputError(f"{called(table)} is about another model: {detail}. Give the model that was certified")


def _weights(table: Certificates) -> str | None:
    return (table.header.model or {}).get("weights")


def called(table: Certificates) -> str:
    """The name of a table, for errors."""
    return table.name or "the table"
