"""Denoised smoothing: a classifier that never saw noise, behind a denoiser, as one base classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import InputError, article
from randsmooth.models.around import Around, as_module, for_classes, is_traced, notes_of
from randsmooth.models.classifier import Classifier
from randsmooth.models.denoiser import Denoiser, load_denoiser
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
        loaded = load_denoiser(denoiser) if isinstance(denoiser, str | Path) else denoiser
        self.denoiser = loaded if isinstance(loaded, nn.Module) else Called(loaded)
        self.classifier = as_module(classifier)
        self.training = self.denoiser.training or self.classifier.training
        channels = _said(self.denoiser, "channels")
        if None not in (channels, self.shape) and channels != self.shape[0]:  # type: ignore[index]
            shapes = f"of {channels} channels, the classifier for {self.shape}"
            raise InputError(f"the denoiser is for images {shapes}: take two that were trained on the same data set")

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
        return _known(dataset=_provenance(self.classifier).get("dataset"), sigma=_said(self.denoiser, "sigma"))

    @property
    def denoiser_is_for(self) -> dict[str, Any]:
        """The data set and the sigma that the denoiser is for, as far as it says them."""
        return _known(dataset=_provenance(self.denoiser).get("dataset"), sigma=_said(self.denoiser, "sigma"))

    @property
    def arch(self) -> str:
        """What the two parts are, in a few words."""
        return f"{_arch(self.classifier)} behind {_arch(self.denoiser)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """The denoiser, and what lies between its images and their labels besides a network."""
        return (f"after noise: denoised by {_arch(self.denoiser)}", *notes_of(self.classifier))

    def facts(self) -> dict[str, Any]:
        """What a certificate says of the two parts: what each is, its weights and how it was trained."""
        parts = {"classifier": self.classifier, "denoiser": self.denoiser}
        facts = {name: _provenance(part) | {"weights": weights_hash(part)} for name, part in parts.items()}
        return {"arch": self.arch} | {name: facts[name] | {"arch": _arch(part)} for name, part in parts.items()}

    def for_classes(self, classes: Sequence[str]) -> Denoised:
        """The same, with a classifier that answers for these `classes` in their order."""
        return self.replace(classifier=for_classes(self.classifier, classes))

    def forward(self, noisy: Tensor) -> Tensor:
        """Logits (B, K) of noisy images (B, C, H, W)."""
        return self.classifier(self.denoiser(noisy))  # type: ignore[no-any-return]


class Called(nn.Module):
    """A function of tensors as a module. InputError where it cannot be called."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        if not callable(function):
            got = f"{article(type(function).__name__)}, {shown(repr(function))}"
            raise InputError(f"the denoiser is {got}; expected a torch.nn.Module, a folder or a function of tensors")
        self.function = function
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        if is_traced():  # a trace would keep what a function computes outside of torch
            raise RuntimeError("a function cannot be traced; use the torch backend")
        return self.function(x)  # type: ignore[no-any-return]


def _said(part: nn.Module, name: str) -> Any:
    """What a part of ours says of itself; an attribute of another's may mean something else."""
    return getattr(part, name, None) if isinstance(part, Classifier | Denoiser | DiffusionDenoiser | Around) else None


def _known(**facts: Any) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}


def _provenance(part: nn.Module) -> dict[str, Any]:
    return _said(part, "provenance") or {}


def _arch(part: nn.Module) -> str:
    """What a part is, in a word or a few."""
    inner = part.function if isinstance(part, Called) else part
    return str(_said(part, "arch") or getattr(inner, "__qualname__", type(inner).__qualname__))
