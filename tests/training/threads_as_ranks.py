"""Ranks that are threads of one process: they take the real trainer's steps together, without starting anything."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

from randsmooth.training.devices import Ranks

T = TypeVar("T")

PATIENCE = 60.0  # seconds for the others


class Table:
    """Where the ranks lay down what they sum."""

    def __init__(self, number: int) -> None:
        self.barrier = threading.Barrier(number, timeout=PATIENCE)
        self.values: list[Tensor] = [torch.zeros(())] * number


class ThreadRanks(Ranks):
    """One of several ranks in threads."""

    def __init__(self, rank: int, table: Table) -> None:
        super().__init__(rank, len(table.values))
        self.table = table

    def sum(self, values: Tensor) -> Tensor:
        self.table.values[self.rank] = values.detach().clone()
        self.table.barrier.wait()
        total = torch.stack(self.table.values).sum(dim=0)
        self.table.barrier.wait()
        return total


def together(number: int, act: Callable[[Ranks], T]) -> list[T]:
    """What `act` returns on each of `number` ranks, which run at the same time."""
    table = Table(number)
    with ThreadPoolExecutor(number) as pool:
        futures = [pool.submit(act, ThreadRanks(rank, table)) for rank in range(number)]
        return [future.result(2 * PATIENCE) for future in futures]
