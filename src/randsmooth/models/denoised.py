"""Denoised smoothing: a classifier that never saw noise, behind a denoiser, as one base classifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from randsmooth.errors import InputError
from randsmooth.models.denoiser_sources import load_denoiser
from randsmooth.models.folder import load


class Denoised(nn.Module):
    """The base classifier x -> classifier(denoiser(x)) (Salman et al., "Denoised Smoothing", NeurIPS 2020).

    Noise is added to the image, before the denoiser: both parts together are what a certificate is about, so it holds
    whatever the denoiser does. Of a poor one the radii are small, none is wrong.

    Args:
        denoiser: images (B, C, H, W) of noisy ones: a module, such as `Denoiser` or `DiffusionDenoiser`; a folder that
            `load_denoiser` reads; or any function of tensors.
        classifier: logits (B, K) of images (B, C, H, W) in [0, 1], which the denoiser may leave a little: a module, a
            model folder, or any function of tensors.

    Raises:
        InputError: one of the two cannot be loaded or called, or they are for images of different channels.

    Attributes:
        denoiser, classifier: the two, as modules.

    Example:
        >>> import torch
        >>> classifier = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> base = Denoised(lambda noisy: noisy.clamp(0, 1), classifier)
        >>> base(torch.randn(3, 1, 8, 8)).shape
        torch.Size([3, 10])
    """

    def __init__(
        self,
        denoiser: nn.Module | Callable[[Tensor], Tensor] | Path | str,
        classifier: nn.Module | Callable[[Tensor], Tensor] | Path | str,
    ) -> None:
        super().__init__()
        self.denoiser = as_module(load_denoiser(denoiser) if isinstance(denoiser, str | Path) else denoiser, "denoiser")
        self.classifier = as_module(
            load(classifier) if isinstance(classifier, str | Path) else classifier, "classifier"
        )
        self.training = self.denoiser.training or self.classifier.training
        self._check_channels()

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """(C, H, W) of an image, where the classifier says it."""
        shape = getattr(self.classifier, "shape", None)
        return None if shape is None else tuple(shape)

    @property
    def num_classes(self) -> int | None:
        """K, where the classifier says it."""
        return getattr(self.classifier, "num_classes", None)

    @property
    def provenance(self) -> dict[str, Any]:
        """The classifier's data set and the denoiser's sigma, as far as they say them."""
        facts = {"dataset": _provenance(self.classifier).get("dataset"), "sigma": getattr(self.denoiser, "sigma", None)}
        return {name: value for name, value in facts.items() if value is not None}

    def forward(self, noisy: Tensor) -> Tensor:
        """Logits (B, K) of noisy images (B, C, H, W)."""
        return self.classifier(self.denoiser(noisy))  # type: ignore[no-any-return]

    def _check_channels(self) -> None:
        channels = getattr(self.denoiser, "channels", None)
        if channels is not None and self.shape is not None and channels != self.shape[0]:
            raise InputError(
                f"the denoiser is for images of {channels} channels, the classifier for those of {self.shape[0]}: take "
                "two that were trained on the same data set"
            )


class Called(nn.Module):
    """A function of tensors as a module."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def as_module(part: nn.Module | Callable[[Tensor], Tensor], name: str) -> nn.Module:
    """`part` itself, or a module that calls it. InputError where it cannot be called."""
    if isinstance(part, nn.Module):
        return part
    if not callable(part):
        raise InputError(
            f"the {name} is a {type(part).__name__}; expected a torch.nn.Module, a folder or a function of tensors"
        )
    return Called(part)


def _provenance(part: nn.Module) -> dict[str, Any]:
    """How a part was trained, where it says so."""
    provenance = getattr(part, "provenance", None)
    return provenance if isinstance(provenance, dict) else {}
