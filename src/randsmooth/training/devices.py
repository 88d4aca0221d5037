"""On which devices a run is trained, and the processes that share its batches.

These are the ranks, one for each device. torchrun starts them on several machines; on
this one torch.multiprocessing does, from the process that was asked to train.
"""

import os
import pickle
import signal
import socket
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeVar, cast

import torch
import torch.distributed
from lightning_fabric import Fabric
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from pydantic import Field
from torch import Tensor, nn
from torch.multiprocessing.spawn import ProcessException, spawn

from randsmooth import models
from randsmooth.atomic import write_atomically
from randsmooth.children import without_current_folder
from randsmooth.documents import refused, shown
from randsmooth.errors import RESUME, BadValue, Problem, RunFailed, Setting
from randsmooth.frozen_record import FrozenRecord
from randsmooth.notes import Note
from randsmooth.training.recipe import Recipe

T = TypeVar("T")

# How long ranks wait for one that is busy with something else, such as a callback.
RANK_TIMEOUT = timedelta(hours=2)
# Seconds in which the other ranks end, when one has: loggers are told so.
GRACE_SECONDS = 10.0
# The variable that tells a rank which we started where all of them meet.
MEETING_PLACE = "RANDSMOOTH_RANKS_MEET"
# What a rank exits with that has left a file that says why it failed.
EXIT_TOLD = 1


class RankLost(RunFailed):
    """Another process of the run ended before its work was done.

    Example:
        >>> raise RankLost("rank 1 of 2 on node-7 was killed by SIGKILL")
        Traceback (most recent call last):
        randsmooth.training.devices.RankLost: rank 1 of 2 on node-7 was killed by SIGKILL
    """


class Placement(FrozenRecord):
    """Where a run is trained.

    Attributes:
        device: "auto", "cpu", "cuda" or "cuda:1".
        devices: the number of devices of each machine that take part; on the CPU, of
            processes.
        nodes: machines.
        sync_batch_norm: normalise by the whole batch's statistics, not on each GPU by those of its part.
    """

    device: str = "auto"
    devices: Annotated[int, Field(ge=1)] = 1
    nodes: Annotated[int, Field(ge=1)] = 1
    sync_batch_norm: bool = False

    @property
    def number(self) -> int:
        """Count the processes that train the run."""
        return self.devices * self.nodes

    @property
    def own_device(self) -> torch.device:
        """Return the device of this process."""
        device = models.pick_device(self.device)
        if started() and device.type == "cuda":
            return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        return device

    def notes(self) -> list[Note]:
        """Return what the user may want to know, where there are several devices."""
        if self.number == 1:
            return []
        kind = "gpus_share_batches"
        if models.pick_device(self.device).type == "cpu":
            kind = "processes_share_batches"
        return [Note(kind, number=self.number)]


def started() -> bool:
    """Return whether this is one of several ranks, which torchrun or `launch` started."""
    by_us_or_torchrun = {"TORCHELASTIC_RUN_ID", MEETING_PLACE} & {*os.environ}
    return int(os.environ.get("WORLD_SIZE", 1)) > 1 and bool(by_us_or_torchrun)


def leads() -> bool:
    """Return whether this process writes and reports: the first rank, or no rank at all."""
    return not started() or os.environ["RANK"] == "0"


def placed(
    device: str = "auto",
    devices: int | None = None,
    nodes: int = 1,
    sync_batch_norm: bool = False,
) -> Placement:
    """Return the placement that a user asks for.

    Args:
        device, nodes, sync_batch_norm: see `train`.
        devices: None: as many as torchrun started on each machine, else one.

    Raises:
        Problem: this machine has no such devices, or nobody started the processes on the other machines.

    Example:
        >>> placed("cpu", 2).number
        2
        >>> placed("cpu", 0)
        Traceback (most recent call last):
        ...
        randsmooth.errors.BadValue: devices=0 must be greater than or equal to 1
    """
    started_ranks = 1
    ranks_of_node = 1
    if started():
        started_ranks = int(os.environ["WORLD_SIZE"])
        ranks_of_node = int(os.environ["LOCAL_WORLD_SIZE"])
    if devices is None:
        devices = ranks_of_node
        if nodes == 1:
            nodes = started_ranks // ranks_of_node
    asked = Placement(
        device=device, devices=devices, nodes=nodes, sync_batch_norm=sync_batch_norm
    )
    if (started() or nodes > 1) and started_ranks != devices * nodes:
        raise BadValue(
            f"devices={devices} on nodes={nodes} are {devices * nodes} processes, "
            f"but {started_ranks} were started",
            fix=f"let torchrun start it on each node, with nnodes={nodes} and "
            f"nproc_per_node={devices}",
            field="devices",
            value=devices,
        )
    kind = models.pick_device(device).type
    gpus = torch.cuda.device_count()
    if devices > 1 and kind == "cuda" and (gpus < devices or ":" in device):
        raise BadValue(
            f"devices={devices} asks for {devices} GPUs by device={device!r}, and torch "
            f"sees {gpus}",
            field="devices",
            value=devices,
            fix=(
                "take ",
                Setting("device", "cuda"),
                " and at most ",
                Setting("devices", gpus),
                ", or processes on the CPU: ",
                Setting("device", "cpu"),
            ),
        )
    if devices > 1 and kind == "cpu" and sync_batch_norm:
        raise BadValue(
            field="sync_batch_norm",
            value=True,
            expected="needs GPUs, like torch's SyncBatchNorm",
            fix="leave it out on the CPU",
        )
    return asked


