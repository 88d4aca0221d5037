"""On which devices a run is trained, and the processes that train it together: one for each device.

torchrun or srun start them, or torch's own launcher from the process that was asked to train.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from lightning_fabric.plugins.environments.slurm import SLURMEnvironment

from randsmooth import models
from randsmooth.documents import shown
from randsmooth.errors import InputError, Note, setting
from randsmooth.escape import say
from randsmooth.training.ranks import RankLost, Ranks, ended
from randsmooth.training.recipe import Recipe

WAITING = timedelta(hours=2)  # for a rank that is busy with something else, such as a callback
MEANING = {"devices": "how many of each machine train together", "nodes": "how many machines train together"}


class Started(NamedTuple):
    """Which of `number` ranks a launcher started this process as, and where all of them meet."""

    rank: int
    local: int  # among those of this machine
    number: int
    meet: str  # `init_method` of torch.distributed


def started_as() -> Started | None:
    """Which rank torchrun or srun started this process as; None if it was started by itself.

    Example:
        >>> started_as() is None
        True
    """
    here = os.environ
    if "TORCHELASTIC_RUN_ID" in here:
        rank, local, number = (int(here[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
        meet = "env://"
    elif int(here.get("SLURM_STEP_NUM_TASKS", 1)) > 1 and "SLURM_PROCID" in here:  # srun alone says so, not sbatch
        rank, local, number = (int(here[name]) for name in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"))
        hosts = here.get("SLURM_STEP_NODELIST") or here.get("SLURM_NODELIST") or "127.0.0.1"
        job, step = (int(here.get(name) or 0) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
        port = here.get("MASTER_PORT") or 15_000 + (100 * job + step) % 45_000  # which other steps do not take
        meet = f"tcp://{here.get('MASTER_ADDR') or SLURMEnvironment.resolve_root_node_address(hosts)}:{port}"
    else:
        return None
    return Started(rank, local, number, meet) if number > 1 else None


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where a run is trained.

    Attributes:
        device: "auto", "cpu", "cuda" or "cuda:1".
        devices: of each machine that take part; on the CPU, processes.
        nodes: machines.
        sync_batch_norm: normalise by the whole batch's statistics, not on each device by those of its part.
    """

    device: str = "auto"
    devices: int = 1
    nodes: int = 1
    sync_batch_norm: bool = False

    @property
    def ranks(self) -> int:
        """How many processes train the run."""
        return self.devices * self.nodes

    @property
    def started(self) -> Started | None:
        """Which of the run's ranks this process is; None where it is none of several."""
        return started_as() if self.ranks > 1 else None

    @property
    def leads(self) -> bool:
        """Whether this process writes and reports: the first rank, or the one that starts the ranks."""
        return self.started is None or self.started.rank == 0

    @property
    def own_device(self) -> torch.device:
        """The device of this process. Where srun gives each process a GPU of its own, it sees no other."""
        kind = models.pick_device(self.device)
        if self.started is None or kind.type == "cpu":
            return kind
        return torch.device("cuda", self.started.local if torch.cuda.device_count() > 1 else 0)

    def folder(self, opened: AbstractContextManager[Path]) -> AbstractContextManager[Path]:
        """`opened`, the folder of the run, for the first rank; the others open and write none."""
        return opened if self.leads else nullcontext(Path(os.devnull))

    def notes(self) -> list[str]:
        """What the user may want to know about it, where there are several devices."""
        if self.ranks == 1:
            return []
        kind = "processes on the CPU" if models.pick_device(self.device).type == "cpu" else "GPUs"
        machines = f" of each of {self.nodes} machines" if self.nodes > 1 else ""
        return [f"{self.devices} {kind}{machines} share every batch"]

    def in_file(self) -> dict[str, object]:
        """What a file of settings must say beside the device, so that it repeats the run."""
        usual = Placement()
        names = ("devices", "nodes", "sync_batch_norm")
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}


