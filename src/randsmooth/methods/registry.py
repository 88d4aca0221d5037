"""Training methods by name, ours and those of other packages, and how one is made.

Names are checked without loading torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from randsmooth import methods
from randsmooth.methods.hyperparameters import record_of
from randsmooth.registry import OnDemand, Registry

if TYPE_CHECKING:
    from randsmooth.methods.base import Method

METHODS: Registry[type[Method]] = Registry(
    "method",
    "randsmooth.methods",
    OnDemand(
        {
            "amplify": lambda: methods.amplify.Amplify,
            "cat-rs": lambda: methods.cat_rs.CatRS,
            "consistency": lambda: methods.consistency.Consistency,
            "gaussian": lambda: methods.gaussian.GaussianTraining,
            "macer": lambda: methods.macer.Macer,
            "smoothadv": lambda: methods.smoothadv.SmoothAdv,
            "smoothmix": lambda: methods.smoothmix.SmoothMix,
            "stability": lambda: methods.stability.Stability,
        }
    ),
)


def create(name: str, **hyperparameters: Any) -> Method:
    """Return the method `name` with these hyperparameters and its defaults for the rest.

    NumPy's numbers are taken, whole numbers for any number and, where "off" is a choice,
    false: YAML reads it so.

    Raises:
        UnknownName: there is no such method.
        Problem: a hyperparameter is unknown or missing, or its value is of a wrong type or
            out of range.

    Example:
        >>> method = create("macer", lbd=8)
        >>> method.lbd, method.source
        (8.0, 'Zhai et al., ICLR 2020')
        >>> create("maser")
        Traceback (most recent call last):
        randsmooth.errors.UnknownName: unknown method 'maser': did you mean 'macer'? Expected one of: ...
    """
    method = METHODS[name]
    types = get_type_hints(method)
    given = {}
    for field, value in hyperparameters.items():
        can_be_off = "off" in get_args(types.get(field))
        given[field] = "off" if value is False and can_be_off else value
    record = record_of(method)(**given)
    return method(**dict(record))
