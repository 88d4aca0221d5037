"""The other ranks of a run, where no launcher started them: processes that this one starts, watches and ends."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import torch.distributed
from torch.distributed import distributed_c10d

from randsmooth.errors import InputError
from randsmooth.training.placement import RankEnvironment
from randsmooth.training.ranks import RankLost, ended

READY = b"ready\n"  # what a rank reports once it has its work
GRACE = 10.0  # seconds in which a rank whose connection broke ends, so that its reason is known
ENDING = 60.0  # seconds for the others to end after the last step

Work = Callable[[RankEnvironment], object]


class OtherRanks:
    """The ranks from 1 on of a run on this machine, each a process of its own that does `work`.

    Each gets its work through its standard input, whose end tells it that this process is gone, and reports through its
    standard output. They are no children of a script that would be run again: a notebook or a script without
    `if __name__ == "__main__"` can start them.
    """

    def __init__(self, number: int, work: Work) -> None:
        self.number, self.host, self.port = number, socket.gethostname(), _free_port()
        self.over = threading.Event()
        try:
            orders = {rank: pickle.dumps((self.environment(rank), work)) for rank in range(1, number)}
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"the run cannot be handed to {number - 1} other processes ({error}): train on one device"
            ) from error
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        try:
            for rank in orders:
                self.processes[rank] = self._start()
            for rank, order in orders.items():
                self._hand(rank, order)
        except BaseException:
            self.end()
            raise
        threading.Thread(target=self._watch, daemon=True).start()

    def environment(self, rank: int) -> RankEnvironment:
        """What a rank, or this process as the first, has to know about the run."""
        return RankEnvironment(rank, rank, 0, self.number, "127.0.0.1", self.port)

    def lost(self) -> str:
        """Which of the ranks ended early and why; empty if none did. Waits a moment for those that are about to."""
        until = time.monotonic() + GRACE
        while time.monotonic() < until and not any(self._codes().values()):
            time.sleep(0.05)
        time.sleep(0.2)  # a second one, whose reason may be the first one's end, comes after it
        reasons = {rank: self._reason(rank) for rank, code in self._codes().items() if code}
        first = min(reasons, key=lambda rank: (reasons[rank].startswith(RankLost.__name__), rank), default=None)
        if first is None:
            return ""
        code = self.processes[first].returncode
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else "ended by an error"
        reason = f" ({reasons[first]})" if reasons[first] else ""
        return ended(f"rank {first} of {self.number} on {self.host}", how + reason)

    def finish(self) -> None:
        """Wait until all have ended their work."""
        until = time.monotonic() + ENDING
        for process in self.processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))

    def end(self) -> None:
        """Kill those that are still there."""
        self.over.set()
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    assert pipe is not None
                    pipe.close()

    def _start(self) -> subprocess.Popen[bytes]:
        """A process with the interpreter and the path of this one, out of reach of the terminal's Ctrl-C."""
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-m", "randsmooth.training.rank"]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, start_new_session=True)

    def _hand(self, rank: int, order: bytes) -> None:
        """Give a rank its work, and wait until it has understood it."""
        process = self.processes[rank]
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(len(order).to_bytes(8, "little") + order)
            process.stdin.flush()
            if process.stdout.readline() == READY:
                return
        except BrokenPipeError:
            pass
        process.wait()
        raise RankLost(self.lost())

    def _codes(self) -> dict[int, int | None]:
        return {rank: process.poll() for rank, process in self.processes.items()}

    def _reason(self, rank: int) -> str:
        """What a rank that ended said about it."""
        stdout = self.processes[rank].stdout
        line = stdout.readline() if stdout is not None and not stdout.closed else b""
        return str(json.loads(line)) if line else ""

    def _watch(self) -> None:
        """Free this process where it waits on a GPU for a rank that is gone: NCCL itself would wait for hours."""
        while not self.over.wait(0.5):
            if any(self._codes().values()):
                self.over.wait(GRACE)
                waits = not self.over.is_set() and torch.distributed.is_initialized()
                if waits and torch.distributed.get_backend() == "nccl":
                    distributed_c10d._abort_process_group()
                return


@contextmanager
def other_ranks(number: int, work: Work) -> Iterator[RankEnvironment]:
    """Start the other ranks of a run of `number`; gives what this process, the first, has to know.

    However the context ends, they end with it.

    Raises:
        RankLost: one of them ended early; it says which and why.
    """
    others = OtherRanks(number, work)
    try:
        yield others.environment(0)
        others.finish()
    except RankLost as error:
        raise RankLost(others.lost() or str(error)) from error
    finally:
        others.end()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
