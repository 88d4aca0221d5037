"""The address of an image's noise: a number computed from its pixels."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from torch import Tensor


def address_of(x: Tensor) -> int:
    """A 256-bit number that identifies an image (C, H, W): the BLAKE2b hash of its shape and its pixels.

    The pixels are hashed as little-endian float32 numbers in C order, with -0.0 as 0.0, so that the device, the memory
    layout and the machine do not matter. Equal images have the same address; images that differ in one bit of one
    pixel have unrelated ones.

    Example:
        >>> import torch
        >>> x = torch.tensor([[[0.0, 0.5], [0.25, 1.0]]])
        >>> address_of(x) == address_of(x.double())
        True
        >>> address_of(x) == address_of(x.flip(-1))
        False
    """
    pixels = x.detach().float().cpu().numpy() + np.float32(0.0)  # which makes -0.0 0.0
    digest = blake2b(repr(pixels.shape).encode(), digest_size=32)
    digest.update(np.ascontiguousarray(pixels, "<f4").data)
    return int.from_bytes(digest.digest(), "little")