def make_fabric(recipe: Recipe, placement: Placement | None = None) -> Fabric:
    """Return the device and precision that this process trains with.

    Raises:
        Problem: this machine has no such device.
    """
    device = (placement or Placement(device=recipe.device)).own_device
    return Fabric(
        accelerator=device.type,
        devices=1 if device.index is None else [device.index],
        precision=recipe.precision,
        # It keeps Fabric from looking for a launcher, and from asking for srun wherever
        # Slurm is installed.
        plugins=[LightningEnvironment()],
    )


class Ranks:
    """The processes of a run; the first, 0, alone writes and reports.

    Attributes:
        rank: the number of this process.
        number: how many there are.
        device: the device of this process.
        is_first: whether this is the first.
        alone: whether there is no other.
    """

    def __init__(
        self, rank: int = 0, number: int = 1, device: torch.device | str = "cpu"
    ) -> None:
        self.rank = rank
        self.number = number
        self.device = torch.device(device)
        self.is_first = rank == 0
        self.alone = number == 1

    def rows(self, total: int) -> slice:
        """Return which images of a batch of `total` this rank takes.

        Example:
            >>> [Ranks(rank, 3).rows(8) for rank in range(3)]
            [slice(0, 2, None), slice(2, 5, None), slice(5, 8, None)]
        """
        first = self.rank * total // self.number
        beyond = (self.rank + 1) * total // self.number
        return slice(first, beyond)

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of the `values` of all ranks, on the device.

        The values may be overwritten.
        """
        if self.alone:
            return values
        total = values.to(self.device)
        _together(lambda: torch.distributed.all_reduce(total))
        return total

    @torch.no_grad()
    def join_step(
        self, model: nn.Module, logged: dict[str, Tensor], share: float
    ) -> dict[str, Tensor]:
        """Make the gradients those of the whole batch, by one sum over all ranks.

        DistributedDataParallel would sum them during the backward pass, but it refuses the
        gradients by the input that attacks take.

        Args:
            model: with gradients of the loss times `share`. Running statistics of batch
                normalisation become their weighted mean, so that all ranks have the same.
            logged: means over this rank's part of the batch.
            share: the share of the batch's images that this rank has.

        Returns:
            The means over the whole batch of what is `logged`.
        """
        if self.alone:
            return logged
        gradients = [
            parameter.grad
            for parameter in model.parameters()
            if parameter.grad is not None
        ]
        means = torch.stack([*logged.values()])
        weighted = [means, *_running_statistics(model)]
        for tensor in weighted:
            tensor.mul_(share)

        # One tensor of all, so that ranks wait for each other once a step.
        pieces = [*gradients, *weighted]
        flat = torch.cat([piece.flatten() for piece in pieces])
        sums = self.sum(flat).split([piece.numel() for piece in pieces])
        for piece, total in zip(pieces, sums, strict=True):
            piece.copy_(total.view_as(piece))
        return dict(zip(logged, means, strict=True))

    def first(self, act: Callable[[], T]) -> T:
        """Let the first rank alone call `act`, and return to all ranks what it gives.

        All ranks raise its error. Before the others have joined, this is `act` itself.
        """
        if self.alone:
            return act()
        outcome: list[Any] = [None]
        if self.is_first:
            try:
                outcome = [act()]
            except (Problem, OSError) as error:
                outcome = [error]
            except Exception as error:
                # Another rank may not be able to make an error of this class.
                outcome = [RuntimeError(str(error))]
        _together(lambda: torch.distributed.broadcast_object_list(outcome, src=0))
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return cast(T, outcome[0])

    def check_alike(self, facts: Mapping[str, str]) -> None:
        """Raise Problem on a rank whose `facts` are not those of the first.

        Args:
            facts: name -> a version or a hash.
        """
        expected = self.first(lambda: facts)
        differ = [
            f"{name} {fact}, and not {expected[name]}"
            for name, fact in facts.items()
            if fact != expected[name]
        ]
        if differ:
            here = f"rank {self.rank} on {socket.gethostname()}"
            raise Problem(
                f"{here} has {'; '.join(differ)}, unlike the first rank: all need "
                "the same"
            )


ALONE = Ranks()


BatchNorm = nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d | nn.SyncBatchNorm


def batch_norms(model: nn.Module) -> list[BatchNorm]:
    """Return the modules of `model` that normalise by a batch's statistics."""
    return [module for module in model.modules() if isinstance(module, BatchNorm)]


