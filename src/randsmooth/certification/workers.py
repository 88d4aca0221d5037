"""The threads that draw noise, ask the model and count."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

A = TypeVar("A")
B = TypeVar("B")


class WorkerPool:
    """Workers of one thread each; a single one is the caller, with all of torch's
    threads.

    Operators that several threads share make them wait for each other, and let them
    spin meanwhile, at the cost of whoever draws noise: on two cores, two workers of one
    thread take a fifth less time than one of two.

    Args:
        number: the number of workers.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._of_this_thread = threading.local()
        self._pool = ThreadPoolExecutor(number) if number > 1 else None
        if self._pool is not None:
            threads = torch.get_num_threads()
            started = threading.Barrier(number)
            list(self._pool.map(lambda _: _work_alone(started), range(number)))
            # The workers' setting is theirs; this is the caller's.
            torch.set_num_threads(threads)

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Return the results in the order of the items.

        After a failure no item is begun.
        """
        if self._pool is None:
            return map(function, items)
        return self._pool.map(function, items)

    def buffer(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """Return a float32 tensor of this worker, as it left it; zeros at first."""
        buffer: Tensor | None = getattr(self._of_this_thread, "buffer", None)
        if buffer is None or tuple(buffer.shape) != shape:
            buffer = torch.zeros(shape, device=device)
            self._of_this_thread.buffer = buffer
        return buffer


def _work_alone(started: threading.Barrier) -> None:
    """Let this thread of a pool compute with one thread of torch."""
    # torch sets up a thread when it is first asked, and would undo the next line later.
    torch.get_num_threads()
    torch.set_num_threads(1)
    # Until every worker is there, so that each runs this once.
    started.wait()
