"""On which devices a run is trained, and the processes that share its batches: one for each device, the ranks.

torchrun starts them on several machines; on this one torch.multiprocessing does, from the process that was asked to
train.
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
from torch.nn.modules.batchnorm import _BatchNorm

from randsmooth import models
from randsmooth.atomic import write_atomically
from randsmooth.children import without_current_folder
from randsmooth.documents import refused, shown
from randsmooth.errors import BadValue, Problem
from randsmooth.frozen_record import FrozenRecord
from randsmooth.training.recipe import Recipe

T = TypeVar("T")

WAITING = timedelta(
    hours=2
)  # for a rank that is busy with something else, such as a callback
PATIENCE = 10.0  # seconds in which the others end, when one has: loggers are told so
MEET = "RANDSMOOTH_RANKS_MEET"  # the variable that tells a rank which we started where all of them meet


class RankLost(RuntimeError):
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
        devices: of each machine that take part; on the CPU, processes.
        nodes: machines.
        sync_batch_norm: normalise by the whole batch's statistics, not on each GPU by those of its part.
    """

    device: str = "auto"
    devices: Annotated[int, Field(ge=1)] = 1
    nodes: Annotated[int, Field(ge=1)] = 1
    sync_batch_norm: bool = False

    @property
    def number(self) -> int:
        """How many processes train the run."""
        return self.devices * self.nodes

    @property
    def own_device(self) -> torch.device:
        """The device of this process."""
        kind = models.pick_device(self.device)
        return (
            torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            if started() and kind.type == "cuda"
            else kind
        )

    def notes(self) -> list[str]:
        """What the user may want to know about it, where there are several devices."""
        kind = (
            "processes on the CPU"
            if models.pick_device(self.device).type == "cpu"
            else "GPUs"
        )
        return [f"{self.number} {kind} share every batch"] if self.number > 1 else []


def started() -> bool:
    """Whether this process is one of several ranks, which torchrun or `launch` started."""
    return int(os.environ.get("WORLD_SIZE", 1)) > 1 and (
        "TORCHELASTIC_RUN_ID" in os.environ or MEET in os.environ
    )


def leads() -> bool:
    """Whether this process writes and reports: the first rank, or one that is no rank."""
    return not started() or os.environ["RANK"] == "0"


