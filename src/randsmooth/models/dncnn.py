"""DnCNN, the denoiser of denoised smoothing: a plain convolutional network that predicts the noise."""

from __future__ import annotations

import re

from torch import Tensor, nn

from randsmooth.documents import shown
from randsmooth.errors import InputError

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


def depth_and_width(arch: object) -> tuple[int, int]:
    """Those of a denoiser called `arch`, such as "dncnn-17x64"; "dncnn" alone means that one.

    Raises:
        InputError: another name, or numbers with which no network is built.
    """
    match = re.fullmatch(r"dncnn-(\d{1,4})x(\d{1,4})", USUAL if arch == "dncnn" else str(arch))
    if not isinstance(arch, str) or match is None:
        raise InputError(f"arch={shown(repr(arch))} is no denoiser: expected dncnn-DEPTHxWIDTH, such as {USUAL!r}")
    depth, width = int(match[1]), int(match[2])
    if depth not in DEPTHS or width not in WIDTHS:
        raise InputError(
            f"arch={arch!r}: expected a depth from {DEPTHS[0]} to {DEPTHS[-1]} and a width from {WIDTHS[0]} to "
            f"{WIDTHS[-1]:,}"
        )
    return depth, width
