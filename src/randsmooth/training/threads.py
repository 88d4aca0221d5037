"""How many threads to train with on a CPU: as many as are fastest while others compute on the same cores.

The threads of an operator wait for each other. Where a neighbour holds one of the cores, all of them wait for it, and
one thread alone is faster.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

ROUNDS = 3
SAMPLES = 64  # of a trial: enough to be shared by threads, and a second at most for the networks of the papers
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def chosen_by_user() -> bool:
    """Whether the number of threads was set from outside, by a variable of the environment or in torch."""
    cores = os.cpu_count() or 1
    usual = {cores, cores // 2}  # by the core, or by the physical core where it has two threads
    if hasattr(os, "sched_getaffinity"):
        usual.add(len(os.sched_getaffinity(0)))
    return any(os.environ.get(name) for name in VARIABLES) or torch.get_num_threads() not in usual


def fastest(network: nn.Module, shape: tuple[int, ...]) -> int:
    """The number of threads with which `network` takes gradients of images (C, H, W) in the least time now.

    All of torch's threads, a half of them, and so on down to one are tried in turn on a small batch.
    """
    most = torch.get_num_threads()
    candidates = sorted({max(1, most >> halvings) for halvings in range(most.bit_length())}, reverse=True)
    if len(candidates) == 1:
        return most
    x = torch.rand(SAMPLES, *shape)
    seconds: dict[int, list[float]] = {threads: [] for threads in candidates}
    try:
        for trial in range(ROUNDS + 1):
            for threads in candidates:
                torch.set_num_threads(threads)
                took = _seconds(network, x)
                if trial:  # the first also sets up what the others find ready
                    seconds[threads].append(took)
    finally:
        torch.set_num_threads(most)
    return min(candidates, key=lambda threads: statistics.median(seconds[threads]))


@contextmanager
def using(threads: int | None) -> Iterator[None]:
    """Let torch compute with so many threads, and with as many as before afterwards; None leaves the number alone."""
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _seconds(network: nn.Module, x: torch.Tensor) -> float:
    """How long one gradient by the weights takes."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    start = time.perf_counter()
    logits = network(x)
    loss = F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.int64))
    torch.autograd.grad(loss, parameters)
    return time.perf_counter() - start
