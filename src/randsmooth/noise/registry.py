"""Noises by name, ours and those of other packages, and how one is made from what a user or a header says.

Listing them loads no NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from randsmooth.documents import shown
from randsmooth.errors import BadValue, MissingValue, Problem
from randsmooth.registry import Registry

if TYPE_CHECKING:
    from randsmooth.noise.base import Noise

NOISES: Registry[type[Noise]] = Registry(
    "noise",
    "randsmooth.noises",
    {
        "gaussian": "randsmooth.noise.gaussian:Gaussian",
        "gaussian-per-coordinate": "randsmooth.noise.gaussian_per_coordinate:GaussianPerCoordinate",
        "uniform": "randsmooth.noise.uniform:Uniform",
        "laplace": "randsmooth.noise.laplace:Laplace",
        "splitting": "randsmooth.noise.splitting:Splitting",
        "ablation": "randsmooth.noise.ablation:Ablation",
    },
)


def make_noise(text: str) -> Noise:
    """The noise that `text` names, such as "gaussian=0.5", "uniform=0.6", "ablation=45" or "gaussian=std.npy".

    Args:
        text: a name of `NOISES`, and after `=` its width, or how many pixels are kept, or a file.

    Raises:
        Problem: there is no such noise, or what follows its name is missing or wrong.

    Example:
        >>> make_noise("uniform=0.6")
        Uniform(lam=0.6)
        >>> make_noise("unifrom=0.6")
        Traceback (most recent call last):
        ...
        randsmooth.errors.UnknownName: unknown noise 'unifrom': did you mean 'uniform'? Expected one of: ...
    """
    name, _, value = text.strip().partition("=")
    kind = NOISES[name]
    if not value:
        raise MissingValue(
            f"noise {shown(repr(text))} lacks its number: write {kind.usage}. {kind.help}"
        )
    try:
        return kind.parse(value)
    except Problem as error:
        raise BadValue(f"noise {shown(repr(text))}: {error}") from error


def noise_from(facts: Mapping[str, Any]) -> Noise:
    """The noise whose `Noise.facts` these are, equal to the last bit.

    Raises:
        Problem: there is no such noise here, or these are not its facts.

    Example:
        >>> noise_from({"name": "uniform", "lam": 0.6})
        Uniform(lam=0.6)
    """
    own = {
        key: value
        for key, value in facts.items()
        if key not in ("name", "held", "columns")
    }
    noise = NOISES[str(facts.get("name", ""))].from_facts(own)
    if "held" not in facts:
        return noise
    from randsmooth.noise.holding_fixed import holding  # here, since it loads NumPy

    return holding(facts, noise)
