"""Sums through memory that ranks share: with threads as ranks, and with real processes that sum what sockets sum."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from randsmooth.training.shared_sums import SharedSums, bytes_for, offered, taken

pytestmark = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system has no memory without a name")
SHAPES = [(3, 5), (), (7,), (2, 1, 4)]
MOST = 40


def shared(number: int) -> list[SharedSums]:
    """The same memory for each of so many ranks, mapped by each for itself."""
    own = offered(bytes_for(number, MOST))
    assert own is not None
    memory, offer = own
    others = [taken(offer) for _ in range(1, number)]
    os.close(offer.descriptor)
    return [SharedSums(each, rank, number, MOST) for rank, each in enumerate((memory, *others)) if each is not None]


def pieces(rank: int, step: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return [torch.randn(shape, generator=generator) for shape in SHAPES]


@pytest.mark.parametrize("number", [2, 3])
def test_all_ranks_get_the_same_sums_at_every_step(number: int) -> None:
    barrier = threading.Barrier(number, timeout=30)

    def steps(sums: SharedSums) -> list[list[Tensor]]:
        out = []
        for step in range(50):
            out.append(pieces(sums.rank, step))
            sums.sum(out[-1], barrier.wait)
        return out

    ranks = shared(number)
    with ThreadPoolExecutor(number) as pool:
        results = list(pool.map(steps, ranks))
    for step in range(50):
        each = [pieces(rank, step) for rank in range(number)]
        expected = [sum(of_rank[1:], start=of_rank[0]) for of_rank in zip(*each, strict=True)]
        for result in results:
            assert all(torch.equal(got, right) for got, right in zip(result[step], expected, strict=True))


def test_without_waiting_the_sums_are_wrong() -> None:
    first, _ = shared(2)
    mine = pieces(0, 0)
    first.sum(mine, lambda: None)
    assert torch.equal(mine[0], pieces(0, 0)[0])  # nobody else has written yet


def test_memory_of_another_run_is_not_taken() -> None:
    own = offered(bytes_for(2, MOST))
    assert own is not None
    _, offer = own
    assert taken(offer) is not None
    assert taken(offer._replace(token=bytes(16))) is None
    assert taken(offer._replace(size=2 * offer.size)) is None
    os.close(offer.descriptor)
    assert taken(offer) is None


RANK = """
import sys
import torch, torch.distributed
from randsmooth.training.ranks import Ranks
rank, number = int(sys.argv[1]), 3
torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=number)
ranks = Ranks(rank, number)
ranks.meet()
for step in range(4):
    both = []
    for can in (True, False):
        ranks._can_share = can
        values = torch.randn(20_000 + 5_000 * step, generator=torch.Generator().manual_seed(10 * step + rank))
        ranks.sum_in_place([values])
        both.append(values)
    torch.testing.assert_close(*both)
assert ranks._shared is not None and ranks._shared.most == 35_000
"""


@pytest.mark.slow
def test_processes_sum_through_memory_what_they_sum_through_sockets(tmp_path) -> None:  # type: ignore[no-untyped-def]
    command = [sys.executable, "-c", RANK]
    ranks = [subprocess.Popen([*command, str(rank), str(tmp_path / "meet")]) for rank in range(3)]
    assert [rank.wait(120) for rank in ranks] == [0, 0, 0]
