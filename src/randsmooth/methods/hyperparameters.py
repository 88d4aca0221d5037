"""What a method's dataclass fields say of themselves, so that training needs no list of methods.

A field says it in its metadata: `E_t: int = field(default=70, metadata=begins(attack="the attack"))`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from randsmooth.methods.base import Method

Noise = Literal["of the run", "of the model"]

# The value is a number of epochs: shorter and longer runs than the preset's scale it with the schedule.
EPOCHS: Mapping[str, Any] = MappingProxyType({"unit": "epochs"})


def begins(**parts: str) -> Mapping[str, Any]:
    """Metadata of a field that holds the epoch, counted from 0, at which parts of the method begin.

    Such a field is in `EPOCHS`, and training refuses an epoch beyond the last of the run.

    Args:
        parts: the name of the hyperparameter that switches a part off -> what a person calls that part.

    Example:
        >>> begins(attack="the attack")["begins"]
        {'attack': 'the attack'}
    """
    return {**EPOCHS, "begins": parts}


def model_folder(noise: Noise) -> Mapping[str, Any]:
    """Metadata of a field that names the folder of another model, or is None.

    Training checks that such a model is there and knows the same images, and keeps the hash of its weights: a resumed
    run needs the same weights, wherever they lie.

    Args:
        noise: under which noise the model is asked. "of the run": that of the model in training, so that it must have
            been trained at the same sigma, where it says at which. "of the model": that of its own training, as a
            teacher is asked before the first epoch.

    Example:
        >>> model_folder("of the model")["model"]
        'of the model'
    """
    return {"model": noise}


def in_epochs(method: type[Method]) -> set[str]:
    """The names of the hyperparameters that count epochs."""
    return {field.name for field in dataclasses.fields(method) if field.metadata.get("unit") == "epochs"}


def beginnings(method: type[Method]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The hyperparameters at whose epoch something begins, each with its parts as in `begins`."""
    for field in dataclasses.fields(method):
        if "begins" in field.metadata:
            yield field.name, field.metadata["begins"]


def model_folders(method: type[Method]) -> dict[str, Noise]:
    """The hyperparameters that name the folders of other models, with the noise under which these are asked."""
    return {field.name: field.metadata["model"] for field in dataclasses.fields(method) if "model" in field.metadata}
