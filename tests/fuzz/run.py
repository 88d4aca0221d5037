"""A run: batches of inputs shared among workers, and what came of them."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock

from fuzz.draw import values
from fuzz.examine import BAD, HANG, RAW, Outcome
from fuzz.worker import Batch, Limits, build, work

AT_ONCE = 1_000  # inputs of a batch: a worker starts in a tenth of a second
READY = 120.0  # seconds that a worker may take to read its valid files

_one_at_a_time = Lock()  # starting a process asks after all others, and only one thread is told how one ended


@dataclass
class Tally:
    """What came of the inputs of one reader."""

    reader: str
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Outcome]] = field(default_factory=list)

    def add(self, number: int, outcome: Outcome) -> None:
        self.counts[outcome.kind] += 1
        if outcome.kind in BAD:
            self.failures.append((number, outcome))

    @property
    def inputs(self) -> int:
        return self.counts.total()


def run(
    readers: str,
    numbers: Mapping[str, Sequence[int]],
    *,
    seed: int,
    folder: Path,
    limits: Limits | None = None,
    workers: int = 2,
    tell: Callable[[Tally], None] = lambda tally: None,
) -> dict[str, Tally]:
    """Read the inputs with these `numbers` of each reader, by name. `tell` is called after every batch.

    Args:
        readers: where they are, as "module:NAME" of a dictionary.
        folder: the failing inputs of an earlier run make room there, unless this one begins later.

    Raises:
        RuntimeError: a reader could not read its valid files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in (name for name, chosen in numbers.items() if 0 in chosen):
        shutil.rmtree(folder / "failed" / name, ignore_errors=True)
    server = _server(readers)
    tallies = {name: Tally(name) for name in numbers}

    def one(batch: Batch) -> None:
        for number, outcome in _outcomes(server, batch):
            tallies[batch.reader].add(number, outcome)
        tell(tallies[batch.reader])

    first = Batch(readers, "", seed, (), folder, limits or Limits(), values(seed))
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(partial(_build, server), [replace(first, reader=name) for name in numbers]))
        list(pool.map(one, _batches(first, numbers)))
    return tallies


def _batches(first: Batch, numbers: Mapping[str, Sequence[int]]) -> list[Batch]:
    """All batches, the readers in turn: the table fills evenly."""
    longest = max(map(len, numbers.values()), default=0)
    return [
        replace(first, reader=name, numbers=chosen[start : start + AT_ONCE])
        for start in range(0, longest, AT_ONCE)
        for name, chosen in numbers.items()
        if start < len(chosen)
    ]


def _server(readers: str) -> ForkServerContext:
    """Where workers come from: a process that has imported the readers and done nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([readers.partition(":")[0]])
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers are processes enough
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # which the server does not take over itself
    return context


def _build(server: ForkServerContext, batch: Batch) -> None:
    process = server.Process(target=build, args=(batch,), daemon=True)
    _start(process)
    if _ended(process) != 0:
        raise RuntimeError(f"the valid files of the reader {batch.reader!r} could not be made: see above")


def _start(process: BaseProcess) -> None:
    with _one_at_a_time:
        process.start()


def _ended(process: BaseProcess, timeout: float | None = None) -> int | None:
    """The exit code of a process, once it has ended."""
    wait([process.sentinel], timeout)
    with _one_at_a_time:
        return process.exitcode


def _outcomes(server: ForkServerContext, batch: Batch) -> Iterator[tuple[int, Outcome]]:
    """Each number and what came of it; a worker that ends before its time is replaced."""
    left = list(batch.numbers)
    while left:
        begun = False
        with _started(server, replace(batch, numbers=left)) as (process, results):
            while left:
                outcome = _next(process, results, batch.limits.wall if begun else READY)
                if isinstance(outcome, Outcome):
                    yield left.pop(0), outcome
                elif outcome == "begun":
                    begun = True
                else:
                    break
            else:
                return
        if process.exitcode == 1 and begun:  # whatever a reader raises is an outcome
            raise RuntimeError(f"input {left[0]} of {batch.reader!r} fails in the harness itself: see stderr.txt")
        ended = _ending(process.exitcode)
        if not begun:
            raise RuntimeError(f"reader {batch.reader!r} fails on its valid files: see {batch.folder / 'stderr.txt'}")
        if ended is not None:
            with _started(server, replace(batch, numbers=left[:1], read=False)) as (process, _):
                _ended(process)
            yield left.pop(0), ended


@contextmanager
def _started(server: ForkServerContext, batch: Batch) -> Iterator[tuple[BaseProcess, Connection]]:
    results, ours = multiprocessing.Pipe(duplex=False)
    process = server.Process(target=work, args=(batch, ours), daemon=True)
    _start(process)
    ours.close()
    try:
        yield process, results
    finally:
        if _ended(process, timeout=1.0) is None:
            process.kill()
            _ended(process)
        results.close()


def _next(process: BaseProcess, results: Connection, wall: float) -> Outcome | str:
    """The next outcome; "begun" when the worker is ready, "ended" when it ended or had to be ended."""
    if not wait([results], timeout=wall):
        process.kill()
        return "ended"
    try:
        outcome = results.recv()
    except EOFError:
        return "ended"
    return "begun" if outcome is None else outcome


def _ending(code: int | None) -> Outcome | None:
    """What the way in which a worker ended says of the input it was at; None where it had done with it."""
    if code == 0:
        return None
    if code in (-signal.SIGPROF, -signal.SIGKILL):
        return Outcome(HANG, "took more than its time")
    name = signal.Signals(-code).name if code and code < 0 else f"exit status {code}"
    return Outcome(RAW, f"the process died: {name}")
