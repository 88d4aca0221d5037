"""Digests that show whether a file of evidence is as it was written: sha256 of its parts.

They guard against accidents: a flipped bit, a lost block, files mixed up. Whoever forges counts can forge them as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Part = NDArray[np.int64] | NDArray[np.float64] | NDArray[np.uint8]


def digests(header: bytes, columns: Mapping[str, Sequence[Part]]) -> bytes:
    """One line `name sha256` for the stored `header` and one for each column.

    Args:
        header: the bytes that are stored.
        columns: arrays of int64, float64 or uint8, one or more a column. Name, type and shape of each are hashed with
            its little-endian bytes, so that numbers which change places change the digest.
    """
    lines = [f"header {hashlib.sha256(header).hexdigest()}"]
    for name, parts in columns.items():
        hashed = hashlib.sha256()
        for part in parts:
            little = np.ascontiguousarray(part, part.dtype.newbyteorder("<"))
            hashed.update(f"{name} {little.dtype.str} {little.shape}\n".encode())
            hashed.update(little.data)
        lines.append(f"{name} {hashed.hexdigest()}")
    return "\n".join(lines).encode()


def damaged(stored: bytes, found: bytes) -> list[str]:
    """The parts whose digests in `found` differ from those `stored`; "digests" if the stored digests are damaged."""
    then, now = stored.split(b"\n"), found.split(b"\n")
    names = [line.partition(b" ")[0] for line in now]
    if [line.partition(b" ")[0] for line in then] != names:
        return ["digests"]
    return [name.decode() for name, was, line in zip(names, then, now, strict=True) if was != line]


def link(before: str, line: bytes) -> str:
    """The checksum of `line` and of all lines before it, whose checksum is `before`: 16 hexadecimal digits of sha256.

    Since each depends on the one before, it reveals a line that is damaged, lost, doubled, moved or of another file.
    """
    return hashlib.sha256(before.encode() + line).hexdigest()[:16]


def in_bytes(address: int) -> bytes:
    """The address of an image (see `noise.address_of`) as it is hashed and stored."""
    return address.to_bytes(32, "little")


def hashed_images(labels: bytes, addresses: Iterable[bytes]) -> str:
    """A hash of labels, as int64, and of the images with these addresses (see `in_bytes`), in their order."""
    hashed = hashlib.sha256(labels)
    for address in addresses:
        hashed.update(address)
    return "sha256, every image: " + hashed.hexdigest()
