"""Loading that must fail, and what is loaded into memory."""

import pytest
import torch

from randsmooth import data
from randsmooth.errors import InputError


def refuses(match: str, dataset: object, split: str = "train") -> None:
    with pytest.raises(InputError, match=match):
        data.load(str(dataset), split)


def pixels_of(images: data.Images) -> torch.Tensor:
    """The pixels (N, C, H, W) uint8 of a split that is held in memory."""
    assert isinstance(images, data.TensorImages)
    return images.pixels
