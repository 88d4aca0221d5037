"""Loading that must fail, and what is loaded into memory."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from randsmooth import data
from randsmooth.errors import InputError


def refuses(told: str | tuple[str, ...], dataset: object, split: str = "train", **options: Any) -> None:
    """Loading `dataset` is refused in a sentence that holds each of the parts `told`."""
    said = refusal(lambda: data.load(dataset, split, **options))
    for part in (told,) if isinstance(told, str) else told:
        assert part in said, (part, said)


def refusal(call: Callable[[], object]) -> str:
    """The sentence with which `call` is refused."""
    with pytest.raises(InputError) as error:
        call()
    return str(error.value)


def pixels_of(images: data.Images) -> torch.Tensor:
    """The pixels (N, C, H, W) uint8 of a split that is held in memory."""
    assert isinstance(images, data.TensorImages)
    return images.pixels
