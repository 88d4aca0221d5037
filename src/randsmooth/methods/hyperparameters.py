"""What training must know about a method's hyperparameters, declared in the metadata of their dataclass fields.

For example `E_t: int = field(default=70, metadata=begins(attack="the attack"))`. So training needs no list of methods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from randsmooth.methods.base import Method

Noise = Literal["of the run", "of the model"]

# Metadata of a field that counts epochs: in runs shorter or longer than the preset's it is scaled with the schedule.
EPOCHS: Mapping[str, Any] = MappingProxyType({"unit": "epochs"})


def begins(**parts: str) -> Mapping[str, Any]:
    """Metadata of a field that holds the epoch, counted from 0, at which parts of the method begin.

    Such a field counts epochs, as with `EPOCHS`, and training refuses an epoch beyond the last one of the run.

    Args:
        parts: name of the hyperparameter that switches a part on or off -> what messages call that part.

    Example:
        >>> begins(attack="the attack")["begins"]
        {'attack': 'the attack'}
    """
    return {**EPOCHS, "begins": parts}


def model_folder(noise: Noise) -> Mapping[str, Any]:
    """Metadata of a field that names the folder of another model, or is None.

    Training checks that there is such a model and that its images have the same shape and classes. It records the hash
    of its weights, because a resumed run must use the same weights, from whatever folder.

    Args:
        noise: the noise under which the model predicts. "of the run": that of the model in training; if the other model
            records a sigma, it must be the same. "of the model": the noise that it was itself trained with, as for a
            teacher, whose predictions are made before the first epoch.

    Example:
        >>> model_folder("of the model")["model"]
        'of the model'
    """
    return {"model": noise}


def in_epochs(method: type[Method]) -> set[str]:
    """The names of the hyperparameters that count epochs."""
    return {field.name for field in dataclasses.fields(method) if field.metadata.get("unit") == "epochs"}


def beginnings(method: type[Method]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The hyperparameters that say when something begins, each with its parts as given to `begins`."""
    for field in dataclasses.fields(method):
        if "begins" in field.metadata:
            yield field.name, field.metadata["begins"]


def model_folders(method: type[Method]) -> dict[str, Noise]:
    """The hyperparameters that name folders of other models, and the noise under which these models predict."""
    return {field.name: field.metadata["model"] for field in dataclasses.fields(method) if "model" in field.metadata}
