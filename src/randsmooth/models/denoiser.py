"""A trained denoiser: DnCNN, the network that denoised smoothing puts before a classifier, and its model folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import InputError
from randsmooth.models.diffusion import DiffusionDenoiser, from_diffusers, is_diffusers
from randsmooth.models.folder import StoredModel, moved
from randsmooth.urls import fetched, has_protocol

MOST_CHANNELS = 2**10
USUAL = "dncnn-17x64"  # of Salman et al. 2020, for CIFAR-10 and ImageNet
DEPTHS, WIDTHS = range(3, 201), range(1, 2049)


class DnCNN(nn.Module):
    """image = noisy - R(noisy): R predicts the noise (Zhang et al., IEEE TIP 2017).

    R is a 3x3 convolution with ReLU, `depth` - 2 times convolution, batch normalisation and ReLU, and a convolution.
    Only the first convolution has a bias. Layers are named and numbered as in the weights that Salman et al. released.
    R starts at 0, so an untrained network returns its input.

    Args:
        channels: of the images.
        depth: convolutions, 3 or more.
        width: channels between them.
    """

    def __init__(self, *, channels: int, depth: int, width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
        for _ in range(depth - 2):
            # eps as released. Their momentum, 0.95, would keep little more than the last batch: torch counts the share
            # of the new batch, the framework that the number comes from that of the old ones.
            normalised = nn.BatchNorm2d(width, eps=1e-4, momentum=0.05)
            layers += [nn.Conv2d(width, width, 3, padding=1, bias=False), normalised, nn.ReLU()]
        last = nn.Conv2d(width, channels, 3, padding=1, bias=False)
        self.dncnn = nn.Sequential(*layers, last)
        for layer in layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.orthogonal_(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
        nn.init.zeros_(last.weight)

    def forward(self, noisy: Tensor) -> Tensor:
        """Images (B, C, H, W) of noisy ones, not limited to [0, 1]."""
        return noisy - self.dncnn(noisy)  # type: ignore[no-any-return]


class Denoiser(StoredModel):
    """A denoiser, images (B, C, H, W) of noisy ones of any size (Salman et al., NeurIPS 2020). See `Denoised`.

    Args:
        channels: of the images.
        arch: "dncnn-DEPTHxWIDTH"; Salman et al. use dncnn-17x64, for which "dncnn" alone stands.
        provenance: how it was trained, as plain JSON: dataset, sigma, objective, ... It is copied; {} if unknown.

    Raises:
        InputError: any of these cannot be used.

    Example:
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
        match = re.fullmatch(r"dncnn-(\d{1,4})x(\d{1,4})", USUAL if arch == "dncnn" else str(arch))
        depth, width = (int(match[1]), int(match[2])) if match else (0, 0)
        if depth not in DEPTHS or width not in WIDTHS:
            raise InputError(
                f"arch={shown(repr(arch))} is no denoiser: expected dncnn-DEPTHxWIDTH, such as {USUAL}, with a depth "
                f"from {DEPTHS[0]} to {DEPTHS[-1]} and a width from {WIDTHS[0]} to {WIDTHS[-1]:,}"
            )
        self.arch, self.channels = f"dncnn-{depth}x{width}", channels
        self.network = DnCNN(channels=channels, depth=depth, width=width)
        self._config = {"arch": self.arch, "channels": channels}
        self.provenance = {} if provenance is None else provenance

    @property
    def sigma(self) -> float | None:
        """The noise that it was trained for, in units of pixels in [0, 1]; None where that is not recorded."""
        sigma: object = self.provenance.get("sigma")
        return float(sigma) if isinstance(sigma, int | float) and not isinstance(sigma, bool) else None

    def forward(self, noisy: Tensor) -> Tensor:
        """Images (B, C, H, W), not limited to [0, 1]."""
        return self.network(noisy)  # type: ignore[no-any-return]


def load_denoiser(
    source: Path | str, *, sigma: float | None = None, device: torch.device | str = "cpu"
) -> Denoiser | DiffusionDenoiser:
    """The denoiser in a folder, in eval mode on `device`.

    Args:
        source: a folder of `train-denoiser`, or the hub's "user/name" of one; or the folder of an unconditional
            diffusion model as `diffusers` saves it: a DDPMPipeline, or a UNet2DModel with its `scheduler_config.json`.
        sigma: of the noise to remove, which a diffusion model must know.
        device: where to load it to.

    Raises:
        InputError: there is no such denoiser, it is damaged, or a diffusion model is not told sigma.

    Example:
        >>> import tempfile
        >>> from randsmooth import models
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     models.save(Denoiser(channels=1, arch="dncnn-5x16"), folder)
        ...     load_denoiser(folder).arch
        'dncnn-5x16'
    """
    source = fetched(source) if has_protocol(source) else source
    if is_diffusers(Path(source)):
        return moved(from_diffusers(Path(source), sigma), device)
    return Denoiser.load(source, device)
