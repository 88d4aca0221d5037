"""The layer that normalises images before a network: which there are, and how one is asked for."""

from __future__ import annotations

import re
from typing import NamedTuple

from randsmooth.data import DATASETS, DatasetSpec
from randsmooth.errors import BadValue

# Data sets that our own models do not normalise, nor those of the field's repositories, with
# the mean and std that others use: PyTorch's example for MNIST and tonyduan/rs4a; those of
# the others are in the catalogue of data sets.
BESIDE_OURS = {"mnist": ((0.1307,), (0.3081,)), "fashion-mnist": ((0.2849,), (0.3516,))}

FORMS = (
    "none, center, center-NAME, a data set's name (cifar10, imagenet, ...), or numbers as "
    "0.5,0.5,0.5/0.2,0.2,0.2"
)
CENTER = re.compile(r"cent(?:er|re)(?:-(.+))?")


class Normalisation(NamedTuple):
    """(x - mean) / std of pixels in [0, 1].

    Attributes:
        name: the name in a model's provenance.
        mean: a number a channel; None where there is no such layer.
        std: a number a channel; None where there is no such layer.
    """

    name: str
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None

    def centering(self) -> Normalisation:
        """Return the layer that subtracts the mean alone (SmoothAdv)."""
        ones = (1.0,) * len(self.mean or ())
        return Normalisation("center", self.mean, ones)

    def fits(self, channels: int) -> bool:
        """Return whether it may stand before a network for so many channels."""
        if self.mean is None or self.std is None:
            return self.mean is self.std
        return len(self.mean) == len(self.std) == channels


NONE = Normalisation("none", None, None)


def candidates(spec: DatasetSpec) -> list[Normalisation]:
    """Return the layers that networks for `spec` are trained behind.

    They are mean and std, the mean alone (SmoothAdv), and none.
    """
    known = _of_dataset(spec.name, spec)
    if known is None:
        return [NONE]
    return [known, known.centering(), NONE]


def normalisation(text: str, spec: DatasetSpec) -> Normalisation:
    """Return the layer that a user asks for in one of FORMS.

    Raises:
        BadValue: it is none of these, or not for images of as many channels.

    Example:
        >>> normalisation("center", DATASETS["cifar10"])
        Normalisation(name='center', mean=(0.4914, 0.4822, 0.4465), std=(1.0, 1.0, 1.0))
    """
    channels = spec.shape[0]
    layer = _parsed(text, spec)
    if layer is None or not layer.fits(channels):
        raise BadValue(
            field="normalise",
            value=text,
            expected=(
                f"is no layer for the images of {spec.name}, of {channels} channels; "
                f"expected {FORMS}"
            ),
        )
    return layer


def _parsed(text: str, spec: DatasetSpec) -> Normalisation | None:
    """Return the layer that `text` names; None where it names none."""
    if text == "none":
        return NONE
    if "/" in text:
        layer = _of_numbers(text)
        if layer is not None:
            return layer
    center = CENTER.fullmatch(text)
    if center is None:
        return _of_dataset(text, spec)
    layer = _of_dataset(center[1] or spec.name, spec)
    if layer is None:
        return None
    return layer.centering()._replace(name=text)


def _of_numbers(text: str) -> Normalisation | None:
    """Return the layer of numbers as "0.5,0.5,0.5/0.2,0.2,0.2"; None for other texts."""
    try:
        mean, std = (
            tuple(float(number) for number in part.split(","))
            for part in text.split("/")
        )
    except ValueError:
        return None
    return Normalisation(text, mean, std)


def _of_dataset(name: str, spec: DatasetSpec) -> Normalisation | None:
    """Return the layer for a data set that has a name, or is `spec`; None: there is none."""
    if name in BESIDE_OURS:
        mean, std = BESIDE_OURS[name]
        return Normalisation(name, mean, std)
    known: DatasetSpec | None = spec if name == spec.name else DATASETS.get(name)
    if known is None or known.mean is None:
        return None
    return Normalisation(name, known.mean, known.std)
