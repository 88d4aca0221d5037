"""The layer that normalises images before a network: those of the field, by name, and those a data set may have."""

from __future__ import annotations

import re
from typing import NamedTuple

from randsmooth.data import DATASETS, DatasetSpec
from randsmooth.documents import shown
from randsmooth.errors import InputError

# Data sets that our own models do not normalise, nor those of the field's repositories, with the numbers that others
# use: PyTorch's example for MNIST and tonyduan/rs4a; those of the others are in the catalogue of data sets.
BESIDE_OURS = {"mnist": ((0.1307,), (0.3081,)), "fashion-mnist": ((0.2849,), (0.3516,))}
FORMS = "none, center, center-NAME, a data set's name (cifar10, imagenet, ...), or numbers as 0.5,0.5,0.5/0.2,0.2,0.2"
CENTER = re.compile(r"cent(?:er|re)(?:-(.+))?")


class Normalisation(NamedTuple):
    """(x - mean) / std of pixels in [0, 1], a number a channel; None for both: no such layer."""

    name: str
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None


NONE = Normalisation("none", None, None)


def candidates(spec: DatasetSpec) -> list[Normalisation]:
    """The layers that networks for `spec` are trained behind: mean and std, the mean alone (SmoothAdv), and none."""
    known = _of_dataset(spec.name, spec)
    return [known, _centering(known), NONE] if known else [NONE]


def usual(spec: DatasetSpec) -> Normalisation | None:
    """The layer of nearly all of the field's networks for `spec`, which another must clearly beat; None: unknown.

    Grey digits are told apart about as well behind every layer, so that accuracy alone would seldom decide.

    Example:
        >>> usual(DATASETS["mnist"]).name, usual(DATASETS["cifar10"])
        ('none', None)
    """
    return NONE if spec.name in BESIDE_OURS else None


def normalisation(text: str, spec: DatasetSpec) -> Normalisation:
    """The layer that a user asks for in one of FORMS.

    Raises:
        InputError: it is none of these, or not for images of as many channels.

    Example:
        >>> normalisation("center", DATASETS["cifar10"])
        Normalisation(name='center', mean=(0.4914, 0.4822, 0.4465), std=(1.0, 1.0, 1.0))
    """
    found = _numbers(text) if "/" in text else _named(text, spec)
    channels = spec.shape[0]
    if found.mean is not None and not len(found.mean) == len(found.std or ()) == channels:
        raise InputError(
            f"normalise={text!r} (--normalise) has {len(found.mean)} means and {len(found.std or ())} deviations; the "
            f"images of {spec.name} have {channels} channels"
        )
    return found


def _named(text: str, spec: DatasetSpec) -> Normalisation:
    if text == "none":
        return NONE
    center = CENTER.fullmatch(text)
    name = (center[1] or spec.name) if center else text
    known = _of_dataset(name, spec)
    if known is None:
        what = "is not normalised by its mean" if name == spec.name or name in DATASETS else "is no data set"
        raise InputError(f"normalise={shown(repr(text))} (--normalise): {shown(name)} {what}; expected {FORMS}")
    return Normalisation(text, *_centering(known)[1:]) if center else known


def _of_dataset(name: str, spec: DatasetSpec) -> Normalisation | None:
    if name in BESIDE_OURS:
        return Normalisation(name, *BESIDE_OURS[name])
    chosen: DatasetSpec | None = spec if name == spec.name else DATASETS.get(name)
    return Normalisation(name, chosen.mean, chosen.std) if chosen and chosen.mean is not None else None


def _centering(known: Normalisation) -> Normalisation:
    assert known.mean is not None
    return Normalisation("center", known.mean, (1.0,) * len(known.mean))


def _numbers(text: str) -> Normalisation:
    try:
        mean, std = (tuple(float(number) for number in part.split(",")) for part in text.split("/"))
    except ValueError:
        raise InputError(f"normalise={shown(repr(text))} (--normalise) cannot be read; expected {FORMS}") from None
    return Normalisation(text, mean, std)
