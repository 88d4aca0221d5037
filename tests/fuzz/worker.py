"""A batch of inputs in a process of its own, which a hang, a flood or a crash takes down alone."""

from __future__ import annotations

import faulthandler
import os
import resource
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fuzz.draw import remember
from fuzz.examine import BAD, FLOOD, Bench, Outcome, put
from fuzz.inputs import Input, make
from fuzz.reader import Files, Reader

MIB = 2**20
MOST_KEPT = 100  # failing inputs of a reader
KIB_OF_RSS = 1 if sys.platform != "darwin" else 1 / 1024


@dataclass(frozen=True)
class Limits:
    """What one input may take.

    Attributes:
        seconds: of processor time; the process is killed beyond.
        wall: seconds on the clock, for what waits without computing.
        growth: MiB that the process may take beyond what it had when all valid files were read.
        room: MiB of address space beyond that, where allocations fail, for the machine's sake.
    """

    seconds: float = 5.0
    wall: float = 60.0
    growth: int = 512
    room: int = 4096


@dataclass(frozen=True)
class Batch:
    """Inputs of one reader, by number.

    Attributes:
        readers: where the readers are, as "module:NAME" of a dictionary.
        folder: of the run: `valid/READER/K/` are its valid files, `bombs/` likewise, and `failed/` what failed.
        values: what hypothesis drew for the run.
        read: whether to read the inputs, or only to keep them.
    """

    readers: str
    reader: str
    seed: int
    numbers: Sequence[int]
    folder: Path
    limits: Limits = Limits()
    values: Sequence[Any] = ()
    read: bool = True

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch" / str(os.getpid())


def find(readers: str) -> dict[str, Reader]:
    module, _, name = readers.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def build(batch: Batch) -> None:
    """Write the valid files and the bombs of the batch's reader."""
    reader = find(batch.readers)[batch.reader]
    for kind, made in (("valid", reader.valid()), ("bombs", reader.bombs())):
        shutil.rmtree(batch.folder / kind / batch.reader, ignore_errors=True)
        for place, files in enumerate(made):
            put(files, batch.folder / kind / batch.reader / str(place))


def work(batch: Batch, results: Connection) -> None:
    """Send an `Outcome` for each number, in order; None first, when the valid files were read."""
    _quiet(batch.folder)
    remember(batch.seed, list(batch.values))
    reader, valid, bombs = find(batch.readers)[batch.reader], _there(batch, "valid"), _there(batch, "bombs")
    if not batch.read:
        for number in batch.numbers:
            keep(batch, make(reader, valid, bombs, batch.seed, number), None)
        return
    os.environ["RANDSMOOTH_CACHE"] = str(batch.folder / "cache")
    bench = Bench(reader, valid, batch.scratch)
    results.send(None)
    most = _limit(batch.limits)
    for number in batch.numbers:
        given = make(reader, valid, bombs, batch.seed, number)
        signal.setitimer(signal.ITIMER_PROF, batch.limits.seconds)
        outcome = bench.examine(given)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if _resident() > most:
            outcome = Outcome(FLOOD, f"took more than {batch.limits.growth} MiB, and then: {outcome.kind}")
        if outcome.kind in BAD:
            keep(batch, given, outcome)
        results.send(outcome)
        if outcome.kind == FLOOD:
            return  # what it took may not be given back: the next one starts afresh


def keep(batch: Batch, given: Input, outcome: Outcome | None) -> None:
    """Keep a failing input, among the first of its reader, and what came of it where that is known."""
    folder = batch.folder / "failed" / batch.reader / str(given.number)
    if folder.parent.is_dir() and len(list(folder.parent.iterdir())) >= 2 * MOST_KEPT:
        return
    put(given.files, folder)
    told = f"{given.way} from valid/{batch.reader}/{given.of}\n"
    if outcome is not None:
        told += f"{outcome.kind}: {outcome.said}\n{outcome.trace}"
    folder.with_name(folder.name + ".txt").write_text(told, encoding="utf-8", errors="backslashreplace")


def _there(batch: Batch, kind: str) -> list[Files]:
    root = batch.folder / kind / batch.reader
    sets = sorted(root.iterdir(), key=lambda folder: int(folder.name)) if root.is_dir() else []
    return [
        {path.relative_to(one).as_posix(): path.read_bytes() for path in sorted(one.rglob("*")) if path.is_file()}
        for one in sets
    ]


def _quiet(folder: Path) -> None:
    """Let libraries write their complaints into a file, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    complaints = os.open(folder / "stderr.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(complaints, stream)
    faulthandler.enable()


def _limit(limits: Limits) -> float:
    """MiB of memory that the process may reach. Its address space is limited too, where that can be."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        room = pages * resource.getpagesize() + limits.room * MIB
        resource.setrlimit(resource.RLIMIT_AS, (room, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return _resident() + limits.growth


def _resident() -> float:
    """The most MiB of memory that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 * KIB_OF_RSS
