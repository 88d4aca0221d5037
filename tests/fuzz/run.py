"""A run: inputs of each reader, read in processes that a hang, a flood or a crash takes down alone; and its table."""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import os
import pickle
import platform
import re
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import NamedTuple

from fuzz.harness import BAD, FLOOD, GOOD, HANG, OTHER, RAW, Bench, Files, Input, Outcome, Reader, held, make, put

AT_ONCE = 1_000  # inputs of a process, which starts in a tenth of a second
MOST_KEPT = 100  # failing inputs of a reader
MIB = 2**20
BEGAN = 90.0  # seconds that reading the valid files may take
FRAME = re.compile(r'File "[^"]*/src/(randsmooth/[^"]+)", line (\d+)')
ENDINGS = {-signal.SIGPROF: HANG, -signal.SIGALRM: HANG, -signal.SIGKILL: HANG}


class Limits(NamedTuple):
    """What one input may take: seconds of processor time and, for what waits, on the clock; MiB that the process may
    grow by beyond what it had when all valid files were read; and of address space, where allocations fail.
    """

    seconds: float = 5.0
    wall: float = 60.0
    growth: int = 512
    room: int = 4096


LIMITS = Limits()


@dataclass(frozen=True)
class Batch:
    """Inputs of one reader, by number; `readers` says where the readers are, as "module:NAME" of a dictionary.

    In the `folder` of the run `valid/READER/K/` are its valid files, `bombs/` likewise, and `failed/` what failed.
    """

    readers: str
    reader: str
    seed: int
    folder: Path
    limits: Limits
    numbers: Sequence[int] = ()

    def opened(self) -> tuple[Reader, list[Files], list[Files]]:
        valid, bombs = (held(self.folder / kind / self.reader) for kind in ("valid", "bombs"))
        return find(self.readers)[self.reader], valid, bombs

    def inputs(self) -> Iterator[Input]:
        reader, valid, bombs = self.opened()
        return (make(reader, valid, bombs, self.seed, number) for number in self.numbers)

    @property
    def said(self) -> Path:
        """Where its process writes the outcomes."""
        return self.folder / "outcomes" / f"{self.reader}-{min(self.numbers, default='none')}"


@dataclass
class Tally:
    """What came of the inputs of one reader."""

    reader: str
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Outcome]] = field(default_factory=list)


def find(readers: str) -> dict[str, Reader]:
    module, _, name = readers.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


# --- in the process of a batch --------------------------------------------------------------------------------------


def build(batch: Batch) -> None:
    """Write the valid files and the bombs of the batch's reader."""
    reader = find(batch.readers)[batch.reader]
    for kind, made in (("valid", reader.valid()), ("bombs", reader.bombs())):
        shutil.rmtree(batch.folder / kind / batch.reader, ignore_errors=True)
        for place, files in enumerate(made):
            put(files, batch.folder / kind / batch.reader / str(place))


