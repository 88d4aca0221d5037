"""Workers that share a certification or a sweep: processes, a Ray or a Dask cluster."""

from __future__ import annotations

import gc
import os
import socket
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from randsmooth.errors import Unreachable
from randsmooth.escape import printable, shortened
from randsmooth.extras import needs
from randsmooth.launch.pool import LOOK_EVERY_SECONDS, DeviceContext, Pool
from randsmooth.notes import Note
from randsmooth.progress import Progress

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates
    from randsmooth.certification.run import RunSpec

# The most cores of one worker of a cluster: the threads of one process have to wait for
# each other at Python's lock.
CORES_PER_WORKER = 8
# Seconds in which a cluster has to answer.
ANSWER_SECONDS = 5.0


@dataclass(frozen=True)
class Workers(Pool):
    """Workers of whichever backend of joblib is chosen; by default processes.

    `joblib.parallel_config` chooses it. They see the same folders, into which they write.

    Args:
        number: the number of workers at a time; None stands for as many as the backend
            has room for.

    Raises:
        BadValue: the number is none.

    Example:
        >>> Workers(0)
        Traceback (most recent call last):
        randsmooth.errors.BadValue: workers=0 must be a whole number from 1 up
    """

    def certify(
        self,
        spec: RunSpec,
        out: Path,
        show: Progress,
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> Certificates:
        """Certify by these workers into the file `out`, as `certify` asks for it."""
        # It loads torch, which workers that cannot be are refused without.
        from randsmooth.launch.shared_runs import certify_on

        return certify_on(self, spec, out, show, resume=resume, overwrite=overwrite)


class Processes(Workers):
    """So many processes of this machine.

    There is one for each GPU, where there are GPUs; else each has a share of the cores.
    Each opens model and data for itself, so that memory is needed for each. None outlives
    this process.

    Args:
        number: the number of processes. Fewer are used where there are fewer GPUs, or
            fewer images.

    Example:
        >>> import tempfile
        >>> from torch import nn
        >>> import randsmooth as rs
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = rs.certify(
        ...         model,
        ...         "digits",
        ...         sigma=0.25,
        ...         n=100,
        ...         take=5,
        ...         out=f"{folder}/mine.parquet",
        ...         workers=Processes(1),
        ...     )
        >>> len(table)
        5
    """

    @contextmanager
    def at_hand(self, device: str) -> Iterator[int]:
        import joblib

        gpus = gpus_of(device)
        number = self.number or len(gpus) or joblib.cpu_count()
        if gpus and number > len(gpus):
            note = Note("one_worker_a_gpu", gpus=len(gpus), workers=number)
            warnings.warn(note, stacklevel=4)
            number = len(gpus)
        with joblib.parallel_config(backend="loky", n_jobs=number):
            yield number

    def device_context(self, device: str) -> DeviceContext:
        return partial(free_gpu, gpus_of(device), os.getpid(), device)


@contextmanager
def free_gpu(gpus: Sequence[str], parent: int, device: str) -> Iterator[str]:
    """Give a process of this machine a GPU that no other of the same run has.

    A lock says so, which ends with the process. The process is ended when the one that
    started it is gone: what it does would be done twice otherwise.

    Args:
        gpus: the GPUs to choose from.
        parent: the process that started it.
        device: the device that it gets where there is no free GPU.
    """
    from filelock import FileLock, Timeout

    ended = threading.Event()
    watch = threading.Thread(target=_end_without, args=(parent, ended), daemon=True)
    watch.start()
    locks = Path(tempfile.gettempdir())
    try:
        for gpu in gpus:
            name = gpu.replace(":", "-")
            lock = FileLock(locks / f"randsmooth-{parent}-{name}.lock")
            with suppress(Timeout), lock.acquire(timeout=0):
                yield gpu
                return
        yield device
    finally:
        ended.set()


def _end_without(parent: int, ended: threading.Event) -> None:
    """End this process when `parent` is no longer its parent, until it has `ended`."""
    while not ended.wait(LOOK_EVERY_SECONDS):
        if os.getpid() != parent and os.getppid() != parent:
            os._exit(1)


@dataclass(frozen=True)
class Ray(Workers):
    """Workers on the nodes of a Ray cluster that this machine belongs to.

    Args:
        number: the number of workers; by default one for each GPU of the cluster where
            it has some, else one for eight cores.
        address: the address of the cluster, HOST:PORT; auto stands for the cluster that
            this machine is in.

    Example:
        >>> Ray(16, address="10.0.0.1:6379")
        Ray(number=16, address='10.0.0.1:6379')
    """

    address: str = "auto"

    # Of missed heartbeats.
    settles_seconds: ClassVar[float] = 20.0

    @contextmanager
    def at_hand(self, device: str) -> Iterator[int]:
        with needs("a Ray cluster"):
            import ray
            from ray.util.joblib import register_ray
        from joblib import parallel_config

        is_connected = ray.is_initialized()
        try:
            self._check_answers()
            if not is_connected:
                ray.init(self.address, log_to_driver=False, logging_level="CRITICAL")
        except (RuntimeError, OSError, ValueError, OverflowError) as error:
            reason = shortened(str(error))
            raise Unreachable(
                field="ray",
                value=printable(self.address),
                expected=(
                    "must be HOST:PORT, or auto, of a cluster that this machine is in "
                    f"({reason})"
                ),
                fix=(
                    "`ray start --head` begins one, "
                    "`ray start --address=HOST:PORT` joins it"
                ),
            ) from error
        try:
            resources = ray.cluster_resources()
            cpus = resources.get("CPU", 1.0)
            gpus = 0 if device == "cpu" else int(resources.get("GPU", 0))
            number = self._number_for(gpus, int(cpus))
            share = {
                "num_cpus": max(1, int(cpus // number)),
                "num_gpus": 1 if gpus else 0,
            }
            register_ray()
            with parallel_config(backend="ray", n_jobs=number, ray_remote_args=share):
                yield number
        finally:
            if not is_connected:
                ray.shutdown()

    def _check_answers(self) -> None:
        """Raise an error unless the address answers: Ray would look for a minute."""
        if self.address == "auto":
            return
        host, _, port = self.address.rpartition(":")
        socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS).close()

    def _number_for(self, gpus: int, cpus: int) -> int:
        """Return how many workers there are; more than there is room for would wait."""
        wanted = self.number or gpus or max(1, cpus // CORES_PER_WORKER)
        room = max(1, gpus or cpus)
        return min(wanted, room)


@dataclass(frozen=True)
class Dask(Workers):
    """Workers of a Dask cluster with a scheduler that answers at an address.

    Args:
        number: the number of units that run at a time; by default as many as the
            cluster has threads. Start its workers with one thread each (`dask worker
            ADDRESS --nthreads 1`), since torch has threads of its own.
        address: the address of the scheduler, HOST:PORT.

    Example:
        >>> Dask(address="10.0.0.1:8786")
        Dask(number=None, address='10.0.0.1:8786')
    """

    address: str = ""

    @contextmanager
    def at_hand(self, device: str) -> Iterator[int]:
        with needs("a Dask cluster"):
            from distributed import Client
        from joblib import parallel_config

        # The end of a client that found no scheduler may wait for the beginning of this
        # one, for ever.
        gc.collect()
        address = self.address.removeprefix("tcp://")
        try:
            client = Client(f"tcp://{address}", timeout=ANSWER_SECONDS)
        except (OSError, ValueError) as error:
            reason = shortened(str(error))
            raise Unreachable(
                field="dask",
                value=printable(self.address),
                expected=(
                    f"must be HOST:PORT of a scheduler that answers ({reason}): "
                    "`dask scheduler` starts one"
                ),
            ) from error
        with client, parallel_config(backend="dask"):
            yield self.number or max(1, sum(client.nthreads().values()))


def gpus_of(device: str) -> list[str]:
    """Return the GPUs of this machine that `device` stands for; none for the CPU."""
    if device == "cpu":
        return []
    if ":" in device:
        return [device]
    import torch

    return [f"cuda:{index}" for index in range(torch.cuda.device_count())]