def placed(
    device: str = "auto", devices: int | None = None, nodes: int = 1, sync_batch_norm: bool = False
) -> Placement:
    """The placement that a user asks for; `devices` None: as many as torchrun started on each machine, else one.

    Raises:
        InputError: this machine has no such devices, or nobody started the processes on the other machines.

    Example:
        >>> placed("cpu", 2).ranks
        2
        >>> placed("cpu", 0)
        Traceback (most recent call last):
        ...
        randsmooth.errors.InputError: devices=0 must be a whole number above 0: how many of each machine train together
    """
    started, by_torchrun = started_as(), "TORCHELASTIC_RUN_ID" in os.environ
    if devices is None:
        devices = int(os.environ.get("LOCAL_WORLD_SIZE", 1)) if by_torchrun else 1
        nodes = started.number // devices if started and by_torchrun and nodes == 1 else nodes
    for name, value in (("devices", devices), ("nodes", nodes)):
        if type(value) is not int or value < 1:
            raise InputError(f"{name}={shown(repr(value))} must be a whole number above 0: {MEANING[name]}")
    ranks = devices * nodes
    if started is not None and started.number != ranks and (ranks > 1 or by_torchrun):
        raise InputError(
            f"devices={devices} on nodes={nodes} are {ranks} processes, and {started.number} were started: let "
            "torchrun or srun start as many as there are devices"
        )
    if nodes > 1 and started is None:
        raise InputError(
            f"nodes={nodes} needs a launcher that runs this command on each of them: `torchrun --nnodes {nodes} "
            f"--nproc-per-node {devices} -m randsmooth ...`, or `srun --nodes {nodes} --ntasks-per-node {devices} "
            "randsmooth ...`"
        )
    if ranks > 1:
        _check_devices(device, devices, nodes)
    return Placement(device=device, devices=devices, nodes=nodes, sync_batch_norm=sync_batch_norm)


def _check_devices(device: str, devices: int, nodes: int) -> None:
    """Raise InputError unless this machine has the devices."""
    kind, seen = models.pick_device(device), torch.cuda.device_count()
    if ":" in device:
        raise InputError(
            f"device={device!r} names one GPU, and devices={devices} on nodes={nodes} asks for several: take "
            "device='cuda' (--device cuda)"
        )
    if kind.type == "cuda" and seen < devices and not (started_as() is not None and seen == 1):
        raise InputError(
            f"devices={devices} asks for {devices} GPUs, and torch sees {seen}: {setting(devices=seen)}, or processes "
            f"on the CPU: {setting(device='cpu')}"
        )


def leads(settings: Mapping[str, Any]) -> bool:
    """Whether this process is the first rank of a run with these `settings`, which writes and reports for all."""
    return placed(**{name: settings[name] for name in ("device", "devices", "nodes")}).leads


def make_fabric(recipe: Recipe, placement: Placement | None = None) -> Fabric:
    """The device and precision that this process trains with; several ranks are brought together by `joined`.

    Raises InputError if this machine has no such device.
    """
    precision = {"32": "32-true", "bf16-mixed": "bf16-mixed"}[recipe.precision]
    device = (placement or Placement(device=recipe.device)).own_device
    # The plugin keeps Fabric from looking for a launcher, and from asking for srun wherever Slurm is installed.
    return Fabric(
        accelerator=device.type,
        devices=1 if device.index is None else [device.index],
        precision=precision,  # type: ignore[arg-type]
        plugins=[LightningEnvironment()],
    )


@contextmanager
def joined(placement: Placement) -> Iterator[Ranks]:
    """The ranks of the run, for as long as the context lasts.

    Raises:
        InputError: this process belongs to a process group already.
        RankLost: the others did not come.
    """
    started, device = placement.started, placement.own_device
    if started is None:
        yield Ranks()
        return
    if torch.distributed.is_initialized():
        raise InputError("this process has a process group of torch.distributed already: destroy it before training")
    group: dict[str, Any] = {"init_method": started.meet, "rank": started.rank, "world_size": started.number}
    if device.type == "cuda":
        torch.cuda.set_device(device)
    try:
        torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=WAITING, **group)
    except (RuntimeError, ValueError) as error:
        raise RankLost(f"the {started.number} ranks of the run did not find each other: {error}") from error
    try:
        yield Ranks(started.rank, started.number, device)
    finally:
        torch.distributed.destroy_process_group()


