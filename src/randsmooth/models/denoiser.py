"""A trained denoiser: the network that denoised smoothing puts before a classifier, and its model folder."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models import denoiser_card
from randsmooth.models.dncnn import USUAL, DnCNN, depth_and_width
from randsmooth.models.stored_model import StoredModel

MOST_CHANNELS = 2**10


class Denoiser(
    StoredModel,
    tags=["randomized-smoothing", "certified-robustness", "denoising"],
    pipeline_tag="image-to-image",
    model_card_template=denoiser_card.TEMPLATE,
):
    """A denoiser, images (B, C, H, W) of noisy ones of any size (Salman et al., NeurIPS 2020). See `Denoised`.

    Args:
        channels: of the images.
        arch: "dncnn-DEPTHxWIDTH"; Salman et al. use dncnn-17x64.
        provenance: how it was trained, as plain JSON: dataset, sigma, objective, ... It is copied; {} if unknown.

    Raises:
        InputError: any of these cannot be used.

    Example:
        >>> import torch
        >>> denoiser = Denoiser(channels=1, arch="dncnn-5x16", provenance={"sigma": 0.25}).eval()
        >>> noisy = torch.randn(2, 1, 8, 8)
        >>> torch.equal(denoiser(noisy), noisy), denoiser.sigma  # untrained, it leaves the noise where it is
        (True, 0.25)
    """

    kind = "denoiser"

    def __init__(self, *, channels: int, arch: str = USUAL, provenance: dict[str, Any] | None = None) -> None:
        super().__init__()
        if type(channels) is not int or not 1 <= channels <= MOST_CHANNELS:
            raise InputError(f"channels={shown(repr(channels))}: expected 1 (grey) to {MOST_CHANNELS}, usually 3 (RGB)")
        depth, width = depth_and_width(arch)
        self.arch, self.channels = f"dncnn-{depth}x{width}", channels
        self.network = DnCNN(channels=channels, depth=depth, width=width)
        self._hub_mixin_config = {"arch": self.arch, "channels": channels}
        self.provenance = {} if provenance is None else provenance

    @property
    def sigma(self) -> float | None:
        """The noise that it was trained for, in units of pixels in [0, 1]; None where that is not recorded."""
        sigma: object = self.provenance.get("sigma")
        return float(sigma) if isinstance(sigma, int | float) and not isinstance(sigma, bool) else None

    def forward(self, noisy: Tensor) -> Tensor:
        """Images (B, C, H, W), not limited to [0, 1]."""
        return self.network(noisy)  # type: ignore[no-any-return]

    def card_fields(self) -> dict[str, Any]:
        """What the template of the model's card needs."""
        return denoiser_card.fields(self.config, self.sigma)
