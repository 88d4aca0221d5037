"""Options that say who does the work: processes, a cluster, or tasks of Slurm."""

from dataclasses import fields
from importlib import import_module
from typing import Annotated

from randsmooth import launch
from randsmooth.cli.settings import Given, Listed, Pairs, Settings
from randsmooth.errors import Conflict, MissingValue
from randsmooth.extras import needs


class Shared(Settings):
    """Who shares the work. The results do not depend on it.

    Attributes:
        workers: Share the work out among so many processes of this machine: one a GPU,
            else a share of the cores each. (default: this process alone; with --ray or
            --dask: as many as the cluster has room for)
        ray: Share the work out among the nodes of this Ray cluster: HOST:PORT, or auto
            for the one that this machine is in. All nodes must see the same folders.
            (default: none)
        dask: Share the work out among the workers of this Dask cluster: HOST:PORT of
            its scheduler. All of them must see the same folders. (default: none)
    """

    workers: int | None = None
    ray: str | None = None
    dask: str | None = None

    def chosen_workers(self) -> launch.Workers | None:
        """Return the workers; None for this process alone.

        Raises:
            Problem: two clusters are named, a number of workers is impossible, or the
                package of the cluster is missing. No torch is loaded for it.
        """
        if self.ray is not None and self.dask is not None:
            raise Conflict("--ray and --dask are two clusters: give one of them")
        if self.ray is not None:
            ray = launch.Ray(self.workers, address=self.ray)
            # Imported to find out whether it is installed.
            with needs("--ray"):
                import_module("ray")
            return ray
        if self.dask is not None:
            dask = launch.Dask(self.workers, address=self.dask)
            # Imported to find out whether it is installed, in the package distributed.
            with needs("--dask"):
                import_module("distributed")
            return dask
        if self.workers is not None:
            return launch.Processes(self.workers)
        return None


class SharedOrSlurm(Shared):
    """Who shares the work, tasks of Slurm too, and what each task asks Slurm for.

    Attributes:
        slurm: Submit to Slurm.
        partition: Partition of Slurm. (default: Slurm's)
        time: How long a task may run, as 2:00:00 or 1-12:00; then it goes on in its
            next turn.
        gpus: GPUs of each task. (default: Slurm's)
        cpus: Processor cores of each task. (default: Slurm's)
        mem: Memory of each task, such as 16G. (default: Slurm's)
        account: Account that Slurm charges. (default: Slurm's)
        qos: Quality of service of Slurm. (default: Slurm's)
        constraint: Features that a node must have, as sbatch writes them. (default:
            any node)
        setup: A line of shell that each task runs first, such as "module load cuda".
            Repeatable.
        slurm_arg: Any other parameter of sbatch, such as exclude=node7 or
            exclusive=true. Repeatable.
    """

    slurm: bool = False
    partition: str | None = None
    time: str | None = None
    gpus: int | None = None
    cpus: int | None = None
    mem: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    setup: Annotated[list[str], Listed, Given(metavar="LINE")] = []
    slurm_arg: Pairs = {}

    def resources(self) -> launch.Resources:
        """Return the resources of each task. Problem where no task can ask for them."""
        if (self.workers, self.ray, self.dask) != (None, None, None):
            raise Conflict(
                "--slurm, --workers, --ray and --dask say in different ways where the "
                "work runs: give one"
            )
        if self.time is None:
            raise MissingValue(
                "--slurm needs --time, the longest time of a task, such as --time "
                "2:00:00. A task that needs longer is queued again and resumes"
            )
        # The options have the names of the fields, but for `setup`, which is a tuple
        # there, and `extra`, which is --slurm-arg.
        names = {field.name for field in fields(launch.Resources)} - {"setup", "extra"}
        asked = self.model_dump(include=names)
        return launch.Resources(**asked, setup=tuple(self.setup), extra=self.slurm_arg)
