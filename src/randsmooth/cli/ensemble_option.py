"""The options that make several models one base classifier."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from randsmooth.errors import InputError, unknown

if TYPE_CHECKING:
    from randsmooth.models import Ensemble

RULES = {"mean-logits": "logits", "mean-probabilities": "probabilities", "vote": "vote"}
ENSEMBLE = f"How several models answer as one classifier, which is certified: {', '.join(RULES)}."
CONSENSUS = (
    "Ask the first so many models, and the others only where these disagree: another classifier than that of all, as "
    "soundly certified, which answers faster."
)


def single(model: object) -> object:
    """A list of one model as that model."""
    return model[0] if isinstance(model, list) and len(model) == 1 else model


def check_ensemble(model: str | Sequence[str], rule: str | None, consensus: int | None) -> None:
    """Raise InputError for several models without a rule, a rule for one, or one that does not exist.

    Example:
        >>> check_ensemble(["runs/a", "runs/b"], "vote", None)
        >>> check_ensemble(["runs/a", "runs/b"], None, None)
        Traceback (most recent call last):
        randsmooth.errors.InputError: 2 models are given: certify each alone, or all as one classifier by --ensemble ...
    """
    if rule is not None and rule not in RULES:
        raise unknown("ensemble", rule, RULES)
    if not isinstance(model, str) and rule is None:
        raise InputError(
            f"{len(model)} models are given: certify each alone, or all as one classifier by --ensemble and "
            f"{', '.join(RULES)}"
        )
    if isinstance(model, str) and rule is not None:
        raise InputError(f"--ensemble {rule} needs at least two models; got {model}")
    if rule is None and consensus is not None:
        raise InputError(f"--consensus {consensus} is for several models and --ensemble")


def joined(model: str | Sequence[str]) -> str:
    """What to call several models: their names, in the folder of the first.

    Example:
        >>> joined(["runs/a", "runs/b/", "net.onnx"])
        'runs/a+b+net.onnx'
    """
    if isinstance(model, str):
        return model
    first, *others = (each.rstrip("/") for each in model)
    return "+".join([first, *(Path(each).name for each in others)])


def ensemble_of(model: Sequence[str], rule: str, consensus: int | None, num_classes: int | None) -> Ensemble:
    """The models that are named, as one base classifier."""
    from randsmooth import models

    return models.Ensemble(model, RULES[rule], consensus=consensus, num_classes=num_classes)
