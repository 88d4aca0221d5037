"""On which devices of which machines a run is trained, and who started its processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from lightning_fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning_fabric.plugins.environments.slurm import SLURMEnvironment

from randsmooth import models
from randsmooth.documents import shown
from randsmooth.errors import InputError, setting


class RankEnvironment(ClusterEnvironment):
    """Which rank this process is, told by whoever started it, and where the first rank listens.

    Example:
        >>> rank = RankEnvironment(rank=3, local_rank=1, node=1, number=4, address="node-0", port=29500)
        >>> rank.global_rank(), rank.world_size(), rank.creates_processes_externally
        (3, 4, True)
    """

    def __init__(
        self, rank: int = 0, local_rank: int = 0, node: int = 0, number: int = 1, address: str = "", port: int = 0
    ) -> None:
        super().__init__()
        self.rank, self.local, self.node, self.number = rank, local_rank, node, number
        self.address, self.port = address, port

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return self.address

    @property
    def main_port(self) -> int:
        return self.port

    @staticmethod
    def detect() -> bool:
        return started_as() is not None

    def world_size(self) -> int:
        return self.number

    def set_world_size(self, size: int) -> None:
        pass

    def global_rank(self) -> int:
        return self.rank

    def set_global_rank(self, rank: int) -> None:
        pass

    def local_rank(self) -> int:
        return self.local

    def node_rank(self) -> int:
        return self.node


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where a run is trained.

    Attributes:
        device: "auto", "cpu", "cuda" or "cuda:1".
        devices: of each machine that take part; on the CPU, processes.
        nodes: machines.
        sync_batch_norm: normalise by the whole batch's statistics, not on each device by those of its part.
        started: which of the run's ranks this process is, where torchrun or srun started it.
    """

    device: str = "auto"
    devices: int = 1
    nodes: int = 1
    sync_batch_norm: bool = False
    started: RankEnvironment | None = None

    @property
    def ranks(self) -> int:
        """How many processes train the run."""
        return self.devices * self.nodes

    @property
    def leads(self) -> bool:
        """Whether this process is the first rank, which writes and reports."""
        return self.started is None or self.started.rank == 0

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
    started = started_as()
    if devices is None:
        devices = int(os.environ.get("LOCAL_WORLD_SIZE", 1)) if by_torchrun(os.environ) else 1
        nodes = started.number // devices if started and by_torchrun(os.environ) and nodes == 1 else nodes
    for name, value in (("devices", devices), ("nodes", nodes)):
        if type(value) is not int or value < 1:
            raise InputError(f"{name}={shown(repr(value))} must be a whole number above 0: {_MEANING[name]}")
    ranks = devices * nodes
    if started is not None and started.number != ranks and (ranks > 1 or by_torchrun(os.environ)):
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
    placement = Placement(
        device=device,
        devices=devices,
        nodes=nodes,
        sync_batch_norm=sync_batch_norm,
        started=started if ranks > 1 else None,
    )
    if ranks > 1:
        _check_devices(placement)
    return placement


def leads(settings: Mapping[str, Any]) -> bool:
    """Whether this process is the first rank of a run with these `settings`, which writes and reports for all."""
    return placed(**{name: settings[name] for name in ("device", "devices", "nodes")}).leads


_MEANING = {"devices": "how many of each machine train together", "nodes": "how many machines train together"}


def devices_of(placement: Placement) -> list[torch.device]:
    """The devices of this machine that take part, one a process.

    Where srun gives each process a GPU of its own, that is the only one that the process sees.
    """
    kind = models.pick_device(placement.device)
    if placement.ranks == 1 or kind.type == "cpu":
        return [kind] * placement.devices
    if placement.started is not None and torch.cuda.device_count() == 1:
        return [torch.device("cuda", 0)] * placement.devices
    return [torch.device("cuda", i) for i in range(placement.devices)]


def _check_devices(placement: Placement) -> None:
    """Raise InputError unless this machine has the devices."""
    kind = models.pick_device(placement.device)
    if ":" in placement.device:
        raise InputError(
            f"device={placement.device!r} names one GPU, and devices={placement.devices} on nodes={placement.nodes} "
            "asks for several: take device='cuda' (--device cuda)"
        )
    seen = torch.cuda.device_count()
    if kind.type == "cuda" and seen < placement.devices and not (placement.started is not None and seen == 1):
        raise InputError(
            f"devices={placement.devices} asks for {placement.devices} GPUs, and torch sees {seen}: "
            f"{setting(devices=seen)}, or processes on the CPU: {setting(device='cpu')}"
        )


def check_batch(images_per_step: int, placement: Placement) -> None:
    """Raise InputError if a batch has fewer images than there are devices."""
    if images_per_step < placement.ranks:
        raise InputError(
            f"{placement.ranks} devices cannot share steps of {images_per_step} "
            f"image{'s' * (images_per_step > 1)}: take fewer devices or a larger batch"
        )


def started_as() -> RankEnvironment | None:
    """Which rank torchrun or srun started this process as; None if it was started by itself.

    Example:
        >>> started_as() is None
        True
    """
    here = os.environ
    if by_torchrun(here):
        ranks = (int(here[name]) for name in ("RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE"))
        rank, local, node, number = ranks
        address, port = here["MASTER_ADDR"], int(here["MASTER_PORT"])
    elif int(here.get("SLURM_STEP_NUM_TASKS", 1)) > 1 and "SLURM_PROCID" in here:  # srun alone says so, not sbatch
        ranks = (int(here[name]) for name in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_STEP_NUM_TASKS"))
        rank, local, node, number = ranks
        address = here.get("MASTER_ADDR") or _first_host(here)
        port = int(here.get("MASTER_PORT") or _port_of_step(here))
    else:
        return None
    return RankEnvironment(rank, local, node, number, address, port) if number > 1 else None


def by_torchrun(environment: Mapping[str, str]) -> bool:
    """Whether torchrun set the variables of the `environment`."""
    return "TORCHELASTIC_RUN_ID" in environment


def _first_host(environment: Mapping[str, str]) -> str:
    hosts = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_NODELIST") or "127.0.0.1"
    return SLURMEnvironment.resolve_root_node_address(hosts)


def _port_of_step(environment: Mapping[str, str]) -> int:
    """A port that all processes of a step of Slurm find, and other steps do not take."""
    job, step = (int(environment.get(name) or 0) for name in ("SLURM_JOB_ID", "SLURM_STEP_ID"))
    return 15_000 + (100 * job + step) % 45_000
