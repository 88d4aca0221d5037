"""Where units of work run side by side: processes of this machine, a Ray or Dask cluster, any backend of joblib."""

from __future__ import annotations

import gc
import os
import pickle
import socket
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from randsmooth.children import without_current_folder
from randsmooth.errors import BadValue, Problem, Unreachable, WrongModel
from randsmooth.escape import printable, shortened
from randsmooth.extras import needs
from randsmooth.notes import Note
from randsmooth.progress import Progress, Reporter

if TYPE_CHECKING:
    from randsmooth.certificates import Certificates
    from randsmooth.certification.run import RunSpec

LOOK_EVERY = 0.5  # seconds between two looks at how far the units are
TRIES = 3  # how often workers may fail one after the other without any progress between
CORES = 8  # of one worker of a cluster, at most: the threads of one process share what Python locks
ANSWER = 5.0  # seconds in which a cluster has to answer

# What names the same data, and the same instructions of a processor, on every machine.
PASSED_ON = ("RANDSMOOTH_DATA", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA")

Unit = Callable[[str], None]  # takes the device that it may use


@dataclass(frozen=True)
class Workers:
    """`number` workers of whichever backend of joblib is chosen (`joblib.parallel_config`), processes by default.

    A unit writes into files, so that workers on other machines must see the same folders.

    Args:
        number: how many at a time; None: as many as the backend has room for.

    Raises:
        Problem: the number is none.

    Example:
        >>> Workers(0)
        Traceback (most recent call last):
        randsmooth.errors.BadValue: workers=0 must be a whole number from 1 up
    """

    number: int | None = None

    settles: ClassVar[float] = (
        0.0  # seconds until the backend knows what is left after a death
    )

    def __post_init__(self) -> None:
        if self.number is not None and (
            type(self.number) is not int or self.number < 1
        ):
            raise BadValue(
                field="workers",
                value=self.number,
                expected="must be a whole number from 1 up",
            )

    @contextmanager
    def at_hand(self, device: str) -> Iterator[int]:
        """Within this context joblib uses these workers; how many there are. Problem where they are not there."""
        import joblib

        yield self.number or joblib.effective_n_jobs(-1)

    def place(self, device: str) -> Callable[[], Any]:
        """What a worker enters around a unit: a context that keeps its device."""
        return partial(nullcontext, device)

    def run(
        self,
        units: Mapping[str, Unit],
        *,
        device: str = "auto",
        left: Callable[[], set[str]],
        look: Callable[[], int],
    ) -> dict[str, str]:
        """Run every unit on a worker; why those failed that did, by their names.

        A unit whose worker dies, or that another run still has, is run again, as long as something is done in between.

        Args:
            units: by their names; each is called on a worker with the device that it may use, and goes on with what a
                killed run of it has left in its files.
            device: as users name it; "auto" and "cuda" stand for all GPUs.
            left: the names of those that are not done, as the files say.
            look: how much is done, in any unit.

        Raises:
            Problem: the workers are not there, units cannot be sent to them, or they die again and again.
        """
        import joblib

        failed, tries, done = dict[str, str](), 0, 0
        here = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        while todo := [name for name in units if name in left() and name not in failed]:
            try:
                with without_current_folder(), self.at_hand(device) as count:
                    job, given = (
                        joblib.delayed(attempt),
                        (self.place(device), str(Path.cwd()), here),
                    )
                    said = joblib.Parallel(n_jobs=count, batch_size=1)(
                        job(units[name], *given) for name in todo
                    )
                failed |= {
                    name: error for name, error in zip(todo, said, strict=True) if error
                }
                if left() & {*todo} - {
                    *failed
                }:  # left to whoever has it, such as an orphan that is about to end
                    raise RuntimeError("it ended without writing its output")
            except Problem:
                raise
            except pickle.PicklingError as error:
                way = "name it, as a folder, package.module:NAME or file.py:NAME, or leave out workers"
                raise WrongModel(
                    f"model or data cannot be sent to other processes ({error}): {way}"
                ) from error
            except (
                Exception
            ) as error:  # that, or a worker's death, as each backend of joblib calls it
                done, before = look(), done
                tries = 0 if done > before else tries + 1
                if tries == TRIES:
                    raise Unreachable(
                        f"workers failed {TRIES} times in a row: {shortened(str(error))}"
                    ) from error
                time.sleep(max(self.settles, 2 * LOOK_EVERY))
        return failed

    def certify(
        self,
        spec: RunSpec,
        out: Path,
        show: Progress,
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> Certificates:
        """Certify by these workers into the file `out`, as `certification.certify` asks for it."""
        from randsmooth.launch.shards import certify_on

        return certify_on(self, spec, out, show, resume=resume, overwrite=overwrite)


class Processes(Workers):
    """So many processes of this machine: one for each GPU where there are GPUs, else each with a share of the cores.

    Each opens model and data for itself, so that memory is needed for each. None outlives this process.

    Args:
        number: of the processes. Fewer are used where there are fewer GPUs, or fewer images.

    Example:
        >>> import tempfile
        >>> from torch import nn
        >>> import randsmooth as rs
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = rs.certify(
        ...         model, "digits", sigma=0.25, n=100, take=5, out=f"{folder}/mine.parquet", workers=Processes(1)
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

    def place(self, device: str) -> Callable[[], Any]:
        return partial(slot, gpus_of(device), os.getpid(), device)


@contextmanager
def slot(gpus: Sequence[str], parent: int, device: str) -> Iterator[str]:
    """Gives a process of this machine a GPU that no other of the same run has, by a lock that ends with it.

    It also ends the process when the one that started it is gone: what it does would be done twice otherwise.
    """
    from filelock import FileLock, Timeout

    ended = threading.Event()
    threading.Thread(target=_end_without, args=(parent, ended), daemon=True).start()
    try:
        for gpu in gpus:
            lock = FileLock(
                Path(tempfile.gettempdir())
                / f"randsmooth-{parent}-{gpu.replace(':', '-')}.lock"
            )
            with suppress(Timeout), lock.acquire(timeout=0):
                yield gpu
                return
        yield device
    finally:
        ended.set()


def _end_without(parent: int, ended: threading.Event) -> None:
    while not ended.wait(LOOK_EVERY):
        if os.getpid() != parent and os.getppid() != parent:
            os._exit(1)


@dataclass(frozen=True)
class Ray(Workers):
    """Workers on the nodes of a Ray cluster, of which this machine is one.

    Args:
        number: how many; default: one for each GPU of the cluster where it has some, else one for eight cores.
        address: HOST:PORT, or auto: the cluster that this machine is in.

    Example:
        >>> Ray(16, address="10.0.0.1:6379")
        Ray(number=16, address='10.0.0.1:6379')
    """

    address: str = "auto"

    settles: ClassVar[float] = 20.0  # of missed heartbeats

    @contextmanager
    def at_hand(self, device: str) -> Iterator[int]:
        with needs("a Ray cluster"):
            import ray
            from ray.util.joblib import register_ray
        from joblib import parallel_config

        began = not ray.is_initialized()
        try:
            if self.address != "auto":  # Ray itself would look for a minute
                host, _, port = self.address.rpartition(":")
                socket.create_connection((host, int(port)), timeout=ANSWER).close()
            if began:
                ray.init(self.address, log_to_driver=False, logging_level="CRITICAL")
        except (RuntimeError, OSError, ValueError, OverflowError) as error:
            expected = f"must be HOST:PORT, or auto, of a cluster that this machine is in ({shortened(str(error))})"
            raise Unreachable(
                field="ray",
                value=printable(self.address),
                expected=expected,
                fix="`ray start --head` begins one, `ray start --address=HOST:PORT` joins it",
            ) from error
        try:
            has = ray.cluster_resources()
            gpus, cpus = int(has.get("GPU", 0)) * (device != "cpu"), has.get("CPU", 1.0)
            room = max(1, gpus or int(cpus))  # more would wait for ever
            number = min(self.number or gpus or max(1, int(cpus // CORES)), room)
            share = {
                "num_cpus": max(1, int(cpus // number)),
                "num_gpus": 1 if gpus else 0,
            }
            register_ray()
            with parallel_config(backend="ray", n_jobs=number, ray_remote_args=share):
                yield number
        finally:
            if began:
                ray.shutdown()


@dataclass(frozen=True)
class Dask(Workers):
    """Workers of a Dask cluster, whose scheduler answers at an address.

    Args:
        number: how many units run at a time; default: as many as the cluster has threads. Start its workers with one
            thread each (`dask worker ADDRESS --nthreads 1`), since torch has threads of its own.
        address: of the scheduler, HOST:PORT.

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

        gc.collect()  # a client that found no scheduler, or its end may wait for the beginning of this one, for ever
        try:
            client = Client(
                f"tcp://{self.address.removeprefix('tcp://')}", timeout=ANSWER
            )
        except (OSError, ValueError) as error:
            way = f"a scheduler that answers ({shortened(str(error))}): `dask scheduler` starts one"
            raise Unreachable(
                field="dask",
                value=printable(self.address),
                expected=f"must be HOST:PORT of {way}",
            ) from error
        with client, parallel_config(backend="dask"):
            yield self.number or max(1, sum(client.nthreads().values()))


def attempt(
    unit: Unit, place: Callable[[], Any], folder: str, environment: Mapping[str, str]
) -> str:
    """Run a unit on a worker; the sentence of its error, empty if it did what it should.

    Args:
        unit: what to run.
        place: what is entered around it, which gives its device.
        folder: which relative paths are about, where this machine has it.
        environment: variables for a machine that does not set them itself.
    """
    os.environ.update(
        {name: value for name, value in environment.items() if name not in os.environ}
    )
    with suppress(OSError):
        os.chdir(folder)
    try:
        with place() as device:
            unit(device)
    except Exception as error:
        return (
            printable(str(error))
            if isinstance(error, Problem)
            else f"{type(error).__name__}: {error}"
        )
    return ""


@contextmanager
def watched(
    reporter: Reporter, count: Callable[[], int], said: Callable[[], str] = str
) -> Iterator[Callable[[], int]]:
    """Tell `reporter` twice a second how much is done, as files say it, and in words how far the rest is.

    What is given does so at once, and returns how much is done.
    """
    seen, ended, one = count(), threading.Event(), threading.Lock()
    reporter.skip(seen)

    def look() -> int:
        nonlocal seen
        with one:
            before, seen = seen, max(seen, count())
            reporter.advance(seen - before, said())
        return seen

    def watch() -> None:
        while not ended.wait(LOOK_EVERY):
            look()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield look
    finally:
        ended.set()
        watching.join()
        look()


def gpus_of(device: str) -> list[str]:
    """The GPUs of this machine that `device` stands for, as torch names them; none for the CPU."""
    if device == "cpu":
        return []
    import torch

    return (
        [device]
        if ":" in device
        else [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    )