def placed(
    device: str = "auto",
    devices: int | None = None,
    nodes: int = 1,
    sync_batch_norm: bool = False,
) -> Placement:
    """The placement that a user asks for; `devices` None: as many as torchrun started on each machine, else one.

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
    started_here, of_node = (
        int(os.environ[name]) if started() else 1
        for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE")
    )
    if devices is None:
        devices, nodes = of_node, started_here // of_node if nodes == 1 else nodes
    asked = Placement(
        device=device, devices=devices, nodes=nodes, sync_batch_norm=sync_batch_norm
    )
    if (started() or nodes > 1) and started_here != devices * nodes:
        raise BadValue(
            f"devices={devices} on nodes={nodes} are {devices * nodes} processes, of which {started_here} were "
            f"started: `torchrun --nnodes {nodes} --nproc-per-node {devices} -m randsmooth ...` on each node does"
        )
    kind, seen = models.pick_device(device).type, torch.cuda.device_count()
    if devices > 1 and kind == "cuda" and (seen < devices or ":" in device):
        raise BadValue(
            f"devices={devices} asks for {devices} GPUs by device={device!r}, and torch sees {seen}: take "
            f"device='cuda' and at most devices={seen}, or processes on the CPU: device='cpu'"
        )
    if devices > 1 and kind == "cpu" and sync_batch_norm:
        raise BadValue(
            "sync_batch_norm=True needs GPUs, as torch's SyncBatchNorm does: leave it out on the CPU"
        )
    return asked


def make_fabric(recipe: Recipe, placement: Placement | None = None) -> Fabric:
    """The device and precision that this process trains with. Raises Problem if this machine has no such device."""
    device = (placement or Placement(device=recipe.device)).own_device
    devices = 1 if device.index is None else [device.index]
    # The plugin keeps Fabric from looking for a launcher, and from asking for srun wherever Slurm is installed.
    how: Any = {"precision": recipe.precision, "plugins": [LightningEnvironment()]}
    return Fabric(accelerator=device.type, devices=devices, **how)


class Ranks:
    """The processes of a run, of which this one has the number `rank`: the first, 0, alone writes and reports."""

    def __init__(
        self, rank: int = 0, number: int = 1, device: torch.device | str = "cpu"
    ) -> None:
        self.rank, self.number, self.device = rank, number, torch.device(device)
        self.is_first, self.alone = rank == 0, number == 1

    def rows(self, total: int) -> slice:
        """Which images of a batch of `total` this rank takes.

        Example:
            >>> [Ranks(rank, 3).rows(8) for rank in range(3)]
            [slice(0, 2, None), slice(2, 5, None), slice(5, 8, None)]
        """
        return slice(
            self.rank * total // self.number, (self.rank + 1) * total // self.number
        )

    def sum(self, values: Tensor) -> Tensor:
        """The sum of the `values` of all ranks, on the device. They may be overwritten."""
        if self.alone:
            return values
        there = values.to(self.device)
        _together(lambda: torch.distributed.all_reduce(there))
        return there

    @torch.no_grad()
    def join_step(
        self, model: nn.Module, logged: dict[str, Tensor], share: float
    ) -> dict[str, Tensor]:
        """The means over the whole batch of what is `logged`; the gradients become those of the whole batch, too.

        DistributedDataParallel would sum them during the backward pass, but it refuses the gradients by the input that
        attacks take.

        Args:
            model: with gradients of the loss times `share`. Running statistics of batch normalisation become their
                weighted mean, so that all ranks have the same.
            logged: means over this rank's part of the batch.
            share: of the batch's images, this rank's.
        """
        if self.alone:
            return logged
        gradients = [
            parameter.grad
            for parameter in model.parameters()
            if parameter.grad is not None
        ]
        statistics = [
            each
            for module in batch_norms(model)
            for each in (module.running_mean, module.running_var)
        ]
        weighted = [
            torch.stack([*logged.values()]),
            *(each for each in statistics if each is not None),
        ]
        pieces = [*gradients, *(each.mul_(share) for each in weighted)]
        summed = self.sum(torch.cat([piece.flatten() for piece in pieces])).split(
            [piece.numel() for piece in pieces]
        )
        for piece, total in zip(pieces, summed, strict=True):
            piece.copy_(total.view_as(piece))
        return dict(zip(logged, weighted[0], strict=True))

    def first(self, act: Callable[[], T]) -> T:
        """What `act` gives to the first rank, which alone calls it, for all ranks; its error is raised by all of them.

        Before the others have joined, this is `act` itself.
        """
        if self.alone:
            return act()
        told: list[Any] = [None]
        if self.is_first:
            try:
                told = [act()]
            except Exception as error:
                told = [
                    error
                    if isinstance(error, Problem | OSError)
                    else RuntimeError(str(error))
                ]
        _together(lambda: torch.distributed.broadcast_object_list(told, src=0))
        if isinstance(told[0], Exception):
            raise told[0]
        return cast(T, told[0])

    def check_alike(self, facts: Mapping[str, str]) -> None:
        """Raise Problem on a rank whose `facts` by name, a version or a hash, are not those of the first."""
        expected = self.first(lambda: facts)
        differ = [
            f"{name} {fact}, and not {expected[name]}"
            for name, fact in facts.items()
            if fact != expected[name]
        ]
        if differ:
            here = f"rank {self.rank} on {socket.gethostname()}"
            raise Problem(
                f"{here} has {'; '.join(differ)}, as the first rank has: all need the same"
            )


ALONE = Ranks()


def batch_norms(model: nn.Module) -> list[_BatchNorm]:
    """The modules of `model` that normalise by a batch's statistics."""
    return [module for module in model.modules() if isinstance(module, _BatchNorm)]


def _together(act: Callable[[], object]) -> None:
    """Do what all ranks do at once. Raises RankLost if one of them is gone."""
    try:
        act()
    except (RuntimeError, ValueError) as error:
        raise RankLost(ended("another rank", "lost")) from error


