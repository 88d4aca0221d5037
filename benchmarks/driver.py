"""The driver of workers at a size that no test reaches: 1,000 workers and 50,000 images, with a clock that jumps.

    PYTHONPATH=tests python benchmarks/driver.py [--workers 1000] [--images 50000] [--out results/bench/driver.json]

The driver, the dealing, the journal and the table are the real ones. Workers are simulated: what an image takes is
drawn anew for each attempt, with a heavy tail (Pareto, shape 2.5, about 60 seconds on average); one attempt in a
hundred ends with the death of its worker, which is there again a minute later. Measured are

- the CPU time of the driver, all that happens in its process but for the simulation itself, an image;
- the memory of that process;
- the CPU time to resume from the journal of all images but one, up to the finished table;
- idle: how long a worker has had nothing to do when the run ends, as a share of the run, of the one that had none for
  longest and on average. A copy of an image that another is busy with is something to do; how long workers had
  nothing but such copies is told beside it. With 50 images a worker, one image is 2% of the run.
"""

from __future__ import annotations

import argparse
import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cluster.in_memory import HEADER, ORDER, InMemory, Worker
from harness import Figure, finish
from randsmooth.certificates import Journal, JournalRow
from randsmooth.certificates.partial import journal_path
from randsmooth.certification.crew import RunFacts
from randsmooth.certification.resumable_run import certify_images
from randsmooth.cluster.driver import Driver
from randsmooth.cluster.transport import Event, Message

MILLISECONDS, GIGABYTES, SECONDS, SHARE = 1.0, 2.0, 60.0, 0.02
SHAPE, MEAN, FAILS, PAUSE = 2.5, 60.0, 0.01, 60.0


class Timed(InMemory):
    """Simulated workers whose simulation is not counted; rows come as bytes, which the driver's process unpacks."""

    spent = 0.0

    def wait(self, seconds: float) -> Sequence[Event]:
        packed = [pickle.dumps(event) for event in self._apart(lambda: super(Timed, self).wait(seconds))]
        return [pickle.loads(each) for each in packed]

    def send(self, worker: str, message: Message) -> None:
        self._apart(lambda: super(Timed, self).send(worker, message))

    def _apart(self, simulate: Callable[[], Any]) -> Any:
        start = time.process_time()
        try:
            return simulate()
        finally:
            self.spent += time.process_time() - start


class Watched(Driver):
    """A driver that records since when each worker has had nothing to do, and since when no image of its own."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.idle: dict[str, float] = {}
        self.dry: dict[str, float] = {}

    def _deal(self, worker: str) -> None:
        copies = self.dealer.copies
        super()._deal(worker)
        self._since(self.idle, worker, worker in self._idle)
        self._since(self.dry, worker, worker in self._idle or self.dealer.copies > copies)

    def _since(self, found: dict[str, float], worker: str, now: bool) -> None:
        if now:
            found.setdefault(worker, self.clock())
        else:
            found.pop(worker, None)


def simulated(workers: int, images: int, classes: int) -> tuple[Timed, RunFacts]:
    """Workers that certify `images` of so many classes."""
    random = np.random.default_rng(0)
    header = HEADER.having(classes=tuple(map(str, range(classes))), n0=100, n=100_000)
    facts = RunFacts(header, tuple(range(images)), (0,) * images)
    shares = random.dirichlet(np.full(classes, 0.02), 100)
    counts = [random.multinomial(100_000, np.sort(share)[::-1]) for share in shares]
    select = [random.multinomial(100, np.sort(share)[::-1]) for share in shares]

    def row(image: int) -> JournalRow:
        k = image % 100
        return JournalRow(image, 0, select[k], counts[k], counts[k][[select[k].argmax()]], seconds=MEAN)

    def seconds(image: int) -> float:
        return float(MEAN * (1 - 1 / SHAPE) * (1 + random.pareto(SHAPE)))

    there = {
        str(k): Worker(
            facts, seconds, float(random.uniform(0, PAUSE)), row=row, poison=lambda _: random.random() < FAILS
        )
        for k in range(workers)
    }
    return Timed(there, pause=PAUSE), facts


def measure_run(workers: int, images: int, classes: int, out: Path) -> dict[str, float]:
    """Certify all images; the costs of the driver's process, and how long workers were idle at the end."""
    there, facts = simulated(workers, images, classes)
    before, start = memory(), time.process_time()
    driver = Watched(there, ORDER, there.clock)
    there.start()
    driver.gather()
    table = certify_images(driver, out)
    seconds = time.process_time() - start - there.spent
    assert table.idx.tolist() == list(facts.indices)
    idle, dry = (
        np.array([there.now - since.get(worker, there.now) for worker in there.workers]) / there.now
        for since in (driver.idle, driver.dry)
    )
    return {
        "milliseconds an image": 1000 * seconds / images,
        "gigabytes": memory(),
        "of these before the run": before,
        "mean idle": float(idle.mean()),
        "longest idle": float(idle.max()),
        "mean without an image of its own": float(dry.mean()),
        "longest without an image of its own": float(dry.max()),
        "hours": there.now / 3600,
        "ideal hours": MEAN * images / workers / 3600,
        "copies": driver.dealer.copies,
        "second answers": driver.dealer.second,
        "attempts": len(there.begun),
    }


