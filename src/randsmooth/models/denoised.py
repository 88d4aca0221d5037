"""Denoised smoothing: a classifier that never saw noise, behind a denoiser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import WrongModel, article
from randsmooth.models.around import Around, is_traced, notes_of
from randsmooth.models.base_classifier import as_module
from randsmooth.models.denoiser import Denoiser
from randsmooth.models.device import pick_device
from randsmooth.models.diffusers_models import from_diffusers, is_pipeline
from randsmooth.models.diffusion import DiffusionDenoiser
from randsmooth.models.folder import StoredModel
from randsmooth.models.weights import weights_hash
from randsmooth.urls import fetched, is_url


def load_denoiser(
    source: Path | str,
    *,
    sigma: float | None = None,
    device: torch.device | str = "cpu",
) -> Denoiser | DiffusionDenoiser:
    """Return the denoiser in a folder, in eval mode on `device`.

    Args:
        source: a folder of `train-denoiser`, or the hub's "user/name" of one; or the
            folder of an unconditional diffusion model as the DDPMPipeline of
            `diffusers` saves it.
        sigma: the sigma of the noise to remove. A diffusion model needs it; other
            denoisers were trained for one sigma, and ignore it.
        device: where to load it to.

    Raises:
        Problem: there is no such denoiser, it is damaged, or it is a diffusion model and
            sigma is not given.

    Example:
        >>> import tempfile
        >>> from randsmooth import models
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.save(Denoiser(channels=1, arch="dncnn-5x16"), folder)
        ...     load_denoiser(folder).arch
        'dncnn-5x16'
    """
    folder = fetched(source) if is_url(source) else source
    if is_pipeline(Path(folder)):
        return from_diffusers(Path(folder), sigma).to(pick_device(device))
    return Denoiser.load(folder, device)


class Denoised(Around):
    """The base classifier x -> classifier(denoiser(x)).

    Noise is added to the image, before the denoiser. A certificate is about both parts
    together, so it holds whatever the denoiser does. A poor denoiser makes radii small,
    but never wrong (Salman et al., "Denoised Smoothing", NeurIPS 2020).

    Args:
        denoiser: makes images (B, C, H, W) of noisy ones. It is a module, such as
            `Denoiser` or `DiffusionDenoiser`; a folder that `load_denoiser` reads; or a
            function of tensors.
        classifier: gives logits (B, K) for images (B, C, H, W), which are in [0, 1] or a
            little outside, as the denoiser leaves them. It is any model that `adapt`
            takes, or its name, as in `load_model`.

    Raises:
        Problem: one of the two cannot be loaded or called.

    Attributes:
        denoiser: the denoiser, as a module.
        classifier: the classifier, as a module.

    Example:
        >>> import torch
        >>> classifier = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> base = Denoised(lambda noisy: noisy.clamp(0, 1), classifier)
        >>> base(torch.randn(3, 1, 8, 8)).shape
        torch.Size([3, 10])
    """

    answering = "classifier"

    def __init__(
        self,
        denoiser: nn.Module | Callable[[Tensor], Tensor] | Path | str,
        classifier: object,
    ) -> None:
        super().__init__()
        if isinstance(denoiser, str | Path):
            denoiser = load_denoiser(denoiser)
        if not isinstance(denoiser, nn.Module):
            denoiser = FunctionDenoiser(denoiser)
        self.denoiser = denoiser
        self.classifier = as_module(classifier)
        # This module is in train mode only if one of its parts is. Certification refuses a
        # model in train mode.
        self.training = self.denoiser.training or self.classifier.training

    shape = property(
        lambda self: _fact_of_ours(self.classifier, "shape"),
        doc="(C, H, W) of an image, where it is known.",
    )
    classes = property(
        lambda self: _fact_of_ours(self.classifier, "classes"),
        doc="The names of the classes, where they are known.",
    )

    @property
    def provenance(self) -> dict[str, Any]:
        """The classifier's data set and the denoiser's sigma, where these are known."""
        return self._made_for(self.classifier)

    @property
    def denoiser_is_for(self) -> dict[str, Any]:
        """The denoiser's data set and its sigma, where these are known."""
        return self._made_for(self.denoiser)

    def _made_for(self, part: nn.Module) -> dict[str, Any]:
        """Return the data set that a part was trained on, and the denoiser's sigma.

        The classifier never saw noise, so sigma is always the denoiser's. Facts that are not
        known are left out.
        """
        facts = {
            "dataset": _provenance(part).get("dataset"),
            "sigma": _fact_of_ours(self.denoiser, "sigma"),
        }
        return {name: value for name, value in facts.items() if value is not None}

    @property
    def arch(self) -> str:
        """Both parts in a few words, such as "resnet20 behind dncnn-17x64"."""
        return f"{_arch(self.classifier)} behind {_arch(self.denoiser)}"

    @property
    def notes(self) -> tuple[str, ...]:
        """The steps between a noisy image and its label, without the classifier's network."""
        return (
            f"after noise: denoised by {_arch(self.denoiser)}",
            *notes_of(self.classifier),
        )

    def facts(self) -> dict[str, Any]:
        """Return what a certificate records of both parts.

        These are the name of each, the hash of its weights and how it was trained.
        """
        return {
            "arch": self.arch,
            "classifier": _facts(self.classifier),
            "denoiser": _facts(self.denoiser),
        }

    def forward(self, noisy: Tensor) -> Tensor:
        """Return logits (B, K) of noisy images (B, C, H, W)."""
        return self.classifier(self.denoiser(noisy))  # type: ignore[no-any-return]


class FunctionDenoiser(nn.Module):
    """A denoiser that is a function of tensors, as a module.

    Args:
        function: makes images (B, C, H, W) of noisy ones.

    Raises:
        WrongModel: it cannot be called.
    """

    def __init__(self, function: Any) -> None:
        super().__init__()
        if not callable(function):
            raise WrongModel(
                f"the denoiser is {article(type(function).__name__)}, "
                f"{shown(repr(function))}; expected a torch.nn.Module, a folder or a "
                "function of tensors",
                field="denoiser",
                value=function,
            )
        self.function = function
        self.training = False

    def forward(self, x: Tensor) -> Tensor:
        if is_traced():
            # A function may compute something outside of torch. A trace would keep that
            # result for all images.
            raise RuntimeError("a function cannot be traced; use the torch backend")
        return self.function(x)  # type: ignore[no-any-return]


def _fact_of_ours(part: nn.Module, name: str) -> Any:
    """Return the attribute `name` of a part, if its class is one of this package.

    In a class of somebody else, an attribute of this name may mean something else: then the
    answer is None.
    """
    if isinstance(part, StoredModel | DiffusionDenoiser | Around):
        return getattr(part, name, None)
    return None


def _provenance(part: nn.Module) -> dict[str, Any]:
    """Return how a part was trained; empty where that is not known."""
    return _fact_of_ours(part, "provenance") or {}


def _facts(part: nn.Module) -> dict[str, Any]:
    """Return what a certificate records of a part."""
    # These two are measured, so they take the place of what the provenance says.
    measured = {"weights": weights_hash(part), "arch": _arch(part)}
    return _provenance(part) | measured


def _arch(part: nn.Module) -> str:
    """Return the architecture of a part, or else the name of its class or function."""
    arch = _fact_of_ours(part, "arch")
    if arch:
        return str(arch)
    named = part.function if isinstance(part, FunctionDenoiser) else part
    return str(getattr(named, "__qualname__", type(named).__qualname__))
