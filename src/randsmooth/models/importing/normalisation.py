"""The layer that normalises images before a network: which there are, and how one is asked for."""

from __future__ import annotations

import re
from typing import NamedTuple

from randsmooth.data import DATASETS, DatasetSpec
from randsmooth.errors import BadValue

# Mean and std of data sets for which the catalogue (DATASETS) has none, since neither our
# models nor most repositories of the field normalise them. A checkpoint may come from a
# program that does: the numbers for MNIST are those of PyTorch's example and of tonyduan/rs4a,
# those for Fashion-MNIST are rs4a's.
NOT_IN_CATALOGUE = {
    "mnist": ((0.1307,), (0.3081,)),
    "fashion-mnist": ((0.2849,), (0.3516,)),
}

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
        """Return the layer that subtracts this mean alone (SmoothAdv)."""
        if self.mean is None:
            return self
        ones = (1.0,) * len(self.mean)
        return Normalisation("center", self.mean, ones)

    def fits(self, channels: int) -> bool:
        """Return whether images with so many channels can be normalised by it.

        Images of any number of channels can be left as they are.
        """
        if self.mean is None or self.std is None:
            return self.mean is None and self.std is None
        return len(self.mean) == len(self.std) == channels


NO_LAYER = Normalisation("none", mean=None, std=None)


def candidates(spec: DatasetSpec) -> list[Normalisation]:
    """Return the layers to try before a network for the data set `spec`.

    These are the usual ones: mean and std, the mean alone (SmoothAdv), and NO_LAYER. Where
    no mean is known for the data set, NO_LAYER is the only one.
    """
    known = _of_dataset(spec.name, spec)
    if known is None:
        return [NO_LAYER]
    return [known, known.centering(), NO_LAYER]


def normalisation(text: str, spec: DatasetSpec) -> Normalisation:
    """Return the layer that a user asks for.

    Args:
        text: the layer, written in one of FORMS.
        spec: the data set of the network.

    Raises:
        BadValue: `text` names no layer, or one for another number of channels.

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
                f"is not a layer for the images of {spec.name}, of {channels} "
                f"channels; expected {FORMS}"
            ),
        )
    return layer


def _parsed(text: str, spec: DatasetSpec) -> Normalisation | None:
    """Return the layer that `text` asks for, or None where it is in none of FORMS."""
    if text == "none":
        return NO_LAYER
    # A data set that is a folder may have a "/" in its name too.
    if "/" in text:
        layer = _of_numbers(text)
        if layer is not None:
            return layer
    center = CENTER.fullmatch(text)
    if center is None:
        return _of_dataset(text, spec)
    # "center" alone means the mean of the network's own data set.
    layer = _of_dataset(center[1] or spec.name, spec)
    if layer is None:
        return None
    # The layer keeps the name that the user gave it.
    return layer.centering()._replace(name=text)


def _of_numbers(text: str) -> Normalisation | None:
    """Return the layer of numbers such as "0.5,0.5,0.5/0.2,0.2,0.2"; None for other texts."""
    try:
        mean, std = (
            tuple(float(number) for number in part.split(","))
            for part in text.split("/")
        )
    except ValueError:
        return None
    return Normalisation(text, mean, std)


def _of_dataset(name: str, spec: DatasetSpec) -> Normalisation | None:
    """Return the layer with the mean and std of the data set `name`.

    Args:
        name: the name of a data set in the catalogue, or that of `spec`.
        spec: the data set of the network, which may be a folder of the user's.

    Returns:
        The layer, or None where `name` is no data set, or no mean is known for it.
    """
    if name in NOT_IN_CATALOGUE:
        mean, std = NOT_IN_CATALOGUE[name]
        return Normalisation(name, mean, std)
    # `spec` need not be in the catalogue. Where a data set there has the same name, the user
    # means the one that was given for the network.
    dataset = spec if name == spec.name else DATASETS.get(name)
    if dataset is None or dataset.mean is None:
        return None
    return Normalisation(name, dataset.mean, dataset.std)
