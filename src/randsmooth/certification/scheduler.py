"""The loop that draws and counts the noisy copies of many images at a time, so that every batch is full."""

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.certification.engine import (
    Engine,
    SampleRange,
    Segment,
    packed,
    segments,
)
from randsmooth.errors import ModelFailed, Problem
from randsmooth.noise import Stream, address_of

# Batches in the queue below which another image joins; or two for every worker, if that is more.
BATCHES_QUEUED = 8

Ints = NDArray[np.int64]
T = TypeVar("T")

# Yields the samples that it asks for, is sent their counts (len(ranges), K), and returns a result.
Steps = Generator[Sequence[SampleRange], Ints, T]


@dataclass
class Job(Generic[T]):
    """One image and its steps: a generator that yields sample ranges, is sent their counts, and returns a result.

    Attributes:
        number: what to call the image in errors.
        x: (C, H, W) in [0, 1].
        address: what its noise depends on: a hash of its pixels.
        seconds: the time that its samples have taken so far.
        result: what the generator returned, once it has.
        slots, counts, left: of the ranges that it asked for, a number each, what has been counted so far (len(slots),
            K), and how many samples have not.
    """

    number: int
    x: Tensor
    steps: Steps[T]
    address: int = field(init=False)
    seconds: float = 0.0
    result: T | None = None
    slots: range = range(0)
    counts: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    left: int = 0

    def __post_init__(self) -> None:
        self.address = address_of(self.x)


def count_once(ranges: Sequence[SampleRange]) -> Steps[Ints]:
    """Ask for `ranges` once: the steps of a job whose result is their counts (len(ranges), K)."""
    return (yield ranges)


class Scheduler(Generic[T]):
    """Runs jobs, one per image, on an engine: queues their samples, has full batches counted, hands the counts back.

    Several jobs are under way at once, so that batches are full and none waits for another's last look.

    Args:
        engine: what draws the noise and counts the answers.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> jobs = [Job(i, torch.rand(1, 2, 2), count_once([SampleRange("votes", 0, 300)])) for i in range(3)]
        >>> [int(job.result.sum()) for job in Scheduler(engine).run(jobs)]
        [300, 300, 300]
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.queue: deque[Segment] = deque()
        # The jobs that wait for counts, by slot.
        self.pending: dict[int, Job[T]] = {}
        # How many slots were given out so far.
        self.slots = 0

    def run(self, jobs: Iterable[Job[T]]) -> Iterator[Job[T]]:
        """Run the jobs and yield each as soon as it has its result.

        Raises:
            Problem: the model refuses the images, gives no logits or some that are not finite; or, when sound,
                an image is not on the grid k/255.
        """
        rest = iter(jobs)
        job = next(rest, None)
        while job is not None or self.pending:
            while job is not None and self._has_room():
                job.x = self.engine.receive(job.x)
                self._enqueue(job, next(job.steps))
                job = next(rest, None)
            error = self._count_batches(flush=job is None)
            # What the other images of a failed batch have is kept.
            yield from self._finished()
            if error is not None:
                raise error

    def _has_room(self) -> bool:
        """Return whether so few samples are queued that another image should join."""
        size = self.engine.size
        if size == 0:
            return True
        batches = max(BATCHES_QUEUED, 2 * self.engine.workers.number)
        queued = sum(segment.samples for segment in self.queue)
        return queued < batches * size

    def _enqueue(self, job: Job[T], ranges: Sequence[SampleRange]) -> None:
        job.slots = range(self.slots, self.slots + len(ranges))
        job.left = sum(samples.stop - samples.start for samples in ranges)
        job.counts = np.zeros((len(ranges), self.engine.classes), np.int64)
        for slot, samples in zip(job.slots, ranges, strict=True):
            self.pending[slot] = job
            stream = Stream(self.engine.seed, samples.name).at(job.address)
            self.queue.extend(segments(slot, job.x, stream, samples))
        self.slots = job.slots.stop

    def _count_batches(self, *, flush: bool) -> Problem | None:
        """Have the full batches counted, with `flush` all; return the error for answers that are not finite."""
        engine = self.engine
        batches = packed(self.queue, engine.size, mix=engine.mixes, flush=flush)
        if not batches:
            return None
        slots = sorted({segment.slot for batch in batches for segment in batch})
        start = time.perf_counter()
        # The only wait for the device.
        counts = engine.count(batches, slots)
        return self._add(slots, counts, time.perf_counter() - start)

    def _add(
        self, slots: Sequence[int], counts: Ints, seconds: float
    ) -> Problem | None:
        """Add counts (len(slots), K + 1) to those that jobs wait for; an error for answers that are not finite."""
        error = None
        counted = max(1, int(counts.sum()))
        for slot, row in zip(slots, counts, strict=True):
            job = self.pending[slot]
            total = int(row.sum())
            lost = int(row[-1])
            if lost:
                error = not_finite(
                    f"{lost} of {total} noisy copies of image {job.number}"
                )
            job.counts[job.slots.index(slot)] += row[:-1]
            # A job with answers missing never gets its counts.
            job.left -= total - lost
            job.seconds += seconds * total / counted
        return error

    def _finished(self) -> Iterator[Job[T]]:
        """Send complete counts to their jobs, and yield those that ask for no more."""
        complete = {
            id(job): job for job in self.pending.values() if job.left == 0
        }.values()
        for job in complete:
            for slot in job.slots:
                del self.pending[slot]
            try:
                self._enqueue(job, job.steps.send(job.counts))
            except StopIteration as end:
                job.result = end.value
                yield job


def count_classes(
    engine: Engine, x: Tensor, plan: Sequence[tuple[str, int]], *, number: int = 0
) -> Ints:
    """Count the classes of noisy copies of one image.

    Args:
        engine: what counts.
        x: (C, H, W) in [0, 1].
        plan: (stream name, n) of each part of the counts; parts share no noise.
        number: what to call the image in an error.

    Returns:
        (len(plan), K).

    Raises:
        Problem: as `Scheduler.run`.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> count_classes(engine, torch.zeros(1, 2, 2), [("select", 100), ("estimate", 1000)]).sum(axis=1)
        array([ 100, 1000])
    """
    ranges = [SampleRange(name, 0, n) for name, n in plan]
    (counts,) = results(engine, [Job(number, x, count_once(ranges))])
    return counts


def results(engine: Engine, jobs: Sequence[Job[T]]) -> list[T]:
    """Run `jobs`, and return their results in their order. Errors as `Scheduler.run`."""
    for _ in Scheduler[T](engine).run(jobs):
        pass
    return [job.result for job in jobs if job.result is not None]


def not_finite(copies: str) -> Problem:
    """Return the error for `copies` of an image whose logits hold NaN, or a largest one that is infinite."""
    return ModelFailed(
        f"the model gave NaN or infinite logits for {copies}: check the weights, or use precision 32"
    )
