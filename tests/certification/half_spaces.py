"""Half-spaces of 64 pixels: images at known distances from the plane, and the table of these distances."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from randsmooth import Certificates, models
from randsmooth.certificates import Header
from randsmooth.certification.run_header import fingerprint
from randsmooth.data import TensorImages
from randsmooth.data.dataset_spec import spec_of_own_data
from randsmooth.noise import Gaussian

SIGMA, SIDE = 0.5, 8
D = SIDE * SIDE


class HalfSpace(nn.Module):
    """Class 1 beyond a plane through the centre: under noise the class changes at the plane, whatever the gain."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__()
        w = torch.randn(D, generator=torch.Generator().manual_seed(0))
        self.w: Tensor
        self.register_buffer("w", w / w.norm())
        self.gain = gain

    def forward(self, x: Tensor) -> Tensor:
        side = self.gain * ((x - 0.5).flatten(1) @ self.w)
        return torch.stack([-side, side], dim=1)


def around_the_plane(distances: list[float]) -> tuple[TensorImages, np.ndarray]:
    """Images at about these signed distances from the plane, and their distances to all digits."""
    w = HalfSpace().w.double()
    aside = 0.05 * torch.randn(
        len(distances), D, generator=torch.Generator().manual_seed(1)
    )
    aside = aside.double() - (aside.double() @ w)[:, None] * w
    x = 0.5 + torch.tensor(distances, dtype=torch.float64)[:, None] * w + aside
    pixels = (255 * x).round().clamp(0, 255).to(torch.uint8).view(-1, 1, SIDE, SIDE)
    signed = (pixels.float().div(255).double().flatten(1) - 0.5) @ w
    labels = (signed > 0).long()
    names, shape = ("below", "above"), (1, SIDE, SIDE)
    spec = spec_of_own_data(
        "half-spaces", {"test": len(labels)}, shape, names, named=True, fit=None
    )
    return TensorImages(spec, "test", pixels, labels), signed.numpy()


IMAGES, SIGNED = around_the_plane([0.6, -0.7, 0.8, 0.9, -1.1])


def true_table(
    base: nn.Module,
    placed: tuple[TensorImages, np.ndarray] = (IMAGES, SIGNED),
    **facts: Any,
) -> Certificates:
    """Certificates of the very distances from the plane."""
    images, signed = placed
    header: dict[str, Any] = {
        "noise": Gaussian(SIGMA),
        "alpha": 0.001,
        "dataset": "half-spaces",
        "split": "test",
        "model": {"weights": models.weights_hash(base), "arch": "HalfSpace"},
        "precision": "float32, batches of 256",
        "data": fingerprint(images, range(len(images))),
    }
    predict = images.labels.numpy()
    idx, none = np.arange(len(predict)), np.zeros(len(predict))
    return Certificates(
        Header(**header | facts),
        idx,
        predict,
        predict,
        np.abs(signed),
        none,
        name="true",
    )
