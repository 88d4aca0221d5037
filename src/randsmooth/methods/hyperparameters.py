"""Training methods by name, and their hyperparameters: what a dataclass field declares about them, and what is refused.

Training needs no list of methods: what it must know about a hyperparameter is in the metadata of its field, such as
`E_t: int = field(default=70, metadata=begins(attack="the attack"))`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

from pydantic import ConfigDict, Field, create_model

from randsmooth.frozen_record import FrozenRecord
from randsmooth.registry import Registry

if TYPE_CHECKING:
    from randsmooth.methods.base import Method  # which loads torch

OtherModelNoise = Literal["of the run", "of the model"]

METHODS: Registry[type[Method]] = Registry(
    "method",
    "randsmooth.methods",
    {
        "amplify": "randsmooth.methods.amplify:Amplify",
        "cat-rs": "randsmooth.methods.cat_rs:CatRS",
        "consistency": "randsmooth.methods.consistency:Consistency",
        "gaussian": "randsmooth.methods.gaussian:GaussianTraining",
        "macer": "randsmooth.methods.macer:Macer",
        "smoothadv": "randsmooth.methods.smoothadv:SmoothAdv",
        "smoothmix": "randsmooth.methods.smoothmix:SmoothMix",
        "stability": "randsmooth.methods.stability:Stability",
    },
)

# Metadata of a field that counts epochs: in runs shorter or longer than the preset's it is scaled with the schedule.
EPOCHS: Mapping[str, Any] = MappingProxyType({"unit": "epochs"})

MOST = (
    10**6
)  # for counts of noises, steps or epochs: larger ones would take all memory, or years

# What a hyperparameter may be, where it is no plain `bool`, `int`, `float`, `str | None` or `Literal`.
Count = Annotated[int, Field(ge=1, le=MOST)]
Epoch = Annotated[int, Field(ge=0, le=MOST)]  # counted from 0
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def create(name: str, **hyperparameters: Any) -> Method:
    """The method `name` with these hyperparameters and its defaults for the rest.

    NumPy's numbers are taken, whole numbers for any number and, where "off" is a choice, false: YAML reads it so.

    Raises:
        Problem: an unknown method or hyperparameter, a missing one, or a value of a wrong type or out of range.

    Example:
        >>> method = create("macer", lbd=8)
        >>> method.lbd, method.source
        (8.0, 'Zhai et al., ICLR 2020')
        >>> create("maser")
        Traceback (most recent call last):
        randsmooth.errors.UnknownName: unknown method 'maser': did you mean 'macer'? Expected one of: ...
    """
    method = METHODS[name]
    record, hints = record_of(method), get_type_hints(method)
    given = {
        key: "off" if value is False and "off" in get_args(hints.get(key)) else value
        for key, value in hyperparameters.items()
    }
    return method(**dict(record(**given)))


class _Hyperparameters(FrozenRecord):
    """Hyperparameters of a method, by which its class checks them: of their type, True being no 1."""

    model_config = ConfigDict(
        strict=True, arbitrary_types_allowed=True, protected_namespaces=()
    )
    field_is = "hyperparameter"


@cache
def record_of(method: type[Method]) -> type[_Hyperparameters]:
    """The record with the fields of `method`: it raises Problem unless each is as its annotation says, m from 1."""
    hints = get_type_hints(method, include_extras=True)
    hints["m"] = Annotated[
        int, Field(gt=0, le=MOST), *getattr(hints.get("m"), "__metadata__", ())
    ]  # on top of its own
    defaults = {each.name: each.default for each in dataclasses.fields(method)}
    fields: Any = {
        key: (hints[key], ... if value is dataclasses.MISSING else value)
        for key, value in defaults.items()
    }
    return create_model(method.__name__, __base__=_Hyperparameters, **fields)


def begins(**parts: str) -> Mapping[str, Any]:
    """Metadata of a field that holds the epoch, counted from 0, at which parts of the method begin.

    Such a field counts epochs, as with `EPOCHS`, and training refuses an epoch beyond the last one of the run. Before
    it, a `Schedule` that is not the method's own leaves the parts out.

    Args:
        parts: name of the hyperparameter without which (False, or 0) a part is off -> what messages call that part.

    Example:
        >>> begins(attack="the attack")["begins"]
        {'attack': 'the attack'}
    """
    return {**EPOCHS, "begins": parts}


def ramps(*names: str) -> Mapping[str, Any]:
    """Metadata of a field W that holds over how many epochs hyperparameters grow linearly, from 1 / W of them on.

    Such a field counts epochs, as with `EPOCHS`.

    Example:
        >>> ramps("eps")["ramps"]
        ('eps',)
    """
    return {**EPOCHS, "ramps": names}


def model_folder(noise: OtherModelNoise) -> Mapping[str, Any]:
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


def declared(method: type[Method], what: str) -> dict[str, Any]:
    """Hyperparameter -> what its metadata says of "unit", "begins", "ramps" or "model", for those where they say it."""
    return {
        field.name: field.metadata[what]
        for field in dataclasses.fields(method)
        if what in field.metadata
    }
