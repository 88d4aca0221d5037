"""Training methods by name, ours and those of other packages, and how one is made.

Names are checked and listed without loading torch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from randsmooth import methods
from randsmooth.methods.hyperparameters import record_of
from randsmooth.registry import OnDemand, Registry

if TYPE_CHECKING:
    from randsmooth.methods.base import Method


@dataclass(frozen=True)
class OurMethod:
    """A method of ours that is not imported yet, and what a listing says of it.

    Attributes:
        load: imports and returns the class, which loads torch.
        summary: the first paragraph of its docstring.
        source: its paper, `Method.source`.
    """

    load: Callable[[], type[Method]]
    summary: str
    source: str


# A listing says so much without importing a method.
OUR_METHODS = {
    "amplify": OurMethod(
        lambda: methods.amplify.Amplify,
        summary="Discard hard images, sample the rest by their weights, "
        "and attack the noise.",
        source="Sun, Mao, Mueller & Vechev, ICML 2025 ('Ours')",
    ),
    "cat-rs": OurMethod(
        lambda: methods.cat_rs.CatRS,
        summary="The K smallest of m cross-entropies, and the worst "
        "attacked one (algorithm 1).",
        source="Jeong, Kim & Shin, AAAI 2023",
    ),
    "consistency": OurMethod(
        lambda: methods.consistency.Consistency,
        summary="Gaussian training with predictions that agree with "
        "their mean (eq. 8).",
        source="Jeong & Shin, NeurIPS 2020",
    ),
    "gaussian": OurMethod(
        lambda: methods.gaussian.GaussianTraining,
        summary="Mean cross-entropy over m noisy copies of each image.",
        source="Cohen, Rosenfeld & Kolter, ICML 2019",
    ),
    "macer": OurMethod(
        lambda: methods.macer.Macer,
        summary="-log of the mean prediction, and a hinge on the "
        "certified radius (algorithm 1).",
        source="Zhai et al., ICLR 2020",
    ),
    "smoothadv": OurMethod(
        lambda: methods.smoothadv.SmoothAdv,
        summary="Cross-entropy under m noises at a perturbed image.",
        source="Salman et al., NeurIPS 2019",
    ),
    "smoothmix": OurMethod(
        lambda: methods.smoothmix.SmoothMix,
        summary="Gaussian training, plus KL on the way to an attacked "
        "image (section 3.2).",
        source="Jeong et al., NeurIPS 2021",
    ),
    "stability": OurMethod(
        lambda: methods.stability.Stability,
        summary="Cross-entropy of the clean image, and between its "
        "clean and noisy predictions.",
        source="Li, Chen, Wang & Carin, NeurIPS 2019",
    ),
}

METHODS: Registry[type[Method]] = Registry(
    "method",
    "randsmooth.methods",
    OnDemand({name: method.load for name, method in OUR_METHODS.items()}),
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
