"""This process as the driver of a Ray cluster, without the noise."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from randsmooth.cluster.ray_address import JOIN, found, stderr_of_libraries_closed
from randsmooth.errors import InputError
from randsmooth.escape import shortened


@contextmanager
def connected(written: str) -> Iterator[None]:
    """This process is connected to the cluster that `written` means; one that was connected before is left as it is.

    Raises:
        InputError: there is no such cluster (see `ray_address.found`), or this machine is not in it.
    """
    address = found(written)
    import ray

    if ray.is_initialized():
        yield
        return
    _check_member(address)
    with _own_signals(), stderr_of_libraries_closed():
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL, include_dashboard=False)
        except (RuntimeError, ConnectionError, ValueError) as error:
            raise InputError(f"Ray at {address} lets this process not in: {shortened(str(error))}") from error
    try:
        with _muted():
            yield
    finally:
        ray.shutdown()


def _check_member(address: str) -> None:
    """Raise InputError unless a node of a Ray cluster runs on this machine: Ray would wait a minute for one."""
    from ray._private import services

    if not services.find_node_ids():
        raise InputError(f"this machine is not in the Ray cluster at {address}: let it join with `{JOIN}{address}`")


@contextmanager
def _own_signals() -> Iterator[None]:
    """Gives the process its SIGTERM handler back, which Ray replaces when it connects."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread() and before is not None:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _muted() -> Iterator[None]:
    """What Ray finds worth printing, pages of it where a node dies, is not printed; Ray has no setting for that."""
    from ray._private import worker

    prints = worker.print_to_stdstream
    worker.print_to_stdstream = lambda data, ignore_prefix: None
    try:
        yield
    finally:
        worker.print_to_stdstream = prints
