"""Denoised smoothing: a classifier that never saw noise, behind a denoiser, as one base classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import InputError, article
from randsmooth.models.adapters.foreign_part import ForeignPart, as_module, is_traced
from randsmooth.models.around import Around, for_classes, notes_of, provenance_of
from randsmooth.models.classifier import Classifier
from randsmooth.models.denoiser import Denoiser
from randsmooth.models.denoiser_sources import load_denoiser
from randsmooth.models.diffusion import DiffusionDenoiser
from randsmooth.models.weights import weights_hash


class Denoised(Around):
    """The base classifier x -> classifier(denoiser(x)) (Salman et al., "Denoised Smoothing", NeurIPS 2020).

    Noise is added to the image, before the denoiser: both parts together are what a certificate is about, so it holds
    whatever the denoiser does. Of a poor one the radii are small, none is wrong.

    Args:
        denoiser: images (B, C, H, W) of noisy ones: a module, such as `Denoiser` or `DiffusionDenoiser`; a folder that
            `load_denoiser` reads; or a function of tensors.
        classifier: logits (B, K) of images (B, C, H, W) in [0, 1], or nearly: a denoiser may leave that range a little.
            Any model that `adapt` takes, or its name, as in `load_model`.

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
        classifier: object,
    ) -> None:
        super().__init__()
        self.denoiser = _denoiser(load_denoiser(denoiser) if isinstance(denoiser, str | Path) else denoiser)
        self.classifier = as_module(classifier)
        self.training = self.denoiser.training or self.classifier.training
        self._check_channels()

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """(C, H, W) of an image, where the classifier says it."""
        return _said(self.classifier, "shape")  # type: ignore[no-any-return]

    @property
    def num_classes(self) -> int | None:
        """K, where the classifier says it."""
        return _said(self.classifier, "num_classes")  # type: ignore[no-any-return]

    @property
    def classes(self) -> list[str] | None:
        """Their names, where the classifier says them."""
        return self.classifier.classes if isinstance(self.classifier, Classifier) else None

    @property
    def provenance(self) -> dict[str, Any]:
        """The classifier's data set and the denoiser's sigma, as far as they say them."""
        dataset = _provenance(self.classifier).get("dataset")
        facts = {"dataset": dataset, "sigma": self.denoiser_is_for.get("sigma")}
        return {name: value for name, value in facts.items() if value is not None}

    @property
    def denoiser_is_for(self) -> dict[str, Any]:
        """The data set and the sigma that the denoiser is for, as far as it says them."""
        facts = {"dataset": _provenance(self.denoiser).get("dataset"), "sigma": sigma_of(self.denoiser)}
        return {name: value for name, value in facts.items() if value is not None}

    @property
    def notes(self) -> tuple[str, ...]:
        """The denoiser, and what lies between its images and their labels besides a network."""
        return (f"after noise: denoised by {_arch(self.denoiser)}", *notes_of(self.classifier))

    def facts(self) -> dict[str, Any]:
        """What a certificate says of the two parts."""
        parts = {"classifier": _facts(self.classifier), "denoiser": _facts(self.denoiser)}
        return {"arch": _arch(self), **parts}

    def for_classes(self, classes: Sequence[str]) -> Denoised:
        """The same, with a classifier that answers for these `classes` in their order."""
        return self.replace(classifier=for_classes(self.classifier, classes))

    def forward(self, noisy: Tensor) -> Tensor:
        """Logits (B, K) of noisy images (B, C, H, W)."""
        return self.classifier(self.denoiser(noisy))  # type: ignore[no-any-return]

    def _check_channels(self) -> None:
        channels = getattr(self.denoiser, "channels", None)
        if isinstance(self.denoiser, Denoiser) and self.shape is not None and channels != self.shape[0]:
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
        if is_traced():  # a trace would keep what a function computes outside of torch
            raise RuntimeError("a function cannot be traced; use the torch backend")
        return self.function(x)


def sigma_of(denoiser: nn.Module) -> float | None:
    """The noise that a denoiser of ours is made for; None where that is not known."""
    return denoiser.sigma if isinstance(denoiser, Denoiser | DiffusionDenoiser) else None


def _denoiser(denoiser: object) -> nn.Module:
    """`denoiser` itself, or a module that calls it. InputError where it cannot be called."""
    if isinstance(denoiser, nn.Module):
        return denoiser
    if not callable(denoiser):
        raise InputError(
            f"the denoiser is {article(type(denoiser).__name__)}, {shown(repr(denoiser))}; expected a torch.nn.Module, "
            "a folder or a function of tensors"
        )
    return Called(denoiser)


def _said(part: nn.Module, name: str) -> Any:
    """What a part of ours says of itself; an attribute of another's may mean something else."""
    return getattr(part, name, None) if isinstance(part, Classifier | Around) else None


def _provenance(part: nn.Module) -> dict[str, Any]:
    return provenance_of(part) if isinstance(part, Classifier | Denoiser | Around) else {}


def _facts(part: nn.Module) -> dict[str, Any]:
    """What a part is, and how it was trained where it says so."""
    known = {**_provenance(part), "weights": weights_hash(part), "arch": _arch(part)}
    if isinstance(part, DiffusionDenoiser):
        known |= {name: getattr(part, name) for name in ("sigma", "timestep", "alpha_bar", "mismatch", "prediction")}
    return known


def _arch(part: nn.Module) -> str:
    """What a part is, in a word or a few."""
    if isinstance(part, DiffusionDenoiser):
        return f"one step of the diffusion model {_name(part.network)}"
    if isinstance(part, Denoised):
        return f"{_arch(part.classifier)} behind {_arch(part.denoiser)}"
    if isinstance(part, Classifier | Denoiser):
        return part.arch
    return part.kind if isinstance(part, ForeignPart) else _name(part)


def _name(part: object) -> str:
    part = part.function if isinstance(part, Called) else part
    return str(getattr(part, "__qualname__", type(part).__qualname__))
