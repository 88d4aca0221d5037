"""A small network that nobody trained, as a model folder."""

from collections.abc import Sequence
from pathlib import Path

import torch

from randsmooth import models

DIGITS = [*"0123456789"]


def untrained(
    folder: Path,
    classes: Sequence[str] = DIGITS,
    *,
    extra_channels: int = 0,
    **provenance: object,
) -> Path:
    """The folder of a classifier of 8x8 grey images, which says `provenance` of its training."""
    torch.manual_seed(0)
    how = {
        "classes": [*classes],
        "shape": [1, 8, 8],
        "extra_channels": extra_channels,
        "provenance": provenance,
    }
    models.save(models.Classifier(arch="small-cnn", **how).eval(), folder)  # type: ignore[arg-type]
    return folder


def another(model: Path, folder: Path) -> models.Classifier:
    """A copy of a model in `folder`, with other weights."""
    other = models.load(model)
    other.network.requires_grad_(False)
    next(other.parameters()).mul_(-1.0)
    models.save(other, folder)
    return other
