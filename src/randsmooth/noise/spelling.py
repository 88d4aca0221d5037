"""How users and files spell a noise: `sigma=0.25` is `Gaussian(0.25)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import (
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from randsmooth.errors import BadValue, Conflict
from randsmooth.frozen_record import FrozenRecord
from randsmooth.noise.base import Noise
from randsmooth.noise.gaussian import Gaussian
from randsmooth.noise.gaussian_per_coordinate import STD, PerFeature
from randsmooth.noise.norms import check_length
from randsmooth.noise.registry import make_noise, noise_from
from randsmooth.number_text import shortest

# Digits of a standard deviation that are kept: fewer than the order of a sum decides.
DIGITS = 6


@dataclass(frozen=True)
class Deviations:
    """The spelling "0.25std": so many standard deviations of each feature.

    It is Gaussian noise, and becomes a noise once training data tell these deviations,
    as `randsmooth.certify` has them.

    Attributes:
        times: how many standard deviations.

    Raises:
        Problem: `times` is no number from 1e-6 to 1e6.

    Example:
        >>> Deviations(0.25).noise_for(np.array([2.0, 40.0])).std.tolist()
        [0.5, 10.0]
    """

    times: float

    def __post_init__(self) -> None:
        check_length("sigma", self.times)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what a text such as "0.25std" means.

        Raises:
            Problem: the text before `std` is no number.
        """
        try:
            times = float(text.strip().removesuffix(STD))
        except ValueError:
            raise BadValue(
                field="sigma",
                value=text,
                expected="must have a number before std, such as 0.25std",
            ) from None
        return cls(times)

    def noise_for(self, deviations: ArrayLike) -> PerFeature:
        """Return the noise on features with these standard `deviations`.

        They have the shape of an input. Radii are in these deviations.

        Raises:
            Problem: one of them is 0, as of a column that never varies.
        """
        std = self.times * np.asarray(deviations, np.float64)
        rounded = [float(f"{value:.{DIGITS}g}") for value in std.flat]
        return PerFeature(np.array(rounded).reshape(std.shape), self.times)

    @property
    def text(self) -> str:
        """The noise as a user writes it."""
        return f"{Gaussian.name}={shortest(self.times)}{STD}"

    def facts(self) -> dict[str, Any]:
        """Return what a file of settings keeps."""
        return {"name": Gaussian.name, "sigma": f"{self.times!r}{STD}"}


def is_in_deviations(value: object) -> bool:
    """Return whether a value of sigma is written like "0.25std"."""
    return isinstance(value, str) and value.strip().endswith(STD)


def noise_meant(value: object) -> Noise | Deviations | None:
    """Return the noise that a setting means: a noise itself, its text, or its facts.

    Raises:
        Problem: it means none.

    Example:
        >>> noise_meant("uniform=0.6"), noise_meant("gaussian=0.25std")
        (Uniform(lam=0.6), Deviations(times=0.25))
    """
    if value is None or isinstance(value, Noise | Deviations):
        return value
    if isinstance(value, str):
        name, _, sigma = value.strip().partition("=")
        if name == Gaussian.name and is_in_deviations(sigma):
            return Deviations.parse(sigma)
        return make_noise(value)
    if not isinstance(value, Mapping):
        raise BadValue(
            field="noise",
            value=value,
            expected="must be a noise, such as noise.Uniform(0.6) or 'uniform=0.6'",
        )
    if value.get("name") == Gaussian.name and is_in_deviations(value.get("sigma")):
        return Deviations.parse(value["sigma"])
    return noise_from(value)


def named_noise(sigma: object, noise: object) -> Noise | Deviations | None:
    """Return the one noise that the settings `sigma` and `noise` name.

    It is None where both are None.

    Raises:
        Problem: they name two noises, or one of them names none.

    Example:
        >>> named_noise(0.5, None), named_noise(None, "laplace=0.3")
        (Gaussian(sigma=0.5), Laplace(b=0.3))
        >>> named_noise("0.25std", None)
        Deviations(times=0.25)
    """
    by_name = noise_meant(noise)
    if sigma is None:
        return by_name
    by_sigma = _noise_of_sigma(sigma)
    if by_name not in (None, by_sigma):
        raise Conflict(
            f"sigma={sigma} and noise={by_name.text} differ: give one of them"
        )
    return by_sigma