def work(batch: Batch) -> None:
    """Write an `Outcome` for each number, in order; None first, when the valid files were read.

    Whatever takes longer than an input may ends the process by a signal, which says that it was a hang.
    """
    complaints = os.open(batch.folder / "stderr.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(complaints, stream)
    faulthandler.enable()
    os.environ["RANDSMOOTH_CACHE"] = str(batch.folder / "cache")
    with batch.said.open("wb", buffering=0) as said:
        signal.setitimer(signal.ITIMER_REAL, BEGAN)
        reader, valid, _ = batch.opened()
        bench = Bench(reader, valid, batch.folder / "scratch" / str(os.getpid()))
        said.write(pickle.dumps(None))
        most = limited(batch.limits)
        for given in batch.inputs():
            signal.setitimer(signal.ITIMER_PROF, batch.limits.seconds)
            signal.setitimer(signal.ITIMER_REAL, batch.limits.wall)
            outcome = bench.examine(given)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if resident() > most:
                outcome = Outcome(FLOOD, f"took more than {batch.limits.growth} MiB, and then: {outcome.kind}")
            said.write(pickle.dumps(outcome))
            if outcome.kind == FLOOD:
                return  # what it took may not be given back: the next one starts afresh


def limited(limits: Limits) -> float:
    """MiB of memory that the process may reach. Its address space is limited too, where that can be."""
    import resource

    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        room = pages * resource.getpagesize() + limits.room * MIB
        resource.setrlimit(resource.RLIMIT_AS, (room, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return resident() + limits.growth


def resident() -> float:
    """The most MiB of memory that the process has held so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else MIB)


# --- in the parent --------------------------------------------------------------------------------------------------


def run(
    readers: str,
    numbers: Mapping[str, Sequence[int]],
    *,
    seed: int,
    folder: Path,
    limits: Limits = LIMITS,
    workers: int = 2,
) -> dict[str, Tally]:
    """Read the inputs with these `numbers` of each reader, by name.

    Raises:
        RuntimeError: a reader could not make or read its valid files, or the harness itself failed.
    """
    (folder / "outcomes").mkdir(parents=True, exist_ok=True)
    for name in (name for name, chosen in numbers.items() if 0 in chosen):
        shutil.rmtree(folder / "failed" / name, ignore_errors=True)
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([readers.partition(":")[0]])  # so that a process starts with all imported
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # there are processes enough
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # which the server does not take over itself
    tallies = {name: Tally(name) for name in numbers}
    batches = [
        Batch(readers, name, seed, folder, limits, numbers[name][start : start + AT_ONCE])
        for start in range(0, max(map(len, numbers.values()), default=0), AT_ONCE)
        for name in numbers
        if start < len(numbers[name])
    ]
    with ThreadPoolExecutor(workers) as pool:
        made = {name: Batch(readers, name, seed, folder, limits) for name in numbers}
        for name, code in zip(made, pool.map(lambda batch: ended(server, build, batch), made.values()), strict=True):
            if code:
                raise RuntimeError(f"the valid files of the reader {name!r} could not be made: see above")
        for batch, outcomes in zip(batches, pool.map(lambda batch: through(server, batch), batches), strict=True):
            tally = tallies[batch.reader]
            tally.counts.update(outcome.kind for outcome in outcomes)
            failed = [each for each in zip(batch.inputs(), outcomes, strict=True) if each[1].kind in BAD]
            tally.failures += [(given.number, outcome) for given, outcome in failed]
            for given, outcome in failed:
                keep(batch, given, outcome)
    return tallies


def ended(server: ForkServerContext, do: Callable[[Batch], None], batch: Batch) -> int:
    """The exit code of a process that does this; Ctrl-C ends it too."""
    process = server.Process(target=do, args=(batch,), daemon=True)
    process.start()
    process.join()
    return process.exitcode or 0


def through(server: ForkServerContext, batch: Batch) -> list[Outcome]:
    """What came of all inputs of a batch: another process goes on where one was taken down."""
    done: list[Outcome] = []
    while len(done) < len(batch.numbers):
        rest = replace(batch, numbers=batch.numbers[len(done) :])
        done += outcomes_of(rest, ended(server, work, rest))
    return done


def outcomes_of(batch: Batch, code: int) -> list[Outcome]:
    """What a process said before it ended, and what its end says of the input it was at."""
    found = []
    with batch.said.open("rb") as said, suppress(EOFError, pickle.UnpicklingError):
        while True:
            found.append(pickle.load(said))
    if not found:
        raise RuntimeError(f"reader {batch.reader!r} fails on its valid files: see {batch.folder / 'stderr.txt'}")
    done: list[Outcome] = found[1:]
    if len(done) == len(batch.numbers):
        return done
    if code == 1:  # whatever a reader raises is an outcome
        raise RuntimeError(f"input {batch.numbers[len(done)]} of {batch.reader!r} fails in the harness: see stderr.txt")
    if code in ENDINGS:
        done.append(Outcome(ENDINGS[code], "took more than its time"))
    elif code:
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        done.append(Outcome(RAW, f"the process died: {name}"))
    return done


def keep(batch: Batch, given: Input, outcome: Outcome) -> None:
    """Keep a failing input, among the first of its reader, and what came of it."""
    folder = batch.folder / "failed" / batch.reader / str(given.number)
    if folder.parent.is_dir() and len(list(folder.parent.iterdir())) >= 2 * MOST_KEPT:
        return
    put(given.files, folder)
    told = f"{given.way} from valid/{batch.reader}/{given.of}\n{outcome.kind}: {outcome.said}\n{outcome.trace}"
    folder.with_name(folder.name + ".txt").write_text(told, encoding="utf-8", errors="backslashreplace")


# --- what is told ---------------------------------------------------------------------------------------------------


def table(tallies: Mapping[str, Tally], readers: Mapping[str, Reader]) -> str:
    """A row a reader. `of its own` is marked where the format has no digest, so that damage cannot be told."""
    rows = [["reader", "inputs", *GOOD, *BAD]]
    for name, tally in tallies.items():
        cells = [f"{tally.counts[kind]:,}" for kind in (*GOOD, *BAD)]
        cells[GOOD.index(OTHER)] += "" if readers[name].signed else " (no digest)"
        rows.append([name, f"{tally.counts.total():,}", *cells])
    sums = [sum(tally.counts[kind] for tally in tallies.values()) for kind in (*GOOD, *BAD)]
    rows.append(["all", f"{sum(sums):,}", *(f"{each:,}" for each in sums)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def groups(tallies: Mapping[str, Tally]) -> dict[tuple[str, str, str], list[int]]:
    """Reader, kind and cause of failures -> the inputs' numbers; the most frequent first.

    The cause of a raw error is its type and the line of ours that let it out; of a changed meaning, where it changed.
    """
    found: dict[tuple[str, str, str], list[int]] = {}
    for tally in tallies.values():
        for number, outcome in tally.failures:
            frames, begins = FRAME.findall(outcome.trace), outcome.said.partition(":")[0]
            cause = f"{begins} at {frames[-1][0]}:{frames[-1][1]}" if frames else re.sub(r"\d+", "#", begins)
            found.setdefault((tally.reader, outcome.kind, cause), []).append(number)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))


def record(tallies: Mapping[str, Tally], readers: Mapping[str, Reader], seed: int) -> str:
    """JSON of a run: its seed, the versions that made it, and each reader's counts."""
    from randsmooth.extras import versions

    counts = {
        name: {"digest": readers[name].signed, "inputs": tally.counts.total()}
        | {kind.replace(" ", "_"): tally.counts[kind] for kind in (*GOOD, *BAD)}
        for name, tally in tallies.items()
    }
    made = {"python": platform.python_version()} | versions("pyarrow", "pillow", "onnxruntime")
    return json.dumps({"seed": seed, "versions": made, "readers": counts}, indent=2) + "\n"
