"""Architectures by name, ours and those of other packages, and how a network of one is built."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from randsmooth.errors import WrongData
from randsmooth.registry import Registry

if TYPE_CHECKING:
    from torch import nn

NETWORKS = "randsmooth.models.architectures"
# Families by number, beside the entries of the registry: what a name looks like -> what makes its architecture.
FAMILIES = {
    "resnet([0-9]{1,4})": f"{NETWORKS}.residual:resnet",
    "wrn([0-9]{1,4})-([0-9]{1,2})": f"{NETWORKS}.residual:wide_resnet",
}


@dataclass(frozen=True)
class Architecture:
    """An architecture, as the entry point of a package names it.

    Attributes:
        builder: called with in_channels, image_size and num_classes, it makes a freshly initialised network
            (B, in_channels, image_size, image_size) -> logits (B, num_classes); under `torch.device("meta")`, too.
        min_size: the smallest image side, in pixels, that it accepts.

    Example:
        >>> from torch import nn
        >>> def linear(*, in_channels, image_size, num_classes):
        ...     return nn.Sequential(nn.Flatten(), nn.Linear(in_channels * image_size**2, num_classes))
        >>> Architecture(linear, min_size=1).builder(in_channels=3, image_size=4, num_classes=10)[1]
        Linear(in_features=48, out_features=10, bias=True)
    """

    builder: Callable[..., nn.Module]
    min_size: int


ARCHITECTURES: Registry[Architecture] = Registry(
    "architecture",
    "randsmooth.architectures",
    {
        "lenet": f"{NETWORKS}.convolutional:LENET",
        **{
            f"resnet{depth}": f"{NETWORKS}.residual:RESNET{depth}"
            for depth in (8, 20, 32, 44, 56, 110)
        },
        "resnet50": f"{NETWORKS}.residual:RESNET50",
        "cifar-resnet50": f"{NETWORKS}.residual:CIFAR_RESNET50",
        "densenet40": f"{NETWORKS}.convolutional:DENSENET40",
        "wrn28-10": f"{NETWORKS}.residual:WRN28_10",
        "wrn40-2": f"{NETWORKS}.residual:WRN40_2",
        "small-cnn": f"{NETWORKS}.convolutional:SMALL_CNN",
    },
)


def build(
    arch: str, *, in_channels: int, image_size: int, num_classes: int
) -> nn.Module:
    """A freshly initialised network (B, in_channels, image_size, image_size) -> logits (B, num_classes).

    Weights come from torch's global generator: seed it for a reproducible start.
    `resnetN` with N = 6n + 2 is the CIFAR ResNet (so is resnet152), but `resnet50` is the ImageNet one and
    `cifar-resnet50` the other. `wrnN-k` with N = 6n + 4 is the wide ResNet.

    Raises:
        Problem: unknown `arch`, or images too small for it.

    Example:
        >>> network = build("lenet", in_channels=1, image_size=28, num_classes=10)
        >>> sum(parameter.numel() for parameter in network.parameters())
        431080
    """
    architecture = architecture_of(arch)
    if image_size < architecture.min_size:
        smallest = f"{architecture.min_size}x{architecture.min_size}"
        raise WrongData(
            f"{arch} takes images of {smallest} or more, not {image_size}x{image_size}: resize them"
        )
    return architecture.builder(
        in_channels=in_channels, image_size=image_size, num_classes=num_classes
    )


def check_arch(arch: str) -> None:
    """Raise Problem unless `arch` is a name, or that of a family with a number; loads no torch.

    Example:
        >>> check_arch("resnet152")
        >>> check_arch("renset20")
        Traceback (most recent call last):
        randsmooth.errors.UnknownName: unknown architecture 'renset20': did you mean 'resnet20'? Expected one of: ...
    """
    if not any(re.fullmatch(family, arch) for family in FAMILIES):
        ARCHITECTURES.check(arch)


def architecture_of(arch: str) -> Architecture:
    """The entry called `arch`, or the one of a family that has no entry of its own. Problem where there is neither.

    Example:
        >>> architecture_of("resnet152").min_size
        8
    """
    for family, place in FAMILIES.items():
        if arch not in ARCHITECTURES and (match := re.fullmatch(family, arch)):
            architecture: Architecture = pkgutil.resolve_name(place)(
                *map(int, match.groups())
            )
            return architecture
    return ARCHITECTURES[arch]
