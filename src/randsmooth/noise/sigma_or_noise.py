"""How settings name a noise: by sigma, or by `noise`, in one form for each."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from randsmooth.errors import BadValue, Conflict
from randsmooth.noise.base import Noise
from randsmooth.noise.gaussian import Gaussian
from randsmooth.noise.registry import make_noise, noise_from


def noise_meant(value: Any) -> Any:
    """The noise that a user names by text or by its facts, or gives itself."""
    if isinstance(value, str):
        return make_noise(value)
    if value is not None and not isinstance(value, Noise | Mapping):
        raise BadValue(
            field="noise",
            value=value,
            expected="must be a noise, such as noise.Uniform(0.6) or 'uniform=0.6'",
        )
    return noise_from(value) if isinstance(value, Mapping) else value


ANoise = Annotated[
    Any,
    BeforeValidator(noise_meant),
    PlainSerializer(lambda noise: noise and noise.facts()),
]


def one_form(sigma: float | None, noise: Noise | None) -> dict[str, Any]:
    """The settings sigma and noise in the one form that they have: a Gaussian of one sigma is that sigma.

    Raises:
        Problem: they name two noises.

    Example:
        >>> one_form(None, Gaussian(0.5))
        {'sigma': 0.5, 'noise': None}
    """
    if isinstance(noise, Gaussian):
        if sigma not in (None, noise.sigma):
            raise Conflict(
                f"sigma={sigma:g} and noise={noise.text} differ: give one of them"
            )
        return {"sigma": noise.sigma, "noise": None}
    if noise is not None and sigma is not None:
        raise Conflict(
            f"sigma={sigma:g} is of Gaussian noise, not of {noise.text}: give one of them"
        )
    return {"sigma": sigma, "noise": noise}


def instead(fields: dict[str, Any]) -> dict[str, Any]:
    """The `fields` of a change of settings, in which sigma takes the place of a noise, and a noise that of sigma.

    Example:
        >>> instead({"noise": "uniform=0.6"}), instead({"sigma": 0.5}), instead({"n": 1000})
        ({'sigma': None, 'noise': 'uniform=0.6'}, {'noise': None, 'sigma': 0.5}, {'n': 1000})
    """
    if fields.get("noise") is not None:
        return {"sigma": None} | fields
    return {"noise": None} | fields if fields.get("sigma") is not None else fields


def noise_said(facts: Mapping[str, Any]) -> Noise | None:
    """The noise that a model's provenance, or a recipe, says; None where it says none, or that there was none.

    Raises:
        Problem: there is no such noise here.

    Example:
        >>> noise_said({"sigma": 0.5}), noise_said({"sigma": 0.0}), noise_said({})
        (Gaussian(sigma=0.5), None, None)
    """
    if isinstance(noise := facts.get("noise"), Mapping):
        return noise_from(noise)
    return Gaussian(sigma) if (sigma := facts.get("sigma")) else None
