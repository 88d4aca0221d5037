"""The loop that counts the noisy copies of many images at a time, so that every batch
is full.
"""

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.certification.batches import (
    SampleRange,
    Segment,
    packed,
    segments,
)
from randsmooth.certification.engine import Engine
from randsmooth.errors import ModelFailed, Problem
from randsmooth.noise import Stream, address_of

# The number of batches in the queue below which another image joins: BATCHES_QUEUED, or
# BATCHES_QUEUED_A_WORKER for every worker, if that is more.
BATCHES_QUEUED = 8
BATCHES_QUEUED_A_WORKER = 2

Ints = NDArray[np.int64]
T = TypeVar("T")

# Yields the ranges of samples that it asks for, is sent their counts (len(ranges), K),
# and returns a result.
Steps = Generator[Sequence[SampleRange], Ints, T]


@dataclass
class Job(Generic[T]):
    """One image, and the steps by which its result is made.

    Attributes:
        number: the name for the image in errors.
        x: (C, H, W) in [0, 1].
        steps: yields the ranges of samples that it asks for, and is sent their counts.
        address: the number that the noise of the image depends on: a hash of its
            pixels.
        seconds: the time that the samples of the image have taken so far.
        result: the return value of the steps, once they have returned.
        slots: a number for each of the ranges that the steps asked for last.
        counts: (len(slots), K) the counts of these ranges so far.
        left: how many samples of these ranges have not been counted yet.
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
    """Ask for `ranges` once, and return their counts (len(ranges), K)."""
    return (yield ranges)


class Scheduler(Generic[T]):
    """Runs jobs, one for each image, on an engine.

    It queues the samples that they ask for, has full batches counted, and hands the
    counts back. Several jobs are under way at once, so that batches are full and none
    waits for another's last look.

    Args:
        engine: the engine that draws the noise and counts the answers.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> votes = [SampleRange("votes", 0, 300)]
        >>> jobs = [Job(i, torch.rand(1, 2, 2), count_once(votes)) for i in range(3)]
        >>> [int(job.result.sum()) for job in Scheduler(engine).run(jobs)]
        [300, 300, 300]
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.queue: deque[Segment] = deque()
        # The jobs that wait for counts, by slot.
        self.pending: dict[int, Job[T]] = {}
        self.slots_given_out = 0

    def run(self, jobs: Iterable[Job[T]]) -> Iterator[Job[T]]:
        """Run the jobs and yield each as soon as it has its result.

        Raises:
            Problem: the model refuses the images, gives no logits or some that are not
                finite; or, when sound, an image is not on the grid k/255.
        """
        rest = iter(jobs)
        job = next(rest, None)
        while job is not None or self.pending:
            while job is not None and self._has_room():
                job.x = self.engine.receive(job.x)
                # The first ranges that the steps ask for.
                self._enqueue(job, next(job.steps))
                job = next(rest, None)
            # Without another image to wait for, a batch need not be full.
            error = self._count_batches(flush=job is None)
            # Results of the other images in a failed batch are not lost.
            yield from self._finished()
            if error is not None:
                raise error

    def _has_room(self) -> bool:
        """Return whether so few samples are queued that another image should join."""
        size = self.engine.size
        # The engine is prepared when the first image joins.
        if size == 0:
            return True
        for_workers = BATCHES_QUEUED_A_WORKER * self.engine.workers.number
        batches = max(BATCHES_QUEUED, for_workers)
        queued = sum(segment.samples for segment in self.queue)
        return queued < batches * size

    def _enqueue(self, job: Job[T], ranges: Sequence[SampleRange]) -> None:
        """Queue the samples that a job asks for, each range under a slot of its own."""
        first = self.slots_given_out
        job.slots = range(first, first + len(ranges))
        self.slots_given_out = job.slots.stop
        job.left = sum(samples.stop - samples.start for samples in ranges)
        job.counts = np.zeros((len(ranges), self.engine.classes), np.int64)
        for slot, samples in zip(job.slots, ranges, strict=True):
            self.pending[slot] = job
            stream = Stream(self.engine.seed, samples.name).at(job.address)
            self.queue.extend(segments(slot, job.x, stream, samples))

    def _count_batches(self, *, flush: bool) -> Problem | None:
        """Have the full batches counted; with `flush` also one that is not full.

        Returns:
            The error for answers that are not finite, if there are some.
        """
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
        """Add counts to those that jobs wait for.

        Args:
            slots: the slots whose samples were counted.
            counts: (len(slots), K + 1), a row for each slot; the last column counts
                answers without a class.
            seconds: how long the counting took; each image has its share by samples.

        Returns:
            The error for answers that are not finite, if there are some: one for all
            images of the batches, as each of them ends the run.
        """
        error = None
        all_samples = max(1, int(counts.sum()))
        for slot, row in zip(slots, counts, strict=True):
            job = self.pending[slot]
            samples = int(row.sum())
            without_class = int(row[-1])
            if without_class:
                error = not_finite(
                    f"{without_class} of {samples} noisy copies of image {job.number}"
                )
            job.counts[job.slots.index(slot)] += row[:-1]
            # A job with an answer without a class is never complete.
            job.left -= samples - without_class
            job.seconds += seconds * samples / all_samples
        return error

    def _finished(self) -> Iterator[Job[T]]:
        """Send complete counts to their jobs, and yield those that ask for no more."""
        # A job waits under each of its slots, and is to be taken once. It cannot be
        # hashed itself.
        complete = {id(job): job for job in self.pending.values() if job.left == 0}
        for job in complete.values():
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
        engine: the engine that counts.
        x: (C, H, W) in [0, 1].
        plan: (stream name, n) of each part of the counts; parts share no noise.
        number: the name for the image in errors.

    Returns:
        (len(plan), K) counts, a row for each part.

    Raises:
        Problem: in the cases of `Scheduler.run`.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> plan = [("select", 100), ("estimate", 1000)]
        >>> count_classes(engine, torch.zeros(1, 2, 2), plan).sum(axis=1)
        array([ 100, 1000])
    """
    ranges = [SampleRange(name, 0, n) for name, n in plan]
    (counts,) = results(engine, [Job(number, x, count_once(ranges))])
    return counts


def results(engine: Engine, jobs: Sequence[Job[T]]) -> list[T]:
    """Run `jobs`, and return their results in their order.

    Raises:
        Problem: in the cases of `Scheduler.run`.
    """
    # Jobs come in the order in which they are finished, which does not matter here.
    for _ in Scheduler[T](engine).run(jobs):
        pass
    # Each has a result now; the condition tells the type checker so.
    return [job.result for job in jobs if job.result is not None]


def not_finite(copies: str) -> Problem:
    """Return the error for `copies` of an image whose logits give no class.

    Such logits hold NaN, or the largest one is infinite.
    """
    return ModelFailed(
        f"the model gave NaN or infinite logits for {copies}: check the weights, "
        "or use precision 32"
    )
