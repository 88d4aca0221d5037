"""Training methods by name: those of randsmooth and of other packages."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from randsmooth.errors import InputError, unknown
from randsmooth.registry import Registry

if TYPE_CHECKING:
    from randsmooth.methods.base import Method  # which loads torch

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


def create(name: str, **hyperparameters: Any) -> Method:
    """The method `name` with these hyperparameters, which may be NumPy scalars, and its defaults for the rest.

    Raises:
        InputError: an unknown method or hyperparameter, a missing one, or a value of a wrong type or out of range.

    Example:
        >>> method = create("macer", lbd=8.0)
        >>> method.lbd, method.source
        (8.0, 'Zhai et al., ICLR 2020')
        >>> create("maser")
        Traceback (most recent call last):
        randsmooth.errors.InputError: unknown method 'maser': did you mean 'macer'? Expected one of: ...
    """
    method = METHODS[name]
    fields = {field.name: field for field in dataclasses.fields(method)}
    for key in hyperparameters:
        if key not in fields:
            raise unknown(f"hyperparameter of {name}", key, fields)
    for key, field in fields.items():
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and key not in hyperparameters:
            raise InputError(f"{name} needs a value for {key}: --set {key}=VALUE")
    plain = {key: value.item() if isinstance(value, np.generic) else value for key, value in hyperparameters.items()}
    return method(**plain)
