"""Hyperparameters of training methods: what their fields declare, and what is refused.

Training needs no list of methods. What it must know about a hyperparameter is in the
metadata of its field, such as
`E_t: int = field(default=70, metadata=begins(attack="the attack"))`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import ConfigDict, Field, create_model

from randsmooth.frozen_record import FrozenRecord

HyperparameterClass = type[Any]
"""A dataclass whose fields are hyperparameters, such as a subclass of `Method`."""

OtherModelNoise = Literal["of the run", "of the model"]

# Metadata of a field that counts epochs: in runs shorter or longer than the preset's it is
# scaled with the schedule.
EPOCHS: Mapping[str, Any] = MappingProxyType({"unit": "epochs"})

# The most noises, steps or epochs: more would take all memory, or years.
LARGEST_COUNT = 10**6

# What a hyperparameter may be, where it is no plain `bool`, `int`, `float`, `str | None` or
# `Literal`. Epochs are counted from 0.
Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
Epoch = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Hyperparameters(FrozenRecord):
    """The hyperparameters of a method, by which its class checks them.

    Each must be of its type; True is no 1.
    """

    model_config = ConfigDict(
        strict=True, arbitrary_types_allowed=True, protected_namespaces=()
    )
    field_is = "hyperparameter"


@cache
def record_of(method: HyperparameterClass) -> type[_Hyperparameters]:
    """Return the record with the fields of `method`, by which they are checked.

    It raises Problem unless each is as its annotation says, and m is at least 1.
    """
    types = get_type_hints(method, include_extras=True)
    limits_of_m = getattr(types.get("m"), "__metadata__", ())
    types["m"] = Annotated[int, Field(gt=0, le=LARGEST_COUNT), *limits_of_m]

    fields: dict[str, Any] = {}
    for field in dataclasses.fields(method):
        is_required = field.default is dataclasses.MISSING
        fields[field.name] = (types[field.name], ... if is_required else field.default)
    return create_model(method.__name__, __base__=_Hyperparameters, **fields)


def begins(**parts: str) -> Mapping[str, Any]:
    """Return the metadata of a field that holds the epoch at which parts of a method begin.

    Such a field counts epochs from 0, as with `EPOCHS`, and training refuses an epoch
    beyond the last one of the run. Before it, a `Schedule` that is not the method's own
    leaves the parts out.

    Args:
        parts: name of the hyperparameter without which (False, or 0) a part is off -> what
            messages call that part.

    Example:
        >>> begins(attack="the attack")["begins"]
        {'attack': 'the attack'}
    """
    return {**EPOCHS, "begins": parts}


def ramps(*names: str) -> Mapping[str, Any]:
    """Return the metadata of a field W over whose epochs hyperparameters grow.

    They grow linearly, from 1 / W of them on. The field counts epochs, as with `EPOCHS`.

    Example:
        >>> ramps("eps")["ramps"]
        ('eps',)
    """
    return {**EPOCHS, "ramps": names}


def model_folder(noise: OtherModelNoise) -> Mapping[str, Any]:
    """Return the metadata of a field that names the folder of another model, or is None.

    Training checks that there is such a model and that its images have the same shape and
    classes. It records the hash of its weights, because a resumed run must use the same
    weights, from whatever folder.

    Args:
        noise: the noise under which the model predicts. "of the run": that of the model in
            training; if the other model records a sigma, it must be the same. "of the
            model": the noise that it was itself trained with, as for a teacher, whose
            predictions are made before the first epoch.

    Example:
        >>> model_folder("of the model")["model"]
        'of the model'
    """
    return {"model": noise}


def declared(method: HyperparameterClass, what: str) -> dict[str, Any]:
    """Return what the metadata of each hyperparameter says of `what`.

    Hyperparameters that say nothing of it are left out.

    Args:
        method: the class whose fields are asked.
        what: "unit", "begins", "ramps" or "model".
    """
    return {
        field.name: field.metadata[what]
        for field in dataclasses.fields(method)
        if what in field.metadata
    }
