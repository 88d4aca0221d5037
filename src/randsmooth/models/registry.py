"""Architectures by name: who they are, the smallest image they take, and how one is built."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from torch import nn

from randsmooth.errors import InputError, unknown


class Builder(Protocol):
    """Makes a network (B, in_channels, image_size, image_size) -> logits (B, num_classes)."""

    def __call__(self, *, in_channels: int, image_size: int, num_classes: int) -> nn.Module: ...


AnyBuilder = TypeVar("AnyBuilder", bound=Builder)


@dataclass(frozen=True)
class Architecture:
    """A builder and the smallest image side, in pixels, that it accepts."""

    builder: Builder
    min_size: int


_architectures: dict[str, Architecture] = {}
_families: dict[str, Callable[[int], Architecture]] = {}


def register(name: str, *, min_size: int) -> Callable[[AnyBuilder], AnyBuilder]:
    """Decorator: enter a builder under `name`. Raises ValueError when the name is taken."""

    def enter(builder: AnyBuilder) -> AnyBuilder:
        _enter(name, Architecture(builder, min_size))
        return builder

    return enter


def register_family(prefix: str, of_depth: Callable[[int], Architecture], *, depths: Iterable[int]) -> None:
    """Let `prefixN` mean `of_depth(N)` for every N without its own entry; `depths` are listed by name."""
    if prefix in _families:
        raise ValueError(f"architecture family {prefix!r} is registered already: choose another prefix")
    _families[prefix] = of_depth
    for depth in depths:
        _enter(f"{prefix}{depth}", of_depth(depth))


def _enter(name: str, architecture: Architecture) -> None:
    if name in _architectures:
        raise ValueError(f"architecture {name!r} is registered already: choose another name")
    _architectures[name] = architecture


def names() -> list[str]:
    """The registered names, sorted. Other depths of a family (`resnet26`) can be built too."""
    return sorted(_architectures)


def build(arch: str, *, in_channels: int, image_size: int, num_classes: int) -> nn.Module:
    """A freshly initialised network (B, in_channels, image_size, image_size) -> logits (B, num_classes).

    Weights come from torch's global generator: seed it for a reproducible start.
    `resnetN` with N = 6n + 2 is the CIFAR ResNet (so is resnet152), but `resnet50` is the ImageNet one.

    Raises:
        InputError: unknown `arch`, images too small for it, or a count below one.
    """
    architecture = _find(arch)
    if image_size < architecture.min_size:
        smallest = f"{architecture.min_size}x{architecture.min_size}"
        raise InputError(
            f"{arch} cannot take {image_size}x{image_size} images: the smallest that works is {smallest}; "
            "resize the images or choose a smaller architecture"
        )
    if in_channels < 1:
        raise InputError(f"in_channels={in_channels}: expected at least 1 (grey) and usually 3 (RGB)")
    if num_classes < 2:
        raise InputError(f"num_classes={num_classes}: expected at least 2, a classifier needs a choice")
    return architecture.builder(in_channels=in_channels, image_size=image_size, num_classes=num_classes)


def _find(arch: str) -> Architecture:
    if arch in _architectures:
        return _architectures[arch]
    match = re.fullmatch(r"([a-z]+)([0-9]{1,4})", arch)
    if match and match[1] in _families:
        return _families[match[1]](int(match[2]))
    raise unknown("architecture", arch, names())
