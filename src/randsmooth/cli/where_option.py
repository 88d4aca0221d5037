"""Where the steps of sweeps and reproductions run: options, and the executor that they mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from randsmooth.errors import InputError

if TYPE_CHECKING:
    from randsmooth.cluster import Executor

WORKERS = (
    "Run so many steps side by side on this machine, its threads or GPUs shared out. (default: 1; with --ray: as many "
    "as the nodes have room for)"
)
RAY = (
    "Run the steps on the nodes of this Ray cluster: HOST:PORT, or auto for the one that this machine is in. All nodes "
    "must see the same folders. (default: none)"
)


def check_where(ray: str | None) -> None:
    """Raise InputError for an address that is none, or where Ray is not installed; asks nobody."""
    if ray is not None:
        from randsmooth.cluster.ray_address import check_address, check_installed

        check_address(ray)
        check_installed()


@contextmanager
def executor_of(ray: str | None, workers: int | None) -> Iterator[Executor | None]:
    """The executor for the steps; None where they run on this machine.

    Raises:
        InputError: no such Ray cluster, or fewer workers than one.
    """
    if workers is not None and workers < 1:
        raise InputError(f"workers={workers} must be at least 1")
    if ray is None:
        yield None
        return
    from randsmooth.cluster.ray_steps import on_ray

    with on_ray(ray, workers) as executor:
        yield executor
