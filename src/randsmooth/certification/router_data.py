"""The images that a router is trained on, labelled with the experts that should get them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import torch
from torch import Tensor

from randsmooth import data
from randsmooth.certificates import Certificates, router_labels
from randsmooth.data import ReadingOptions
from randsmooth.errors import WrongTable
from randsmooth.urls import Place

# The number of images that are read at a time.
IMAGES_READ_AT_ONCE = 256


def router_data(
    dataset: Any,
    experts: Sequence[Place | Certificates],
    *,
    split: str = "train",
    **reading: Unpack[ReadingOptions],
) -> tuple[Tensor, Tensor]:
    """Return the images and labels that train a router: `train(router_data(...), ...)`.

    Args:
        dataset: the data set of the experts' tables, as for `data.load`.
        experts: certificates of images of this split by each expert, as for
            `certificates.router_labels`.
        split: the split that the tables are about.
        reading: how images are read, as for `data.load`, such as `resize`.

    Returns:
        x: (M, C, H, W) images in [0, 1].
        y: (M,) numbers of the experts.

    Raises:
        Problem: `router_labels` raises it, or the tables are about other data.

    Example:
        >>> from torch import nn
        >>> from randsmooth import certify
        >>> layers = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> tables = [
        ...     certify(layers, "digits", sigma=sigma, n=100, take=300, split="train")
        ...     for sigma in (0.05, 0.5)
        ... ]
        >>> x, y = router_data("digits", tables)
        >>> x.shape[1:], len(x) == len(y)
        (torch.Size([1, 8, 8]), True)
    """
    labels = router_labels(experts)
    images = data.load(dataset, split, stream=True, **reading)
    if labels.idx.max(initial=0) >= len(images):
        raise WrongTable(
            f"the tables are about image {labels.idx.max()}, and the {split} split of "
            f"{images.spec.name} has {len(images):,} images"
        )
    positions = torch.from_numpy(labels.idx)
    batches = images.batches(positions.split(IMAGES_READ_AT_ONCE))
    x = torch.cat([batch for batch, _ in batches])
    return x, torch.from_numpy(labels.label)
