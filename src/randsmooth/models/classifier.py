"""The base classifier: a network after its normalisation, with everything that rebuilds it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models import card
from randsmooth.models.registry import build
from randsmooth.models.stored_model import StoredModel

MOST_SIDE, MOST_CHANNELS = 2**14, 2**10  # of an image
LONGEST_NAME = 1000  # characters; ImageNet's longest class has 121


class Classifier(
    StoredModel,
    tags=["randomized-smoothing", "certified-robustness"],
    pipeline_tag="image-classification",
    model_card_template=card.TEMPLATE,
):
    """The base classifier, logits(x) = network((x - mean) / std): noise is added before normalisation, its first layer.

    Args:
        arch: a name that `models.build` knows.
        classes: the K class names, in the order of the logits.
        shape: (C, H, W) of an image, H = W.
        mean, std: C numbers each, of pixels in [0, 1], or None for no normalisation.
        provenance: how it was trained, as plain JSON: dataset, sigma, method, hyperparameters, seed, epochs,
            versions. It is copied; {} if unknown.

    Raises:
        InputError: any of these cannot be used.

    Example:
        >>> model = Classifier(arch="small-cnn", classes=["cat", "dog"], shape=(1, 8, 8)).eval()
        >>> model(torch.rand(3, 1, 8, 8)).shape, model.num_classes
        (torch.Size([3, 2]), 2)
    """

    kind = "classifier"
    mean: Tensor | None
    std: Tensor | None

    def __init__(
        self,
        *,
        arch: str,
        classes: list[str],
        shape: list[int] | tuple[int, int, int],
        mean: list[float] | None = None,
        std: list[float] | None = None,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.arch = _checked_arch(arch)
        self.classes = _checked_classes(classes)
        self.shape = _checked_shape(shape)
        channels, side, _ = self.shape
        self.network = build(arch, in_channels=channels, image_size=side, num_classes=self.num_classes)
        _check_normalisation(mean, std, channels)
        self.register_buffer("mean", _per_channel(mean), persistent=False)
        self.register_buffer("std", _per_channel(std), persistent=False)
        self._hub_mixin_config = {"arch": arch, "classes": self.classes, "shape": list(self.shape)}
        self._hub_mixin_config |= {"mean": _listed(mean), "std": _listed(std)}
        self.provenance = {} if provenance is None else provenance

    @property
    def num_classes(self) -> int:
        """K, the number of logits."""
        return len(self.classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, K) of images (B, C, H, W): in [0, 1] before noise, any real numbers after it."""
        if self.mean is not None and self.std is not None:
            x = (x - self.mean) / self.std
        return self.network(x)  # type: ignore[no-any-return]

    def apart(self) -> tuple[nn.Conv2d, nn.Module] | None:
        """The first layer, where it is a convolution of the images as they are, and the rest; None: it is another.

        Example:
            >>> model = Classifier(arch="lenet", classes=["cat", "dog"], shape=(1, 28, 28))
            >>> first, rest = model.apart()
            >>> x = torch.rand(3, 1, 28, 28)
            >>> torch.equal(rest(first(x)), model(x))
            True
        """
        network = self.network
        if self.mean is not None or not isinstance(network, nn.Sequential) or not isinstance(network[0], nn.Conv2d):
            return None
        first = network[0]
        return (first, network[1:]) if first.groups == 1 and first.padding_mode == "zeros" else None

    def card_fields(self) -> dict[str, Any]:
        """What the template of the model's card needs."""
        return card.fields(self.config)


def _checked_arch(arch: str) -> str:
    if not isinstance(arch, str):
        raise InputError(f"arch={_shortened(arch)}: expected the name of an architecture, such as 'resnet20'")
    return arch


def _checked_classes(classes: list[str]) -> list[str]:
    named = isinstance(classes, (list, tuple)) and all(isinstance(name, str) for name in classes)
    if not named or len(classes) < 2 or len(set(classes)) < len(classes):
        raise InputError(f"classes={_shortened(classes)}: expected at least two different names, such as ['0', '1']")
    longest = max(classes, key=len)
    if len(longest) > LONGEST_NAME:
        raise InputError(
            f"class {_shortened(longest)} has {len(longest):,} characters; expected at most {LONGEST_NAME:,}"
        )
    return list(classes)


def _checked_shape(shape: list[int] | tuple[int, int, int]) -> tuple[int, int, int]:
    whole = isinstance(shape, (list, tuple)) and all(type(side) is int and side > 0 for side in shape)
    if not whole or len(shape) != 3 or shape[1] != shape[2]:
        raise InputError(
            f"shape={_shortened(shape)}: expected [C, H, W] with H = W, such as [3, 32, 32]; crop or pad to it"
        )
    if shape[0] > MOST_CHANNELS or shape[1] > MOST_SIDE:
        raise InputError(
            f"shape={_shortened(shape)}: expected at most {MOST_CHANNELS} channels and a side of {MOST_SIDE}"
        )
    return shape[0], shape[1], shape[2]


def _check_normalisation(mean: list[float] | None, std: list[float] | None, channels: int) -> None:
    if (mean is None) != (std is None):
        raise InputError(
            f"mean={_shortened(mean)} and std={_shortened(std)}: give both, or neither for no normalisation"
        )
    for name, values in (("mean", mean), ("std", std)):
        if values is not None and not _finite_numbers(values, channels):
            raise InputError(f"{name}={_shortened(values)}: expected {channels} finite numbers, one a channel")
    if std is not None and float(torch.tensor(std, dtype=torch.float32, device="cpu").min()) <= 0.0:
        raise InputError(
            f"std={_shortened(std)}: expected positive numbers; pass neither mean nor std to leave them out"
        )


def _finite_numbers(values: Any, count: int) -> bool:
    """Whether these are `count` numbers that are finite in float32, too."""
    numbers = isinstance(values, (list, tuple)) and all(type(v) in (int, float) for v in values)
    return numbers and len(values) == count and all(abs(v) <= torch.finfo(torch.float32).max for v in values)


def _per_channel(values: list[float] | None) -> Tensor | None:
    return None if values is None else torch.tensor(values, dtype=torch.float32).reshape(1, -1, 1, 1)


def _listed(values: list[float] | None) -> list[float] | None:
    return None if values is None else list(values)


def _shortened(value: object) -> str:
    """A refused value on one line, cut where it is long."""
    return shown(repr(value))
