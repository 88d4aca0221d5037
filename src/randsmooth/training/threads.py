"""How many threads to train with on a CPU: as many as are fastest while other processes use the same cores.

The threads of an operator wait for each other. If another process occupies one of the cores, they all wait for the
thread on that core, and a single thread is faster.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import nn
from torch.nn import functional as F

from randsmooth.data import DatasetSpec
from randsmooth.training.recipe import Recipe

R = TypeVar("R", bound=Recipe)

ROUNDS = 3
SAMPLES = 64  # in a trial: enough to be split among threads, and at most a second for the networks of the papers
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")

_PICKED: dict[tuple[str, tuple[int, ...]], int] = {}  # number of threads by architecture and shape of the images


def chosen_by_user() -> bool:
    """Whether the user set the number of threads, in an environment variable or in torch."""
    cores = os.cpu_count() or 1
    usual = {cores, cores // 2}  # torch's own choice: the cores, or half of them where each physical core counts as two
    if hasattr(os, "sched_getaffinity"):
        usual.add(len(os.sched_getaffinity(0)))
    return any(os.environ.get(name) for name in VARIABLES) or torch.get_num_threads() not in usual


def pick(
    recipe: R,
    spec: DatasetSpec,
    device: torch.device,
    new_model: Callable[[R, DatasetSpec], nn.Module],
    earlier: int | None = None,
    processes: int = 1,
) -> int | None:
    """The number of CPU threads for each of the `processes` of this machine; None if another device computes.

    If the user set a number, it is kept. Otherwise a resumed run uses as many as `earlier`, when it began, and all runs
    of one network in a process use equally many, because with another number of threads sums are rounded differently.
    Several processes share torch's threads out.
    """
    if device.type != "cpu":
        return None
    if chosen_by_user():
        return torch.get_num_threads()
    share = max(1, torch.get_num_threads() // processes)
    if earlier:
        return min(earlier, share)
    if processes > 1:
        return share
    key = recipe.arch, tuple(spec.shape)
    if key not in _PICKED:
        _PICKED[key] = fastest(new_model(recipe, spec).eval(), tuple(spec.shape))
    return _PICKED[key]


def fastest(network: nn.Module, shape: tuple[int, ...]) -> int:
    """The number of threads with which gradients of `network` on images (C, H, W) take the least time now.

    All of torch's threads, half of them, and so on down to one are tried in turn on a small batch.
    """
    most = torch.get_num_threads()
    candidates = sorted({max(1, most >> halvings) for halvings in range(most.bit_length())}, reverse=True)
    if len(candidates) == 1:
        return most
    x = torch.full((SAMPLES, *shape), 0.5)  # grey: random images would draw from the generator of the caller
    seconds: dict[int, list[float]] = {threads: [] for threads in candidates}
    try:
        for trial in range(ROUNDS + 1):
            for threads in candidates:
                torch.set_num_threads(threads)
                took = _seconds(network, x)
                if trial:  # the first trial also sets things up for the others, so it does not count
                    seconds[threads].append(took)
    finally:
        torch.set_num_threads(most)
    return min(candidates, key=lambda threads: statistics.median(seconds[threads]))


@contextmanager
def using(threads: int | None) -> Iterator[None]:
    """Let torch use so many `threads` within the context; None leaves their number as it is."""
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _seconds(network: nn.Module, x: torch.Tensor) -> float:
    """How long it takes to compute the gradient with respect to the weights once."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    start = time.perf_counter()
    logits = network(x).flatten(1)  # of a denoiser, pixels
    loss = F.cross_entropy(logits, torch.zeros(len(x), dtype=torch.int64))
    torch.autograd.grad(loss, parameters)
    return time.perf_counter() - start
