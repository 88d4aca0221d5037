"""Who made each row of a table, and which image it is about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from randsmooth.certificates.evidence import ADDRESS, Ints
from randsmooth.certificates.header import Machine


def numbered(machines: Sequence[Machine | None]) -> tuple[tuple[Machine, ...], Ints]:
    """Return each machine once, and (N,) the number of each row's among them: a column
    `machine`; -1 for None.

    Example:
        >>> of_rows = [Machine(host=host) for host in ("node7", "node8", "node7")]
        >>> machines, numbers = numbered(of_rows)
        >>> [machine.host for machine in machines], numbers.tolist()
        (['node7', 'node8'], [0, 1, 0])
    """
    keys = [
        "" if machine is None else machine.model_dump_json() for machine in machines
    ]
    by_key = {
        key: machine
        for key, machine in zip(keys, machines, strict=True)
        if machine is not None
    }
    number_of = {key: number for number, key in enumerate(by_key)}
    number_of[""] = -1
    return tuple(by_key.values()), np.array([number_of[key] for key in keys], np.int64)


def in_bytes(address: int) -> bytes:
    """Return the address of an image (see `noise.address_of`) as it is hashed and
    stored.
    """
    return address.to_bytes(ADDRESS, "little")


def hashed_images(labels: Ints, addresses: Iterable[bytes]) -> str:
    """Return a hash of labels (N,), and of the images with these N addresses (see
    `in_bytes`), in their order.

    By it a run is known to be about the same images.
    """
    content = b"".join([labels.astype("<i8").tobytes(), *addresses])
    return f"sha256, every image: {hashlib.sha256(content).hexdigest()}"