def launch(number: int, work: Callable[[], object]) -> None:
    """Let `number` processes do `work`; torch's own launcher starts and watches them, and ends all when one fails.

    They run no script again: a notebook or a script without `if __name__ == "__main__"` can start them.

    Raises:
        InputError: `work` cannot be given to another process.
        RankLost: one of them ended early; the sentence says which and how. Any error that one of them met is raised
            here.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    with tempfile.TemporaryDirectory(prefix="randsmooth-ranks-") as place, _launcher_quiet():
        _write_work(Path(place), number, work)
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=number,
            run_id=Path(place).name,
            rdzv_backend="c10d",
            rdzv_endpoint="127.0.0.1:0",
            local_addr="127.0.0.1",
            max_restarts=0,
            logs_specs=DefaultLogsSpecs(log_dir=place),
        )
        code = f"import sys; sys.path[:] = {sys.path!r}; from randsmooth.training import devices; devices.be_a_rank("
        try:
            elastic_launch(config, sys.executable)("-c", f"{code}{place!r}, {os.getpid()})")
        except ChildFailedError as failed:
            raise _reason(Path(place), number, failed.failures) from None
        except SignalException as stopped:
            raise (KeyboardInterrupt if stopped.sigval == signal.SIGINT else SystemExit(128 + stopped.sigval)) from None


def _write_work(place: Path, number: int, work: Callable[[], object]) -> None:
    try:
        (place / "work").write_bytes(pickle.dumps(work))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(f"the run cannot be given to {number} processes ({error}): {_ANOTHER_WAY}") from error


_ANOTHER_WAY = (
    "let a module define what it is told, such as the callback, start the script by torchrun, or train on one device"
)


@contextmanager
def _launcher_quiet() -> Iterator[None]:
    """Keep torch's launcher from printing what is told in a sentence, and give back what it sets."""
    names = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")  # which of them a system has differs
    before = {each: signal.getsignal(each) for name in names if (each := getattr(signal, name, None)) is not None}
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # each logger of torch's has a level of its own
    try:
        yield
    finally:
        logging.disable(disabled)
        os.environ.pop("TORCHELASTIC_SIGNALS_TO_HANDLE", None)
        if threading.current_thread() is threading.main_thread():
            for each, handler in before.items():
                signal.signal(each, handler)


def _reason(place: Path, number: int, failures: Mapping[int, Any]) -> BaseException:
    """Why the ranks ended early: the error that one of them told, or else how the first of them was ended."""
    told = {rank: pickle.loads(path.read_bytes()) for rank in failures if (path := place / f"error-{rank}").exists()}
    for error in told.values():
        if not isinstance(error, RankLost):
            return error  # type: ignore[no-any-return]
    # The launcher itself ends the others by SIGTERM.
    silent = [rank for rank in failures if rank not in told]
    rank = min(silent, key=lambda rank: failures[rank].exitcode == -signal.SIGTERM, default=0)
    code = failures[rank].exitcode
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
    return RankLost(ended(f"rank {rank} of {number} on {socket.gethostname()}", how))


def be_a_rank(place: str, launcher: int) -> None:
    """Do the work that `launch` left in the folder `place`, and leave there how it failed, if it did."""
    local = os.environ["LOCAL_RANK"]
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)  # at once, wherever this process waits; the launcher tells the user
    threading.Thread(target=_end_with, args=(launcher, local), daemon=True).start()
    if local != "0":
        warnings.simplefilter("ignore")  # the first rank gives them
    usual = warnings.formatwarning
    warnings.formatwarning = lambda message, category, *where, **line: (
        f"note: {message}\n" if issubclass(category, Note) else usual(message, category, *where, **line)
    )
    try:
        _work(Path(place))()
    except BaseException as error:
        error.add_note(traceback.format_exc())
        try:
            told = pickle.dumps(error)
        except Exception:  # an error of another package that cannot be carried
            told = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        path = Path(place) / f"error-{local}"
        path.with_suffix(".part").write_bytes(told)
        path.with_suffix(".part").replace(path)  # whole, should the launcher end this process meanwhile
        sys.stderr.flush()
        os._exit(1)


def _work(place: Path) -> Callable[[], object]:
    try:
        work: Callable[[], object] = pickle.loads((place / "work").read_bytes())  # of our own process
    except (AttributeError, ImportError) as error:
        raise InputError(f"the run cannot be given to another process ({error}): {_ANOTHER_WAY}") from error
    return work


def _end_with(launcher: int, local: str) -> None:
    """End this process when the one that started it is gone: nothing would be left to train for."""
    while os.getppid() == launcher:
        time.sleep(0.5)
    if local == "0":
        how = "the process that started the run is gone, and its ranks end with it"
        say(f"randsmooth: {how}; to go on after the last checkpoint: {setting(resume=True)}", file=sys.stderr)
    os._exit(1)