def _noise_of_sigma(sigma: Any) -> Noise | Deviations:
    if is_in_deviations(sigma):
        return Deviations.parse(sigma)
    try:
        number_given = float(sigma)
    except (TypeError, ValueError):
        raise BadValue(
            field="sigma",
            value=sigma,
            expected="must be a number, such as 0.5, or 0.25std",
        ) from None
    return Gaussian(number_given)


def spelled(noise: Noise | Deviations | None) -> dict[str, Any]:
    """Return the settings that spell `noise` in files: sigma where it is Gaussian.

    Example:
        >>> spelled(Gaussian(0.5)), spelled(None)
        ({'sigma': 0.5}, {})
        >>> spelled(make_noise("uniform=0.6"))
        {'noise': {'name': 'uniform', 'lam': 0.6}}
    """
    if noise is None:
        return {}
    if isinstance(noise, Gaussian):
        return {"sigma": noise.sigma}
    return {"noise": noise.facts()}


def sigma_of(noise: Noise | Deviations | None) -> float | None:
    """Return the sigma of Gaussian noise; None for another noise, or where there is none.

    Example:
        >>> sigma_of(Gaussian(0.5)), sigma_of(make_noise("uniform=0.6"))
        (0.5, None)
    """
    return noise.sigma if isinstance(noise, Gaussian) else None


def recorded_noise(facts: Mapping[str, Any]) -> Noise | None:
    """Return the noise that the entries sigma and noise of a file say.

    A model's provenance has them, and a recipe. It is None where they say none, or that
    there was none (sigma 0).

    Raises:
        Problem: there is no such noise here.

    Example:
        >>> recorded_noise({"sigma": 0.5}), recorded_noise({"sigma": 0.0})
        (Gaussian(sigma=0.5), None)
    """
    noise = facts.get("noise")
    if isinstance(noise, Mapping):
        return noise_from(noise)
    sigma = facts.get("sigma")
    return Gaussian(sigma) if sigma else None


# How pydantic writes a field that holds a noise.
AsFacts = PlainSerializer(
    lambda noise: noise.facts() if isinstance(noise, Noise | Deviations) else noise
)

# A field of settings that may be a noise itself, its text, or its facts.
NamedNoise = Annotated[Noise | Deviations | None, PlainValidator(noise_meant), AsFacts]


class UnderNoise(FrozenRecord):
    """Settings or facts with a field `noise`, which `sigma` may spell.

    That holds where they are made or changed, and where they are dumped for a file.

    Example:
        >>> facts = UnderNoise(sigma=0.5)
        >>> facts.noise, facts.model_dump()
        (Gaussian(sigma=0.5), {'sigma': 0.5})
    """

    spellings = ("sigma",)

    noise: Any = None

    @model_validator(mode="before")
    @classmethod
    def _name_one_noise(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or "sigma" not in given:
            return given
        fields = dict(given)
        fields["noise"] = cls._noise_named(fields.pop("sigma"), fields.get("noise"))
        return fields

    def replace(self, **fields: Any) -> Self:
        """Return the same with other `fields`, checked like any.

        `sigma` takes the place of the noise.
        """
        if "sigma" in fields:
            sigma = fields.pop("sigma")
            fields["noise"] = self._noise_named(sigma, fields.get("noise"))
        return super().replace(**fields)

    @model_serializer(mode="wrap")
    def _as_in_files(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        facts: dict[str, Any] = {}
        for name, value in dump(self).items():
            if name == "noise":
                facts |= self._spelled_noise()
            else:
                facts[name] = value
        return facts

    @classmethod
    def _noise_named(cls, sigma: Any, noise: Any) -> object:
        """Return the value of the field `noise` where `sigma` and `noise` are given."""
        return named_noise(sigma, noise)

    def _spelled_noise(self) -> dict[str, Any]:
        """Return the entries of a file that stand for the noise."""
        return spelled(self.noise)
