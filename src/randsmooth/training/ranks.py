"""The processes that train one run together: which images each takes, and how they come to one result."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar, cast

import torch
import torch.distributed
from lightning_fabric import Fabric
from torch import Tensor
from torch.distributed import distributed_c10d

from randsmooth.data.augment import Place
from randsmooth.errors import InputError, setting
from randsmooth.training.shared_sums import SharedSums, bytes_for, offered, taken

T = TypeVar("T")

ROLL_CALL = 2.0  # seconds in which the ranks that are left tell each other that they are
MANY = 2**14  # numbers from which on shared memory sums them in less time than a socket


class RankLost(RuntimeError):
    """Another process of the run ended before its work was done.

    Example:
        >>> raise RankLost("rank 1 of 2 on node-7 was killed by SIGKILL")
        Traceback (most recent call last):
        randsmooth.training.ranks.RankLost: rank 1 of 2 on node-7 was killed by SIGKILL
    """


class Part(NamedTuple):
    """The images of a batch that one rank takes: those from `first` up to `last`, of `total`.

    `weight` is their share of the batch; 0 for a rank that has none, because there are fewer images than ranks. It
    takes an image of another rank, so that it goes through the same steps as the others; this image counts nothing.
    """

    first: int
    last: int
    total: int
    weight: float

    @property
    def rows(self) -> slice:
        return slice(self.first, self.last)

    @property
    def place(self) -> Place:
        return Place(self.first, self.total)


def part_of(rank: int, number: int, total: int) -> Part:
    """The part of a batch of `total` images that one of `number` ranks takes.

    Example:
        >>> [part_of(rank, 3, 8)[:2] for rank in range(3)]
        [(0, 2), (2, 5), (5, 8)]
        >>> [part_of(rank, 2, 1).weight for rank in range(2)]
        [0.0, 1.0]
    """
    first, last = rank * total // number, (rank + 1) * total // number
    if first == last:
        first = min(first, total - 1)
        return Part(first, first + 1, total, 0.0)
    return Part(first, last, total, (last - first) / total)


class Ranks:
    """The processes of a run, of which this one has the number `rank`: the first, 0, alone writes and reports."""

    def __init__(self, rank: int = 0, number: int = 1, device: torch.device | str = "cpu") -> None:
        self.rank, self.number, self.device = rank, number, torch.device(device)
        self.standing_in = False  # this rank has no image in the present step
        self.hosts: list[str] = []
        self.calls_roll = True  # to find out who is lost, where no rank watches the others
        self._shared: SharedSums | None = None
        self._can_share = self.device.type == "cpu"

    @classmethod
    def of(cls, fabric: Fabric) -> Ranks:
        """Those that `fabric` knows of."""
        return cls(fabric.global_rank, fabric.world_size, fabric.device)

    @property
    def alone(self) -> bool:
        return self.number == 1

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def meet(self) -> None:
        """Tell each other on which host each is, once all have joined."""
        self.hosts = [""] * self.number
        self.together(lambda: torch.distributed.all_gather_object(self.hosts, socket.gethostname()))

    def check_alike(self, facts: Mapping[str, str]) -> None:
        """Raise InputError, on all ranks, unless they agree on `facts`, by name: a version, a hash."""
        if self.alone:
            return
        told: list[Mapping[str, str]] = [{}] * self.number
        self.together(lambda: torch.distributed.all_gather_object(told, dict(facts)))
        for rank, theirs in enumerate(told):
            for name, first in told[0].items():
                if theirs.get(name) != first:
                    raise InputError(
                        f"rank {rank} on {self.hosts[rank]} has {name} {theirs.get(name)}, and rank 0 on "
                        f"{self.hosts[0]} has {first}: ranks of one run need the same"
                    )

    def part(self, total: int) -> Part:
        """Which images of a batch of `total` this rank takes."""
        return part_of(self.rank, self.number, total)

    def sum(self, values: Tensor) -> Tensor:
        """The sum of the `values` of all ranks, on the device. They may be overwritten."""
        if self.alone:
            return values
        there = values.to(self.device)
        self.together(lambda: torch.distributed.all_reduce(there))
        return there

    @torch.no_grad()
    def sum_in_place(self, pieces: Sequence[Tensor]) -> None:
        """Make each of the `pieces`, float32 on the device, its sum over all ranks."""
        most = sum(piece.numel() for piece in pieces)
        if (shared := self._memory_for(most)) is not None:
            return shared.sum(pieces, self._wait)
        flat = self.sum(torch.cat([piece.flatten() for piece in pieces]))
        for piece, summed in zip(pieces, flat.split([piece.numel() for piece in pieces]), strict=True):
            piece.copy_(summed.view_as(piece))

    def _memory_for(self, most: int) -> SharedSums | None:
        """What sums `most` numbers on one machine; None for a few, or where the ranks have no memory in common."""
        if most < MANY or not self._can_share:
            return None
        if self._shared is None or self._shared.most < most:
            self._shared = self._share(most)
            self._can_share = self._shared is not None
        return self._shared

    def _share(self, most: int) -> SharedSums | None:
        """Memory that all ranks have; None if one of them cannot see it."""
        if len(set(self.hosts)) != 1:
            return None
        own = offered(bytes_for(self.number, most)) if self.is_first else None
        memory, told = own if own is not None else (None, None)
        offer = self.first(lambda: told)
        if not self.is_first and offer is not None:
            memory = taken(offer)
        seen = self.sum(torch.tensor([0.0 if memory is None else 1.0]))
        if self.is_first and offer is not None:
            os.close(offer.descriptor)
        return None if memory is None or float(seen) < self.number else SharedSums(memory, self.rank, self.number, most)

    def _wait(self) -> None:
        """Until all ranks are here."""
        self.together(lambda: torch.distributed.all_reduce(torch.zeros(1)))

    def first(self, act: Callable[[], T]) -> T:
        """What `act` gives to the first rank, which alone calls it, for all ranks; its error is raised by all of them.

        Before the others have joined, this is `act` itself.
        """
        if self.alone or not torch.distributed.is_initialized():
            return act()
        result: T | None = None
        error: Exception | None = None
        if self.is_first:
            try:
                result = act()
            except Exception as raised:
                error = raised
        told = [(result, error if isinstance(error, InputError | OSError | None) else RuntimeError(str(error)))]
        self.together(lambda: torch.distributed.broadcast_object_list(told, src=0))
        if error is not None:
            raise error
        result, theirs = told[0]
        if theirs is not None:
            raise theirs
        return cast(T, result)

    def together(self, act: Callable[[], object]) -> None:
        """Do what all ranks do at once. Raises RankLost if one of them is gone."""
        try:
            act()
        except (RuntimeError, ValueError) as error:
            raise RankLost(self._who_is_lost()) from error

    def _who_is_lost(self) -> str:
        """Whom the ranks that are left do not hear from: each leaves its name where all of them can look."""
        if not self.calls_roll:
            return ended("another rank", f"lost, of {self.number}")
        try:
            store = distributed_c10d._get_default_store()
            store.set(f"left/{self.rank}", "")
            time.sleep(ROLL_CALL)
            lost = [rank for rank in range(self.number) if not store.check([f"left/{rank}"])]
        except (RuntimeError, ValueError):  # the first rank keeps the names
            lost = [0]
        if self.is_first:
            time.sleep(ROLL_CALL)  # for the others to look
        names = [f"rank {rank} on {self.hosts[rank]}" if self.hosts else f"rank {rank}" for rank in lost]
        return ended(" and ".join(names) or "another rank", f"lost, of {self.number}")


ALONE = Ranks()


def ended(who: str, how: str) -> str:
    """The sentence for the end of a run whose rank `who` ended early."""
    return f"{who} was {how}, and the run ended with it; to go on after its last checkpoint: {setting(resume=True)}"
