"""The hash of a table's images and labels, by which a run is known to be about the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def in_bytes(address: int) -> bytes:
    """The address of an image (see `noise.address_of`) as it is hashed and stored."""
    return address.to_bytes(32, "little")


def hashed_images(labels: bytes, addresses: Iterable[bytes]) -> str:
    """A hash of labels, as int64, and of the images with these addresses (see `in_bytes`), in their order."""
    hashed = hashlib.sha256(labels)
    for address in addresses:
        hashed.update(address)
    return "sha256, every image: " + hashed.hexdigest()
