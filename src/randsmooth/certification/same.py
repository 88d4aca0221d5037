"""The base classifier that a table of certificates is about: how to make it again, and whether a model is it."""

from __future__ import annotations

from typing import Any

from torch import nn

from randsmooth import models
from randsmooth.certificates import Certificates
from randsmooth.certification.backends.base import FORMATS
from randsmooth.errors import InputError
from randsmooth.models import Classifier, OnnxModel

PRECISIONS = {name: precision for precision, name in FORMATS.items()}  # as a header says it


def certified_as(table: Certificates) -> dict[str, Any]:
    """What makes a `SmoothedClassifier` the certified one, besides the model: sigma, precision, backend, batch, sound.

    Raises:
        InputError: the header does not say them or which model it is about, as that of a log does not, or names
            an unknown precision.
    """
    header = table.header
    said = {"sigma": header.sigma, "model's weights": _weights(table), "precision": header.precision}
    missing = [name for name, value in said.items() if value is None]
    if header.sigma is None or header.precision is None or missing:
        raise InputError(
            f"{called(table)} does not say its {missing[0]} (a TSV log?), so there is no telling which classifier it "
            "is about: give the Parquet file that `randsmooth certify` wrote"
        )
    kind = header.precision.split(",")[0].split()[0]
    if kind not in PRECISIONS:
        raise InputError(f"{called(table)} was made in {kind}; known are {' and '.join(PRECISIONS)}")
    told = {"sigma": header.sigma, "precision": PRECISIONS[kind], "backend": header.backend}
    return told | {"batch": header.batch, "sound": header.sound}


def check_same(model: nn.Module | OnnxModel, table: Certificates) -> None:
    """Raise InputError unless `model` is the table's base classifier: its weights, and its normalisation."""
    theirs = table.header.model or {}
    for what, mine in _identity(model).items():
        if what in theirs and theirs[what] != mine:
            raise InputError(
                f"{called(table)} is about a model with {what} {theirs[what]}, and this one has {mine}: give the "
                "model that was certified"
            )


def _identity(model: nn.Module | OnnxModel) -> dict[str, Any]:
    normalisation = {key: model.config[key] for key in ("mean", "std")} if isinstance(model, Classifier) else {}
    return {"weights": models.weights_hash(model)} | normalisation


def _weights(table: Certificates) -> str | None:
    return (table.header.model or {}).get("weights")


def called(table: Certificates) -> str:
    """What to call a table in an error."""
    return table.name or "the table"
