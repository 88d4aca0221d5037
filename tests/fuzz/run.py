"""A run: batches of inputs, each read in a process that a hang, a flood or a crash takes down alone; and its table."""

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
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from fuzz.harness import BAD, FLOOD, GOOD, HANG, OTHER, RAW, Bench, Input, Outcome, Reader, held, make, put

AT_ONCE = 1_000  # inputs of a batch: a process starts in a tenth of a second
MOST_KEPT = 100  # failing inputs of a reader
MIB = 2**20
BEGAN = 90.0  # seconds that reading the valid files may take
FRAME = re.compile(r'File "[^"]*/src/(randsmooth/[^"]+)", line (\d+)')
ENDINGS = {-signal.SIGPROF: HANG, -signal.SIGALRM: HANG, -signal.SIGKILL: HANG}


@dataclass(frozen=True)
class Limits:
    """What one input may take.

    Attributes:
        seconds: of processor time; the process ends beyond.
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
    """

    readers: str
    reader: str
    seed: int
    numbers: Sequence[int]
    folder: Path
    limits: Limits

    def opened(self) -> tuple[Reader, list[Files], list[Files]]:
        valid, bombs = (held(self.folder / kind / self.reader) for kind in ("valid", "bombs"))
        return find(self.readers)[self.reader], valid, bombs

    def inputs(self) -> Iterator[Input]:
        reader, valid, bombs = self.opened()
        return (make(reader, valid, bombs, self.seed, number) for number in self.numbers)

    @property
    def said(self) -> Path:
        """Where its process writes the outcomes."""
        return self.folder / "outcomes" / f"{self.reader}-{self.numbers[0] if self.numbers else 'none'}"


Files = dict[str, bytes]


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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
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
    limits: Limits | None = None,
    workers: int = 2,
    tell: Callable[[Tally], None] = lambda tally: None,
) -> dict[str, Tally]:
    """Read the inputs with these `numbers` of each reader, by name. `tell` is called after every batch.

    Raises:
        RuntimeError: a reader could not make or read its valid files, or the harness itself failed.
    """
    (folder / "outcomes").mkdir(parents=True, exist_ok=True)
    for name in (name for name, chosen in numbers.items() if 0 in chosen):
        shutil.rmtree(folder / "failed" / name, ignore_errors=True)
    server, tallies = processes(readers), {name: Tally(name) for name in numbers}
    first = [Batch(readers, name, seed, (), folder, limits or Limits()) for name in numbers]
    for batch, code in ended(server, build, deque(first), workers):
        if code:
            raise RuntimeError(f"the valid files of the reader {batch.reader!r} could not be made: see above")
    waiting = deque(
        replace(batch, numbers=numbers[batch.reader][start : start + AT_ONCE])
        for start in range(0, max(map(len, numbers.values()), default=0), AT_ONCE)
        for batch in first
        if start < len(numbers[batch.reader])
    )
    for batch, code in ended(server, work, waiting, workers):
        outcomes = outcomes_of(batch, code)
        for given, outcome in zip(batch.inputs(), outcomes, strict=False):
            tallies[batch.reader].add(given.number, outcome)
            if outcome.kind in BAD:
                keep(batch, given, outcome)
        if len(outcomes) < len(batch.numbers):
            waiting.appendleft(replace(batch, numbers=batch.numbers[len(outcomes) :]))
        tell(tallies[batch.reader])
    return tallies


def processes(readers: str) -> ForkServerContext:
    """Where processes come from: one that has imported the readers and done nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([readers.partition(":")[0]])
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # there are processes enough
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # which the server does not take over itself
    return context


def ended(
    server: ForkServerContext, do: Callable[[Batch], None], waiting: deque[Batch], workers: int
) -> Iterator[tuple[Batch, int]]:
    """Each batch once its process ended, with the exit code; what is put into `waiting` meanwhile is done as well."""
    active: dict[int, tuple[Batch, multiprocessing.process.BaseProcess]] = {}
    try:
        while waiting or active:
            while waiting and len(active) < workers:
                batch = waiting.popleft()
                process = server.Process(target=do, args=(batch,), daemon=True)
                process.start()
                active[process.sentinel] = batch, process
            for sentinel in wait(list(active)):
                batch, ending = active.pop(sentinel)  # type: ignore[arg-type]
                ending.join()
                yield batch, ending.exitcode or 0
    finally:
        for _, ending in active.values():
            ending.kill()


def outcomes_of(batch: Batch, code: int) -> list[Outcome]:
    """What a process said before it ended, and what its end says of the input it was at."""
    found = []
    with batch.said.open("rb") as said:
        while True:
            try:
                found.append(pickle.load(said))
            except (EOFError, pickle.UnpicklingError):
                break
    if not found:
        raise RuntimeError(f"reader {batch.reader!r} fails on its valid files: see {batch.folder / 'stderr.txt'}")
    done: list[Outcome] = found[1:]
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


class Group(NamedTuple):
    """Failures that have one cause, as far as can be told."""

    reader: str
    kind: str
    said: str
    numbers: list[int]


def table(tallies: Mapping[str, Tally], readers: Mapping[str, Reader]) -> Table:
    """A row a reader. `of its own` is marked where the format has no digest, so that damage cannot be told."""
    drawn = Table("reader", "inputs", *GOOD, *BAD)
    for column in drawn.columns[1:]:
        column.justify = "right"
    for name, tally in tallies.items():
        cells = [f"{tally.counts[kind]:,}" for kind in (*GOOD, *BAD)]
        if not readers[name].signed:
            cells[GOOD.index(OTHER)] += " (no digest)"
        drawn.add_row(name, f"{tally.counts.total():,}", *cells)
    drawn.add_section()
    sums = [sum(tally.counts[kind] for tally in tallies.values()) for kind in (*GOOD, *BAD)]
    drawn.add_row("all", f"{sum(sums):,}", *(f"{each:,}" for each in sums))
    return drawn


def groups(tallies: Mapping[str, Tally]) -> list[Group]:
    """The failures, those of one reader, kind and cause together; the most frequent first."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for tally in tallies.values():
        for number, outcome in tally.failures:
            found.setdefault((tally.reader, outcome.kind, cause(outcome)), []).append(number)
    return sorted((Group(*key, numbers) for key, numbers in found.items()), key=lambda each: -len(each.numbers))


def cause(outcome: Outcome) -> str:
    """A raw error by its type and the line of ours that let it out; a changed meaning by the place that changed."""
    frames = FRAME.findall(outcome.trace)
    if frames:
        return f"{outcome.said.partition(':')[0]} at {frames[-1][0]}:{frames[-1][1]}"
    return re.sub(r"\d+", "#", outcome.said.partition(":")[0])


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
