"""Workers that are processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

import torch

from randsmooth.certification.crew import Crew
from randsmooth.certification.order import Order
from randsmooth.cluster.driver import ENDPOINT, driven
from randsmooth.cluster.transport import Died, Event, Failed, Joined, Message, Prepare
from randsmooth.cluster.worker import Inbox, serve
from randsmooth.errors import InputError, Note
from randsmooth.models import Endpoint, pick_device

SPAWN = multiprocessing.get_context("spawn")  # a forked process could not use CUDA, nor torch's threads
LAST_BREATH = 10.0  # seconds that a process may take to end after its pipe
GUARD = "a script that starts workers begins its work under `if __name__ == '__main__':`"


@dataclass(frozen=True)
class Share:
    """What one process may use: a device, and of the CPU so many threads."""

    device: str
    threads: int


@dataclass(frozen=True)
class Processes:
    """So many processes of this machine: one for each GPU where there are GPUs, else each with a share of the cores.

    Each opens model and data for itself, so memory is needed for each. A model that is given as an object is sent to
    them, one that is named is opened by each.

    Args:
        number: of the processes. Fewer are used where there are fewer GPUs, or fewer images.

    Raises:
        InputError: the number is none.

    Example:
        >>> import tempfile
        >>> from torch import nn
        >>> import randsmooth as rs
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).eval()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = rs.certify(
        ...         model, "digits", sigma=0.25, n=100, take=5, out=f"{folder}/mine.parquet", workers=Processes(1)
        ...     )
        >>> len(table)
        5
    """

    number: int

    def __post_init__(self) -> None:
        if type(self.number) is not int or self.number < 1:
            raise InputError(f"workers={self.number!r} must be a whole number from 1 up")

    def __call__(self, order: Order) -> AbstractContextManager[Crew]:
        """The processes as a crew for `order`."""
        if isinstance(order.model, Endpoint):
            raise InputError(ENDPOINT)
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise InputError(f"this process is a worker that is being started: {GUARD}")
        number = self.number if order.take is None else min(self.number, order.take)
        if number < self.number:
            warnings.warn(f"{order.take} images need no more than {number} workers", Note, stacklevel=2)
        return driven(ProcessTransport(shares(number, order.device)), order)


def shares(number: int, device: str) -> list[Share]:
    """What each of `number` processes may use: a GPU, or its part of the threads that this process would use.

    Args:
        number: how many are asked for.
        device: as users name it. "auto" and "cuda" stand for all GPUs, one that has a number for that one alone.

    Raises:
        InputError: the device is not there.

    Example:
        >>> len(shares(3, "cpu")), shares(3, "cpu")[0].device
        (3, 'cpu')
    """
    kind = pick_device(device).type
    if kind == "cpu":
        each, more = divmod(torch.get_num_threads(), number)
        return [Share("cpu", max(1, each + (k < more))) for k in range(number)]
    named = [device] if ":" in device else [f"{kind}:{k}" for k in range(torch.cuda.device_count())]
    if number > len(named):
        warnings.warn(
            f"{len(named)} workers instead of {number}: one for each of {', '.join(named)}", Note, stacklevel=2
        )
    return [Share(name, max(1, torch.get_num_threads() // len(named))) for name in named[:number]]


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    joined: bool = False


class ProcessTransport:
    """The `Transport` to processes, a pipe to each.

    A process ends by itself as soon as its pipe is closed, so that none outlives this one, however this one ends.
    Ctrl-C reaches this process alone.
    """

    def __init__(self, shares: Sequence[Share]) -> None:
        self.shares = {str(k): share for k, share in enumerate(shares, start=1)}
        self._workers: dict[str, _Worker] = {}

    def start(self) -> None:
        for worker in self.shares:
            self._start(worker)

    def _start(self, worker: str) -> None:
        ours, theirs = SPAWN.Pipe()
        arguments = (worker, theirs, self.shares[worker])
        process = SPAWN.Process(target=work, args=arguments, name=f"randsmooth-{worker}", daemon=True)
        with _without_interrupts():
            process.start()
            self._workers[worker] = _Worker(process, ours)
        theirs.close()

    def send(self, worker: str, message: Message) -> None:
        if worker not in self._workers:
            return
        packed = packed_message(message)
        with suppress(BrokenPipeError, ConnectionResetError):
            self._workers[worker].connection.send_bytes(packed)

    def wait(self, seconds: float) -> Sequence[Event]:
        names = {worker.connection: name for name, worker in self._workers.items()}
        events: list[Event] = []
        for connection in wait(list(names), seconds):
            assert isinstance(connection, Connection)
            events += self._received(names[connection])
        return events

    def _received(self, worker: str) -> Iterator[Event]:
        """What a worker has sent by now, and its death where that is the end of it."""
        there = self._workers[worker]
        try:
            while there.connection.poll():
                event: Event = there.connection.recv()
                there.joined |= isinstance(event, Joined)
                yield event
                if isinstance(event, Failed | Died):
                    self.end(worker)
                    return
        except (EOFError, OSError):
            there.process.join(LAST_BREATH)
            code, joined = there.process.exitcode, there.joined
            self.end(worker)
            yield Died(worker, death(code, joined=joined))

    def again(self, worker: str) -> bool:
        self._start(worker)
        return True

    def end(self, worker: str) -> None:
        gone = self._workers.pop(worker, None)
        if gone is not None:
            _end([gone])

    def expected(self) -> int:
        return sum(not worker.joined for worker in self._workers.values())

    def close(self) -> None:
        workers, self._workers = list(self._workers.values()), {}
        _end(workers)


def _end(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.process.kill()  # it holds nothing that is not in the journal, or done again
        worker.connection.close()
    for worker in workers:
        worker.process.join()
        worker.process.close()


def packed_message(message: Message) -> bytes:
    """A message as it is sent; InputError for an order that cannot be.

    torch's own way for processes of one machine would move the tensors of the user's model to shared memory.
    """
    try:
        return pickle.dumps(message)
    except Exception as error:  # whatever the parts of a model raise
        if not isinstance(message, Prepare):
            raise
        raise InputError(
            f"the model or the data set cannot be sent to other processes ({error}): name it, as a folder, "
            "package.module:NAME or file.py:NAME, which each of them opens, or leave out workers"
        ) from error


def death(code: int | None, *, joined: bool) -> str:
    """Of what a process died that ended with the exit `code`.

    Example:
        >>> death(-9, joined=True)
        'killed by SIGKILL, as where memory runs out'
        >>> death(3, joined=True)
        'exit code 3'
    """
    if code is not None and code < 0:
        memory = ", as where memory runs out" if -code == signal.SIGKILL else ""
        return f"killed by {signal.Signals(-code).name}{memory}"
    return f"exit code {code}" + ("" if joined else f"; {GUARD}")


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait: a process that starts meanwhile never gets it, this one gets it afterwards."""
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def work(worker: str, connection: Connection, share: Share) -> None:
    """What the process of a worker does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(share.threads)
    inbox = Inbox()
    threading.Thread(target=_receive, args=(connection, inbox), daemon=True).start()
    serve(worker, inbox, lambda event: connection.send_bytes(pickle.dumps(event)), share.device)


def _receive(connection: Connection, inbox: Inbox) -> None:
    """Put messages into `inbox` until the driver is gone; then end the process at once, whatever it does."""
    with suppress(EOFError, OSError):
        while True:
            inbox.put(connection.recv())
    os._exit(1)
