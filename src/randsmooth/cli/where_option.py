"""Where the work runs: processes of this machine, a Ray or Dask cluster; for verbs whose work can be shared out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from randsmooth.cli.settings import Settings, option
from randsmooth.errors import InputError
from randsmooth.extras import needs

if TYPE_CHECKING:
    from randsmooth.launch import Workers


class Where(Settings):
    """Who shares the work. The results do not depend on it."""

    workers: int | None = option(
        "Share the work out among so many processes of this machine: one a GPU, else a share of the cores each. "
        "(default: this process alone; with --ray or --dask: as many as the cluster has room for)"
    )
    ray: str | None = option(
        "Share the work out among the nodes of this Ray cluster: HOST:PORT, or auto for the one that this machine is "
        "in. All nodes must see the same folders. (default: none)"
    )
    dask: str | None = option(
        "Share the work out among the workers of this Dask cluster: HOST:PORT of its scheduler. All of them must see "
        "the same folders. (default: none)"
    )

    def where(self) -> Workers | None:
        """The workers; None for this process alone. InputError where they cannot be, before torch is loaded."""
        if self.ray is not None and self.dask is not None:
            raise InputError("--ray and --dask are two clusters: give one of them")
        if self.workers is None and self.ray is None and self.dask is None:
            return None
        from randsmooth.launch import Dask, Processes, Ray

        if self.ray is not None:
            found: Workers = Ray(self.workers, address=self.ray)
            with needs("--ray"):
                import ray  # noqa: F401
        elif self.dask is not None:
            found = Dask(self.workers, address=self.dask)
            with needs("--dask"):
                import distributed  # noqa: F401
        else:
            found = Processes(self.workers)
        return found
