"""Training methods by name, and their hyperparameters: what a dataclass field declares about them, and what is refused.

Training needs no list of methods: what it must know about a hyperparameter is in the metadata of its field, such as
`E_t: int = field(default=70, metadata=begins(attack="the attack"))`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from randsmooth.errors import InputError, check_known
from randsmooth.registry import Registry

if TYPE_CHECKING:
    from randsmooth.methods.base import Method  # which loads torch

Noise = Literal["of the run", "of the model"]

METHODS: Registry[type[Method]] = Registry(
    "method",
    "randsmooth.methods",
    {
        "amplify": "randsmooth.methods.amplify:Amplify",
        "cat-rs": "randsmooth.methods.cat_rs:CatRS",
        "consistency": "randsmooth.methods.consistency:Consistency",
        "gaussian": "randsmooth.methods.gaussian:Gaussian",
        "macer": "randsmooth.methods.macer:Macer",
        "smoothadv": "randsmooth.methods.smoothadv:SmoothAdv",
        "smoothmix": "randsmooth.methods.smoothmix:SmoothMix",
        "stability": "randsmooth.methods.stability:Stability",
    },
)

# Metadata of a field that counts epochs: in runs shorter or longer than the preset's it is scaled with the schedule.
EPOCHS: Mapping[str, Any] = MappingProxyType({"unit": "epochs"})

MOST = 10**6  # for counts of noises, steps or epochs: larger ones would take all memory, or years
KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def create(name: str, **hyperparameters: Any) -> Method:
    """The method `name` with these hyperparameters and its defaults for the rest.

    NumPy's numbers are taken, whole numbers for any number and, where "off" is a choice, false: YAML reads it so.

    Raises:
        InputError: an unknown method or hyperparameter, a missing one, or a value of a wrong type or out of range.

    Example:
        >>> method = create("macer", lbd=8)
        >>> method.lbd, method.source
        (8.0, 'Zhai et al., ICLR 2020')
        >>> create("maser")
        Traceback (most recent call last):
        randsmooth.errors.InputError: unknown method 'maser': did you mean 'macer'? Expected one of: ...
    """
    method = METHODS[name]
    fields = {field.name: field for field in dataclasses.fields(method)}
    check_known(f"hyperparameter of {name}", fields, *hyperparameters)
    for key, field in fields.items():
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and key not in hyperparameters:
            raise InputError(f"{name} needs a value for {key}: --set {key}=VALUE")
    hints = get_type_hints(method)
    return method(**{key: _as_declared(value, hints[key]) for key, value in hyperparameters.items()})


def _as_declared(value: Any, hint: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is False and "off" in get_args(hint):
        return "off"
    return float(value) if hint is float and type(value) is int else value


def check_types(method: Method) -> None:
    """Raise InputError unless every hyperparameter is of its declared type.

    A whole number is accepted for a float. No whole number may be larger than MOST in absolute value. For a `Literal`,
    only its own values are accepted, type included: True is not 1.
    """
    hints = get_type_hints(type(method))
    for field in dataclasses.fields(method):
        name, hint, value = field.name, hints[field.name], getattr(method, field.name)
        allowed = get_args(hint) or (hint,)  # of `str | None`, both
        if get_origin(hint) is Literal:
            if not any(type(value) is type(choice) and value == choice for choice in allowed):
                raise InputError(f"{name}={value!r} must be one of {', '.join(map(str, allowed))}")
        elif {*allowed} <= {*KINDS, NoneType}:
            if not (type(value) in allowed or (float in allowed and type(value) is int)):
                raise InputError(f"{name}={value!r} must be {KINDS[allowed[0]]}")
            if type(value) is int and abs(value) > MOST:
                raise InputError(f"{name}={value} must be at most {MOST:,}")


def at_least(name: str, value: float, least: float) -> None:
    """Raise InputError unless `value` is finite and at least `least`."""
    if not least <= value < float("inf"):
        raise InputError(f"{name}={value} must be at least {least} and finite")


def within(name: str, value: float, low: float, high: float) -> None:
    """Raise InputError unless low <= value <= high."""
    if not low <= value <= high:
        raise InputError(f"{name}={value} must lie in [{low}, {high}]")


def above(name: str, value: float, bound: float) -> None:
    """Raise InputError unless `value` is finite and above `bound`."""
    if not bound < value < float("inf"):
        raise InputError(f"{name}={value} must be a finite number above {bound}")


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


def declared(method: type[Method], what: str) -> dict[str, Any]:
    """Hyperparameter -> what its metadata says of "unit", "begins" or "model", for those where they say it."""
    return {field.name: field.metadata[what] for field in dataclasses.fields(method) if what in field.metadata}


def model_folders(method: type[Method]) -> dict[str, Noise]:
    """The hyperparameters that name folders of other models, and the noise under which these models predict."""
    return declared(method, "model")