def _running_statistics(model: nn.Module) -> list[Tensor]:
    """Return the running means and variances of the batch norms that keep some."""
    statistics = []
    for module in batch_norms(model):
        for tensor in (module.running_mean, module.running_var):
            if tensor is not None:
                statistics.append(tensor)
    return statistics


def _together(act: Callable[[], object]) -> None:
    """Do what all ranks do at once.

    Raises:
        RankLost: one of them is gone.
    """
    try:
        act()
    except (RuntimeError, ValueError) as error:
        raise lost("another rank", "lost") from error


def lost(who: str, how: str) -> RankLost:
    """Return the error for the end of a run whose rank `who` ended early."""
    return RankLost(
        f"{who} was {how}, and the run ended with it",
        fix=("to go on after its last checkpoint: ", RESUME),
    )


@contextmanager
def joined(placement: Placement) -> Iterator[Ranks]:
    """Give the ranks of the run, for as long as the context lasts.

    Raises:
        RankLost: the others did not come, or this process belongs to a process group already.
    """
    if not started():
        yield ALONE
        return
    device = placement.own_device
    rank = int(os.environ["RANK"])
    if device.type == "cuda":
        torch.cuda.set_device(device)
    try:
        torch.distributed.init_process_group(
            backend="nccl" if device.type == "cuda" else "gloo",
            init_method=os.environ.get(MEETING_PLACE, "env://"),
            rank=rank,
            world_size=placement.number,
            timeout=RANK_TIMEOUT,
        )
    except (RuntimeError, ValueError) as error:
        raise RankLost(
            f"the {placement.number} ranks of the run did not find each other: {error}"
        ) from error
    try:
        yield Ranks(rank, placement.number, device)
    finally:
        torch.distributed.destroy_process_group()


def launch(number: int, work: Callable[[], object], callback: object) -> None:
    """Let `number` processes do `work`; when one fails, all end.

    They run no script again: a notebook, or a script without `if __name__ == "__main__"`,
    can start them.

    Raises:
        Problem: `work`, which calls the user's `callback`, cannot be given to another
            process.
        RankLost: one of them ended early; the sentence says which and how. Any error that
            one of them met is raised here.
    """
    # Unlike pickle it takes closures, and what a notebook defines.
    import cloudpickle

    with refused(
        f"the run, with callback={shown(repr(callback))}, cannot be given to {number} "
        "processes: let it hold no files, locks or generators, or train on one device"
    ):
        pickled_work = cloudpickle.dumps((warnings.formatwarning, work))
    with tempfile.TemporaryDirectory(prefix="randsmooth-ranks-") as place:
        main = sys.modules["__main__"]
        # A module without a file, which a started process would run again.
        sys.modules["__main__"] = ModuleType("__main__")
        arguments = (number, place, pickled_work)
        try:
            with without_current_folder():
                context = spawn(be_a_rank, arguments, number, join=False)
        finally:
            sys.modules["__main__"] = main
        try:
            while not context.join(grace_period=GRACE_SECONDS):
                pass
        except ProcessException as error:
            codes = [process.exitcode or 0 for process in context.processes]
            raise _failure(Path(place), error.error_index, codes) from None
        finally:
            for process in context.processes:
                process.kill()
                process.join()


def be_a_rank(rank: int, number: int, place: str, pickled_work: bytes) -> None:
    """Do the work that `launch` gives to one of `number` ranks.

    If it fails, it leaves its error in the folder `place`.
    """
    # An interrupt ends it at once, wherever it waits; on Linux the launcher's end sends
    # one too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ["RANK"] = str(rank)
    os.environ["LOCAL_RANK"] = str(rank)
    os.environ["WORLD_SIZE"] = str(number)
    os.environ["LOCAL_WORLD_SIZE"] = str(number)
    os.environ[MEETING_PLACE] = Path(place, "meet").as_uri()
    # It was pickled by our own process.
    warnings.formatwarning, work = pickle.loads(pickled_work)
    torch.set_num_threads(max(1, torch.get_num_threads() // number))
    if rank > 0:
        # The first rank gives the warnings of all.
        warnings.simplefilter("ignore")
    try:
        work()
    except BaseException as error:
        error.add_note(traceback.format_exc())
        write_atomically(Path(place) / f"error-{rank}", pickle.dumps(error))
        sys.exit(EXIT_TOLD)


def _failure(place: Path, failed: int, codes: list[int]) -> BaseException:
    """Return why ranks with these exit codes ended.

    It is the error that one of them left, or else how one was ended, `failed` first.
    """
    for path in sorted(place.glob("error-*")):
        error: BaseException = pickle.loads(path.read_bytes())
        if not isinstance(error, RankLost):
            return error
    ended_ranks = [
        rank
        for rank in (failed, *range(len(codes)))
        if codes[rank] not in (0, EXIT_TOLD)
    ]
    rank = ended_ranks[0] if ended_ranks else failed
    how = f"ended with status {codes[rank]}"
    if codes[rank] < 0:
        how = f"killed by {signal.Signals(-codes[rank]).name}"
    here = f"rank {rank} of {len(codes)} on {socket.gethostname()}"
    return lost(here, how)
