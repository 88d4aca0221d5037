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
    """Workers that draw, ask and count at the same time.

    Several workers compute with one thread of torch each. A single worker is the
    calling thread itself, and computes with all of torch's threads.

    Threads that share an operator wait for each other, and keep their cores busy
    meanwhile, which slows the drawing of noise. On two cores, two workers of one thread
    take a fifth less time than one worker of two threads.

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
            # `list` waits until all workers are done.
            list(self._pool.map(lambda _: _work_alone(started), range(number)))
            # Each worker keeps its own setting; this restores the caller's.
            torch.set_num_threads(threads)

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Return the results in the order of the items.

        After a failure no item is begun.
        """
        if self._pool is None:
            return map(function, items)
        return self._pool.map(function, items)

    def buffer(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """Return a float32 tensor of `shape` that belongs to the calling worker.

        It holds what the worker wrote into it last, and zeros at first.
        """
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
    # Each waits here for all others, so that no worker runs this twice and none never.
    started.wait()