def measure_resume(images: int, classes: int, out: Path) -> dict[str, float]:
    """Resume from the journal of all images but the last."""
    there, facts = simulated(2, images, classes)
    row = there.workers["0"].row
    with Journal.create(journal_path(out), facts.header) as journal:
        for image in range(images - 1):
            journal.append(row(image))
    size = journal_path(out).stat().st_size
    again = measured("resumed", images, classes, out)
    return again | {"gigabytes of the journal": size / 2**30}


def resumed(images: int, classes: int, out: Path) -> dict[str, float]:
    """In a process of its own, so that its memory is that of resuming alone."""
    there, facts = simulated(2, images, classes)
    there.start()
    driver = Driver(there, ORDER, there.clock)
    driver.gather()
    start, busy = time.perf_counter(), time.process_time()
    table = certify_images(driver, out, resume=True)
    assert table.idx.tolist() == list(facts.indices)
    return {
        "seconds": time.process_time() - busy,
        "on the clock": time.perf_counter() - start,
        "gigabytes": memory(),
    }


def memory() -> float:
    """The most that this process has used, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measured(part: str, *words: object) -> dict[str, Any]:
    """What a `part` of this benchmark gives in a process of its own."""
    command = [sys.executable, __file__, "--part", part, *map(str, words)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=Path("runs/bench/driver.json"))
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        warnings.simplefilter("ignore")  # a note for each worker that dies
        name, *numbers, out = given.part
        part = {"run": measure_run, "resume": measure_resume, "resumed": resumed}[name]
        print(json.dumps(part(*map(int, numbers), Path(out))))
        return
    figures = []
    for classes in (10, 1000):
        with tempfile.TemporaryDirectory() as folder:
            run = measured("run", given.workers, given.images, classes, Path(folder) / "run.parquet")
            resume = measured("resume", given.images, classes, Path(folder) / "resumed.parquet")
        figures += figures_of(classes, run, resume)
    finish(figures, given.out)


def figures_of(classes: int, run: dict[str, Any], resume: dict[str, Any]) -> list[Figure]:
    note = "; ".join(f"{name} {value:.4g}" for name, value in run.items())
    figures = [
        Figure(f"driver's CPU time an image, {classes} classes", run["milliseconds an image"], MILLISECONDS, [], note),
        Figure(f"driver's memory, {classes} classes", run["gigabytes"], GIGABYTES, []),
        Figure(f"mean idle at the end, {classes} classes", run["mean idle"], SHARE, []),
        Figure(f"longest idle at the end, {classes} classes", run["longest idle"], SHARE, []),
        Figure(
            f"resuming, {classes} classes",
            resume["seconds"],
            SECONDS,
            [],
            f"journal {resume['gigabytes of the journal']:.2f} GiB",
        ),
        Figure(f"memory of resuming, {classes} classes", resume["gigabytes"], GIGABYTES, []),
    ]
    units = (" ms", " GiB", "", "", " s", " GiB")
    figures = [replace(figure, unit=unit, most=True) for figure, unit in zip(figures, units, strict=True)]
    for figure in figures:
        print(figure.line(), figure.note, flush=True)
    return figures


if __name__ == "__main__":
    main()
