"""Architectures by name, ours and others', and how a network of one is built.

Names are checked without loading torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from randsmooth.errors import WrongData
from randsmooth.models import architectures
from randsmooth.models.architectures.architecture import Architecture
from randsmooth.registry import OnDemand, Registry

if TYPE_CHECKING:
    from torch import nn

# Each entry is a function, so that torch is loaded only when an architecture is used.
ARCHITECTURES: Registry[Architecture] = Registry(
    "architecture",
    "randsmooth.architectures",
    OnDemand(
        {
            "lenet": lambda: architectures.convolutional.LENET,
            "resnet8": lambda: architectures.residual.RESNET8,
            "resnet20": lambda: architectures.residual.RESNET20,
            "resnet32": lambda: architectures.residual.RESNET32,
            "resnet44": lambda: architectures.residual.RESNET44,
            "resnet56": lambda: architectures.residual.RESNET56,
            "resnet110": lambda: architectures.residual.RESNET110,
            "resnet50": lambda: architectures.residual.RESNET50,
            "cifar-resnet50": lambda: architectures.residual.CIFAR_RESNET50,
            "densenet40": lambda: architectures.convolutional.DENSENET40,
            "wrn28-10": lambda: architectures.residual.WRN28_10,
            "wrn40-2": lambda: architectures.residual.WRN40_2,
            "small-cnn": lambda: architectures.convolutional.SMALL_CNN,
        }
    ),
)

# Families of architectures beside these: a pattern of the names of the members -> the
# function that returns a member for the numbers in its name.
FAMILIES: dict[str, Callable[..., Architecture]] = {
    "resnet([0-9]{1,4})": lambda depth: architectures.residual.resnet(depth),
    "wrn([0-9]{1,4})-([0-9]{1,2})": lambda depth, k: architectures.residual.wide_resnet(
        depth, k
    ),
}


def build(
    arch: str, *, in_channels: int, image_size: int, num_classes: int
) -> nn.Module:
    """Return a freshly initialised network of an architecture.

    It maps (B, in_channels, image_size, image_size) to logits (B, num_classes). Weights
    come from torch's global generator: seed it for a reproducible start.

    `resnetN` with N = 6n + 2 is the CIFAR ResNet (so is resnet152), but `resnet50` is
    the ImageNet one and `cifar-resnet50` the other. `wrnN-k` with N = 6n + 4 is the
    wide ResNet.

    Raises:
        UnknownName: there is no architecture `arch`.
        WrongData: the images are too small for it.

    Example:
        >>> network = build("lenet", in_channels=1, image_size=28, num_classes=10)
        >>> sum(parameter.numel() for parameter in network.parameters())
        431080
    """
    architecture = architecture_of(arch)
    if image_size < architecture.min_size:
        smallest = f"{architecture.min_size}x{architecture.min_size}"
        raise WrongData(
            f"{arch} takes images of {smallest} or more, not {image_size}x{image_size}",
            fix="resize them",
        )
    return architecture.builder(
        in_channels=in_channels, image_size=image_size, num_classes=num_classes
    )


def check_arch(arch: str) -> None:
    """Check that `arch` is the name of an architecture, or is written as a family's are.

    This loads no torch. Whether a family has a member of these numbers is not checked:
    `resnet7` passes, and `architecture_of` refuses it.

    Raises:
        UnknownName: `arch` is no such name.

    Example:
        >>> check_arch("resnet152")
        >>> check_arch("renset20")
        Traceback (most recent call last):
        randsmooth.errors.UnknownName: unknown architecture 'renset20': did you ...
    """
    if not any(re.fullmatch(family, arch) for family in FAMILIES):
        ARCHITECTURES.check(arch)


def architecture_of(arch: str) -> Architecture:
    """Return the architecture called `arch`, from ARCHITECTURES or from a family.

    A name in ARCHITECTURES comes first: `resnet50` there is no CIFAR ResNet.

    Raises:
        UnknownName: there is no such architecture.
        BadValue: a family has no member of these numbers.

    Example:
        >>> architecture_of("resnet152").min_size
        8
    """
    if arch in ARCHITECTURES:
        return ARCHITECTURES[arch]
    for family, member in FAMILIES.items():
        match = re.fullmatch(family, arch)
        if match is not None:
            numbers = [int(number) for number in match.groups()]
            return member(*numbers)
    # It is not there: this raises UnknownName.
    return ARCHITECTURES[arch]
