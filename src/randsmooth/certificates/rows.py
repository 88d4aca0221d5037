"""Who made each row of a table, and which image it is about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from randsmooth.certificates.evidence import ADDRESS, Ints
from randsmooth.certificates.header import Machine


def numbered(
    machine_of_row: Sequence[Machine | None],
) -> tuple[tuple[Machine, ...], Ints]:
    """Return every machine once, and (N,) for each row the number of its machine.

    Machines are numbered from 0 on, in the order of their first rows. A row whose
    machine is None has the number -1.

    Example:
        >>> nodes = [Machine(host=host) for host in ("node7", "node8", "node7")]
        >>> machines, numbers = numbered(nodes)
        >>> [machine.host for machine in machines], numbers.tolist()
        (['node7', 'node8'], [0, 1, 0])
    """
    machines = list[Machine]()
    numbers = list[int]()
    # A machine holds a dict, its versions, and cannot be a key: its JSON can.
    number_of_json: dict[str, int] = {}
    for machine in machine_of_row:
        if machine is None:
            numbers.append(-1)
            continue
        machine_as_json = machine.model_dump_json()
        if machine_as_json not in number_of_json:
            number_of_json[machine_as_json] = len(machines)
            machines.append(machine)
        numbers.append(number_of_json[machine_as_json])
    return tuple(machines), np.array(numbers, np.int64)


def in_bytes(address: int) -> bytes:
    """Return the bytes of an image's address, as they are hashed and stored.

    `noise.address_of` makes the address.
    """
    return address.to_bytes(ADDRESS, "little")


def hashed_images(labels: Ints, addresses: Iterable[bytes]) -> str:
    """Return one hash of N images and their labels, in their order.

    Two runs with the same hash are about the same images.

    Args:
        labels: (N,) true classes.
        addresses: the address of each image, from `in_bytes`.
    """
    content = b"".join([labels.astype("<i8").tobytes(), *addresses])
    return f"sha256, every image: {hashlib.sha256(content).hexdigest()}"
