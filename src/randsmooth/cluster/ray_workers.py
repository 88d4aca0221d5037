"""The nodes of a Ray cluster as the workers of a certification."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from randsmooth.certification.crew import Crew
from randsmooth.certification.order import Order
from randsmooth.cluster.driver import ENDPOINT, driven
from randsmooth.cluster.ray_address import AUTO, check_address
from randsmooth.cluster.ray_session import connected
from randsmooth.cluster.ray_transport import RayTransport
from randsmooth.errors import InputError, Note
from randsmooth.models import Endpoint


@dataclass(frozen=True)
class Ray:
    """Has the nodes of a Ray cluster certify; this process, on one of them, deals the images and writes the journal.

    Each worker is an actor: one a GPU where nodes have some, else one for at most eight cores. Nodes that join later
    help. The model and the data are opened by each worker, so that what names them must mean the same on every node;
    objects are sent through Ray's object store, once.

    Args:
        address: HOST:PORT of the cluster, or auto: the one that this machine is in.
        workers: how many at most; default: as many as the nodes have room for.

    Raises:
        InputError: something that is no address, or no number of workers; when used, that the cluster cannot be
            reached.

    Example:
        >>> Ray("10.0.0.1:6379", workers=16)
        Ray(address='10.0.0.1:6379', workers=16)
        >>> Ray("10.0.0.1")
        Traceback (most recent call last):
        randsmooth.errors.InputError: --ray 10.0.0.1 is no address of a Ray cluster: expected auto, or HOST:PORT ...
    """

    address: str = AUTO
    workers: int | None = None

    def __post_init__(self) -> None:
        check_address(self.address)
        if self.workers is not None and (type(self.workers) is not int or self.workers < 1):
            raise InputError(f"workers={self.workers!r} must be a whole number from 1 up")

    @contextmanager
    def __call__(self, order: Order) -> Iterator[Crew]:
        """The workers as a crew for `order`."""
        if isinstance(order.model, Endpoint):
            raise InputError(ENDPOINT)
        if ":" in order.device:
            raise InputError(
                f"device={order.device} is a device of one machine; on a Ray cluster give cuda, cpu or auto"
            )
        number = self.workers
        if number is not None and order.take is not None and order.take < number:
            number = order.take
            warnings.warn(f"{number} images need no more than {number} workers", Note, stacklevel=2)
        with connected(self.address), driven(RayTransport(number, order.device), order) as crew:
            yield crew
