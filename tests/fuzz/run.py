"""A run: inputs of each reader, read in processes that a hang, a flood or a crash takes down alone."""

import faulthandler
import multiprocessing
import os
import pickle
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import NamedTuple

from fuzz.harness import (
    BAD,
    FLOOD,
    HANG,
    RAW,
    Bench,
    Files,
    Input,
    Outcome,
    Reader,
    make,
    put,
)

AT_ONCE = 1_000  # inputs of a process, which starts in a tenth of a second
MOST_KEPT = 100  # failing inputs of a reader
MIB = 2**20
BEGAN = 90.0  # seconds that reading the valid files may take
ENDINGS = (
    -signal.SIGPROF,
    -signal.SIGALRM,
    -signal.SIGKILL,
)  # of a process that took too long


class Limits(NamedTuple):
    """What one input may take: seconds of processor time and, for what waits, on the clock; MiB that the process may
    grow by beyond what it had when all valid files were read; and of address space, where allocations fail.
    """

    seconds: float = 5.0
    wall: float = 60.0
    growth: int = 512
    room: int = 4096


@dataclass(frozen=True)
class Batch:
    """Inputs of one reader, by number; `readers` says where the readers are, as "module:NAME" of a dictionary."""

    readers: str
    reader: str
    valid: list[Files]
    bombs: list[Files]
    seed: int
    folder: Path
    limits: Limits
    numbers: Sequence[int]

    def inputs(self) -> Iterator[Input]:
        reader = find(self.readers)[self.reader]
        return (
            make(reader, self.valid, self.bombs, self.seed, number)
            for number in self.numbers
        )


@dataclass
class Tally:
    """What came of the inputs of one reader."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Outcome]] = field(default_factory=list)


def find(readers: str) -> dict[str, Reader]:
    module, _, name = readers.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


# --- in the process of a batch --------------------------------------------------------------------------------------


def work(batch: Batch, to: Connection) -> None:
    """Send an `Outcome` for each number, in order; an empty one first, when the valid files were read.

    Whatever takes longer than an input may ends the process by a signal, which says that it was a hang.
    """
    import resource

    complaints = os.open(
        batch.folder / "stderr.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND
    )
    for stream in (1, 2):
        os.dup2(complaints, stream)
    faulthandler.enable()
    os.environ["RANDSMOOTH_CACHE"] = str(batch.folder / "cache")
    signal.setitimer(signal.ITIMER_REAL, BEGAN)
    bench = Bench(
        find(batch.readers)[batch.reader],
        batch.valid,
        batch.folder / "scratch" / str(os.getpid()),
    )
    to.send(Outcome(""))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        room = pages * resource.getpagesize() + batch.limits.room * MIB
        resource.setrlimit(
            resource.RLIMIT_AS, (room, resource.getrlimit(resource.RLIMIT_AS)[1])
        )
    peak = resident()
    most = peak + batch.limits.growth
    for given in batch.inputs():
        most += resident() - peak  # which making the input took, not reading it
        signal.setitimer(signal.ITIMER_PROF, batch.limits.seconds)
        signal.setitimer(signal.ITIMER_REAL, batch.limits.wall)
        outcome = bench.examine(given)
        signal.setitimer(signal.ITIMER_PROF, 0)
        peak = resident()
        if peak > most:
            outcome = Outcome(
                FLOOD,
                f"took more than {batch.limits.growth} MiB, and then: {outcome.kind}",
            )
        to.send(outcome)
        if outcome.kind == FLOOD:
            return  # what it took may not be given back: the next one starts afresh


def resident() -> float:
    """The most MiB of memory that the process has held so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1024 if sys.platform == "linux" else MIB
    )


# --- in the parent --------------------------------------------------------------------------------------------------


def run(
    readers: str,
    numbers: dict[str, range],
    *,
    seed: int,
    folder: Path,
    limits: Limits = Limits(),  # noqa: B008  # a tuple of numbers
    workers: int = 2,
) -> dict[str, Tally]:
    """Read the inputs with these `numbers` of each reader, by name.

    Raises:
        RuntimeError: a reader could not read its valid files, or the harness itself failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(
        [readers.partition(":")[0]]
    )  # so that a process starts with all imported
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # there are processes enough
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, sys.path)
    )  # which the server does not take over itself
    batches = []
    for name, chosen in numbers.items():
        if 0 in chosen:
            shutil.rmtree(folder / "failed" / name, ignore_errors=True)
        reader = find(readers)[name]
        whole = Batch(
            readers, name, reader.valid(), reader.bombs(), seed, folder, limits, chosen
        )
        batches += [
            replace(whole, numbers=chosen[at : at + AT_ONCE])
            for at in range(0, len(chosen), AT_ONCE)
        ]
    tallies = {name: Tally() for name in numbers}
    with ThreadPoolExecutor(workers) as pool:
        for batch, outcomes in zip(
            batches,
            pool.map(lambda batch: through(server, batch), batches),
            strict=True,
        ):
            tally = tallies[batch.reader]
            tally.counts.update(outcome.kind for outcome in outcomes)
            for given, outcome in zip(batch.inputs(), outcomes, strict=True):
                if outcome.kind in BAD:
                    tally.failures.append((given.number, outcome))
                    keep(batch, given, outcome)
    return tallies


def through(server: ForkServerContext, batch: Batch) -> list[Outcome]:
    """What came of all inputs of a batch: another process goes on where one was taken down."""
    done: list[Outcome] = []
    while len(done) < len(batch.numbers):
        rest = replace(batch, numbers=batch.numbers[len(done) :])
        told, code = ended(server, rest)
        if not told or code == 1:  # whatever a reader raises is an outcome
            raise RuntimeError(
                f"reader {batch.reader!r} fails on its valid files: see {batch.folder / 'stderr.txt'}"
            )
        done += told[1:]
        if len(told) <= len(rest.numbers) and code:
            name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            hang, died = (
                Outcome(HANG, "took more than its time"),
                Outcome(RAW, f"the process died: {name}"),
            )
            done.append(hang if code in ENDINGS else died)
    return done


def ended(server: ForkServerContext, batch: Batch) -> tuple[list[Outcome], int]:
    """What a process said of a batch before it ended, and its exit code; Ctrl-C ends it too."""
    told, (heard, said) = [], server.Pipe(duplex=False)
    process = server.Process(target=work, args=(batch, said), daemon=True)
    process.start()
    said.close()
    with heard, suppress(EOFError, pickle.UnpicklingError):
        while True:
            told.append(heard.recv())
    process.join()
    return told, process.exitcode or 0


def keep(batch: Batch, given: Input, outcome: Outcome) -> None:
    """Keep a failing input, among the first of its reader, and what came of it."""
    folder = batch.folder / "failed" / batch.reader / str(given.number)
    if folder.parent.is_dir() and len(list(folder.parent.iterdir())) >= 2 * MOST_KEPT:
        return
    put(given.files, folder)
    told = f"{given.way} from valid file {given.of} of {batch.reader}\n{outcome.kind}: {outcome.said}\n{outcome.trace}"
    folder.with_name(folder.name + ".txt").write_text(
        told, encoding="utf-8", errors="backslashreplace"
    )
