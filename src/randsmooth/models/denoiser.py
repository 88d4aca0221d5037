"""Trained denoisers, as denoised smoothing puts them before a classifier."""

import re
from typing import Any

from torch import Tensor, nn

from randsmooth.errors import BadValue
from randsmooth.models.folder import StoredModel

# The most channels of an image.
MOST_CHANNELS = 2**10
# The network of Salman et al. 2020 for CIFAR-10 and ImageNet.
USUAL_ARCH = "dncnn-17x64"
ARCH = re.compile(r"dncnn-(?P<depth>\d{1,4})x(?P<width>\d{1,4})")
# The depths and widths that a network may have: a damaged file may ask for any.
DEPTHS = range(3, 201)
WIDTHS = range(1, 2049)


class DnCNN(nn.Module):
    """image = noisy - R(noisy): R predicts the noise (Zhang et al., IEEE TIP 2017).

    R is a 3x3 convolution with ReLU, `depth` - 2 times convolution, batch normalisation
    and ReLU, and a convolution. Only the first convolution has a bias. Layers are named
    and numbered as in the weights that Salman et al. released. Before training R is 0, so
    the network returns its input.

    Args:
        channels: the number of channels of the images.
        depth: the number of convolutions, 3 or more.
        width: the number of channels between two convolutions.
    """

    def __init__(self, *, channels: int, depth: int, width: int) -> None:
        super().__init__()
        first = nn.Conv2d(channels, width, 3, padding=1)
        layers: list[nn.Module] = [first, nn.ReLU()]
        for _ in range(depth - 2):
            layers += [
                nn.Conv2d(width, width, 3, padding=1, bias=False),
                # eps is that of the released code. Its momentum is 0.95, a number from a
                # framework where momentum is the share of the old batches. In torch it
                # is the share of the new batch: 0.05.
                nn.BatchNorm2d(width, eps=1e-4, momentum=0.05),
                nn.ReLU(),
            ]
        last = nn.Conv2d(width, channels, 3, padding=1, bias=False)
        self.dncnn = nn.Sequential(*layers, last)

        # `last` is not among `layers`: its weights are 0, so that R starts at 0.
        for layer in layers:
            if isinstance(layer, nn.Conv2d):
                nn.init.orthogonal_(layer.weight)
        # nn.Conv2d has a bias unless it is told otherwise.
        assert first.bias is not None
        nn.init.zeros_(first.bias)
        nn.init.zeros_(last.weight)

    def forward(self, noisy: Tensor) -> Tensor:
        """Return denoised images (B, C, H, W) of noisy ones, not limited to [0, 1]."""
        return noisy - self.dncnn(noisy)  # type: ignore[no-any-return]


class Denoiser(StoredModel):
    """A denoiser, which makes images (B, C, H, W) of noisy images of any size.

    See Salman et al., NeurIPS 2020, and `Denoised`.

    Args:
        channels: the number of channels of the images.
        arch: "dncnn-DEPTHxWIDTH"; Salman et al. use dncnn-17x64, for which "dncnn"
            alone stands.
        provenance: how it was trained, as plain JSON: dataset, sigma, objective, ... It
            is copied; {} if unknown.

    Raises:
        BadValue: any of these cannot be used.

    Example:
        >>> import torch
        >>> provenance = {"sigma": 0.25}
        >>> denoiser = Denoiser(channels=1, arch="dncnn-5x16", provenance=provenance)
        >>> noisy = torch.randn(2, 1, 8, 8)
        >>> # Untrained, it leaves the noise where it is.
        >>> torch.equal(denoiser.eval()(noisy), noisy), denoiser.sigma
        (True, 0.25)
    """

    kind = "denoiser"

    def __init__(
        self,
        *,
        channels: int,
        arch: str = USUAL_ARCH,
        provenance: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if type(channels) is not int or not 1 <= channels <= MOST_CHANNELS:
            raise BadValue(
                field="channels",
                value=channels,
                fix=f"expected 1 (grey) to {MOST_CHANNELS}, usually 3 (RGB)",
            )
        depth, width = _size_of(arch)
        self.arch = f"dncnn-{depth}x{width}"
        self.channels = channels
        self.network = DnCNN(channels=channels, depth=depth, width=width)
        self.config = {"arch": self.arch, "channels": channels}
        # `StoredModel` copies it.
        self.provenance = {} if provenance is None else provenance

    @property
    def sigma(self) -> float | None:
        """The sigma that the denoiser was trained for, of pixels in [0, 1].

        None where its provenance does not record it.
        """
        sigma = self.provenance.get("sigma")
        # A truth value is no sigma, although Python counts it as a number.
        if isinstance(sigma, int | float) and not isinstance(sigma, bool):
            return float(sigma)
        return None

    def forward(self, noisy: Tensor) -> Tensor:
        """Return denoised images (B, C, H, W), not limited to [0, 1]."""
        return self.network(noisy)  # type: ignore[no-any-return]


def _size_of(arch: str) -> tuple[int, int]:
    """Return the depth and width that the name of a network says.

    Raises:
        BadValue: it is no such name, or a number is out of range.
    """
    # A damaged file may hold something else than a text here.
    match = ARCH.fullmatch(USUAL_ARCH if arch == "dncnn" else str(arch))
    if match is not None:
        depth, width = int(match["depth"]), int(match["width"])
        if depth in DEPTHS and width in WIDTHS:
            return depth, width
    raise BadValue(
        field="arch",
        value=arch,
        fix=f"expected dncnn-DEPTHxWIDTH, such as {USUAL_ARCH}, depth from {DEPTHS[0]} "
        f"to {DEPTHS[-1]}, width from {WIDTHS[0]} to {WIDTHS[-1]:,}",
    )
