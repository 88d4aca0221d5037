"""Where an image's noise lies among the streams: at a number that its pixels make."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from torch import Tensor


def address_of(x: Tensor) -> int:
    """256 bits that say what an image (C, H, W) is: the BLAKE2b hash of its shape and its pixels.

    The pixels enter as the little-endian float32 numbers that the base classifier is shown, in C order, -0.0 as 0.0:
    so neither the device, the memory layout, the machine nor a type that holds the same numbers matters. Two images
    that differ in one bit of one pixel have addresses that share nothing; equal images have one address.
    """
    pixels = x.detach().float().cpu().numpy() + np.float32(0.0)  # which makes -0.0 0.0
    digest = blake2b(repr(pixels.shape).encode(), digest_size=32)
    digest.update(np.ascontiguousarray(pixels, "<f4").data)
    return int.from_bytes(digest.digest(), "little")