def ended(who: str, how: str) -> str:
    """The sentence for the end of a run whose rank `who` ended early."""
    return f"{who} was {how}, and the run ended with it; to go on after its last checkpoint: resume=True"


@contextmanager
def joined(placement: Placement) -> Iterator[Ranks]:
    """The ranks of the run, for as long as the context lasts.

    Raises:
        RankLost: the others did not come, or this process belongs to a process group already.
    """
    if not started():
        yield ALONE
        return
    device, rank = placement.own_device, int(os.environ["RANK"])
    where: dict[str, Any] = {
        "init_method": os.environ.get(MEET, "env://"),
        "rank": rank,
        "timeout": WAITING,
    }
    where |= {
        "backend": "nccl" if device.type == "cuda" else "gloo",
        "world_size": placement.number,
    }
    if device.type == "cuda":
        torch.cuda.set_device(device)
    try:
        torch.distributed.init_process_group(**where)
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

    They run no script again: a notebook, or a script without `if __name__ == "__main__"`, can start them.

    Raises:
        Problem: `work`, which calls the user's `callback`, cannot be given to another process.
        RankLost: one of them ended early; the sentence says which and how. Any error that one of them met is raised
            here.
    """
    import cloudpickle  # takes closures, and what a notebook defines, too

    given = f"the run, with callback={shown(repr(callback))}, cannot be given to {number} processes"
    with refused(
        f"{given}: let it hold no files, locks or generators, or train on one device"
    ):
        told = cloudpickle.dumps((warnings.formatwarning, work))
    with tempfile.TemporaryDirectory(prefix="randsmooth-ranks-") as place:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType(
            "__main__"
        )  # without a file, which a started process would run again
        try:
            with without_current_folder():
                context = spawn(be_a_rank, (number, place, told), number, join=False)
        finally:
            sys.modules["__main__"] = main
        try:
            while not context.join(grace_period=PATIENCE):
                pass
        except ProcessException as error:
            codes = [process.exitcode or 0 for process in context.processes]
            raise _failure(Path(place), error.error_index, codes) from None
        finally:
            for process in context.processes:
                process.kill()
                process.join()


def be_a_rank(local: int, number: int, place: str, told: bytes) -> None:
    """Do the work that `launch` gives to the rank `local`, and leave in the folder `place` how it failed, if it did."""
    signal.signal(
        signal.SIGINT, signal.SIG_DFL
    )  # at once, wherever it waits; on Linux the launcher's end sends it too
    numbers = {
        "RANK": local,
        "LOCAL_RANK": local,
        "WORLD_SIZE": number,
        "LOCAL_WORLD_SIZE": number,
    }
    os.environ.update(
        {name: str(value) for name, value in numbers.items()},
        **{MEET: Path(place, "meet").as_uri()},
    )
    warnings.formatwarning, work = pickle.loads(told)  # by our own process
    torch.set_num_threads(max(1, torch.get_num_threads() // number))
    if local:
        warnings.simplefilter("ignore")  # the first rank gives them
    try:
        work()
    except BaseException as error:
        error.add_note(traceback.format_exc())
        write_atomically(Path(place) / f"error-{local}", pickle.dumps(error))
        sys.exit(1)


def _failure(place: Path, failed: int, codes: list[int]) -> BaseException:
    """Why ranks with these exit codes ended: the error that one of them told, or how one, `failed` first, was ended."""
    for path in sorted(place.glob("error-*")):
        if not isinstance(error := pickle.loads(path.read_bytes()), RankLost):
            return error  # type: ignore[no-any-return]
    rank = next(
        (rank for rank in (failed, *range(len(codes))) if codes[rank] not in (0, 1)),
        failed,
    )  # 1: it told why
    how = (
        f"killed by {signal.Signals(-codes[rank]).name}"
        if codes[rank] < 0
        else f"ended with status {codes[rank]}"
    )
    return RankLost(
        ended(f"rank {rank} of {len(codes)} on {socket.gethostname()}", how)
    )
