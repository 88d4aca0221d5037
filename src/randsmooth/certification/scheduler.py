"""The loop of certification: many images at a time, whose samples share full batches."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.certification.engine import Engine
from randsmooth.certification.jobs import Job, SampleRange, T, count_once
from randsmooth.certification.segments import Segment, segments, take_batch
from randsmooth.errors import InputError
from randsmooth.noise import Stream, address_of

U = TypeVar("U")

AHEAD = 8  # batches in the queue below which another image joins, if that is two for every worker at least


@dataclass(eq=False)
class PendingCounts:
    """The counts that a job waits for.

    Attributes:
        slots: one for each range of samples that it asked for, in their order.
        left: samples not yet counted.
        counts: (len(slots), K) what has been counted so far.
    """

    job: Job[Any]
    slots: range
    left: int
    counts: NDArray[np.int64]


class Scheduler(Generic[T]):
    """Runs jobs, one per image, on an engine: queues their samples, has full batches counted, hands the counts back.

    Several jobs are under way at once, so that batches are full and none waits for another's last look.

    Args:
        engine: what draws the noise and counts the answers.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> jobs = [Job(i, torch.rand(1, 2, 2), count_once([SampleRange("votes", 0, 300)])) for i in range(3)]
        >>> [int(job.result.sum()) for job in Scheduler(engine).run(jobs)]
        [300, 300, 300]
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.queue: deque[Segment] = deque()
        self.pending: dict[int, PendingCounts] = {}  # by slot
        self.slots = 0  # given out so far
        self.failure: InputError | None = None  # raised after the jobs that finished beside it are yielded

    def run(self, jobs: Iterable[Job[T]]) -> Iterator[Job[T]]:
        """Run the jobs and yield each as soon as it has its result.

        Raises:
            InputError: the model refuses the images, gives no logits or some that are not finite; or, when sound,
                an image is not on the grid k/255.
        """
        rest = iter(jobs)
        job = next(rest, None)
        while job is not None or self.pending:
            while job is not None and self._has_room():
                self._admit(job)
                job = next(rest, None)
            yield from self._count_queued(flush=job is None)

    def _has_room(self) -> bool:
        """Whether so few samples are queued that another image should join."""
        batches = max(AHEAD, 2 * self.engine.workers.number)
        return not self.engine.size or self._queued() < batches * self.engine.size

    def _queued(self) -> int:
        """Samples in the queue."""
        return sum(segment.samples for segment in self.queue)

    def _admit(self, job: Job[T]) -> None:
        """Begin a job: queue the samples that it asks for first."""
        job.x = self.engine.receive(job.x)
        self._enqueue(job, next(job.steps))

    def _enqueue(self, job: Job[T], ranges: Sequence[SampleRange]) -> None:
        slots = range(self.slots, self.slots + len(ranges))
        left = sum(samples.stop - samples.start for samples in ranges)
        pending = PendingCounts(job, slots, left, np.zeros((len(ranges), self.engine.classes), np.int64))
        for slot, samples in zip(slots, ranges, strict=True):
            stream = Stream(self.engine.seed, samples.name).at(job.address)
            self.pending[slot] = pending
            self.queue.extend(segments(slot, job.x, stream, samples))
        self.slots = slots.stop

    def _count_queued(self, *, flush: bool) -> list[Job[T]]:
        """Have every full batch in the queue counted, with `flush` the rest too; the jobs that finished by it.

        Raises:
            InputError: some answers of the call before were not finite.
        """
        if self.failure is not None:
            raise self.failure
        batches = list(self._batches(flush))
        if batches:
            self._count(batches)
        complete = dict.fromkeys(pending for pending in self.pending.values() if not pending.left)
        return [pending.job for pending in complete if self._resume(pending)]

    def _count(self, batches: Sequence[Sequence[Segment]]) -> None:
        start = time.perf_counter()
        slots = sorted({segment.slot for batch in batches for segment in batch})
        counts = self.engine.count(batches, slots)  # the only wait for the device
        seconds = (time.perf_counter() - start) / max(1, counts.sum())
        for slot, row in zip(slots, counts, strict=True):
            self._add(slot, row, seconds)

    def _batches(self, flush: bool) -> Iterator[list[Segment]]:
        size, mix, cut = self.engine.size, self.engine.mixes, self.engine.cuts
        queued = self._queued()
        while self.queue and (queued >= size or flush or not mix):
            batch = take_batch(self.queue, size, mix=mix, cut=cut)
            queued -= sum(segment.samples for segment in batch)
            yield batch

    def _add(self, slot: int, counted: NDArray[np.int64], seconds: float) -> None:
        """Add counts (K + 1,) to those that the slot's job waits for; the last are answers that are not finite."""
        pending = self.pending[slot]
        total = int(counted.sum())
        if counted[-1]:
            self.failure = not_finite(f"{counted[-1]} of {total} noisy copies of image {pending.job.number}")
        pending.counts[pending.slots.index(slot)] += counted[:-1]
        pending.left -= total - int(counted[-1])  # a job with answers missing never gets its counts
        pending.job.seconds += seconds * total

    def _resume(self, pending: PendingCounts) -> bool:
        """Send the job its counts; whether it is finished."""
        for slot in pending.slots:
            del self.pending[slot]
        try:
            self._enqueue(pending.job, pending.job.steps.send(pending.counts))
        except StopIteration as end:
            pending.job.result = end.value
            return True
        return False


def count_classes(engine: Engine, x: Tensor, plan: Sequence[tuple[str, int]], *, number: int = 0) -> NDArray[np.int64]:
    """Class counts of one image.

    Args:
        engine: what counts.
        x: (C, H, W) in [0, 1].
        plan: (stream name, n) of each part of the counts; parts share no noise.
        number: what to call the image in an error.

    Returns:
        (len(plan), K).

    Raises:
        InputError: as `Scheduler.run`, or no sample asked for.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> count_classes(engine, torch.zeros(1, 2, 2), [("select", 100), ("estimate", 1000)]).sum(axis=1)
        array([ 100, 1000])
    """
    if min((n for _, n in plan), default=0) < 1:
        raise InputError(f"a count needs at least one sample; got {plan}")
    job = Job(number, x, count_once([SampleRange(name, 0, n) for name, n in plan]))
    (finished,) = Scheduler[NDArray[np.int64]](engine).run([job])
    assert finished.result is not None
    return finished.result


def sum_over_samples(engine: Engine, x: Tensor, samples: SampleRange, of: Callable[[Tensor], Tensor]) -> Tensor:
    """The sum of `of(logits)` over batches of logits (B, K) of one image's `samples`, on the same noise as counts are.

    Args:
        engine: what answers.
        x: (C, H, W) in [0, 1].
        samples: which to draw.
        of: gives tensors of one shape, whatever B; called without gradients.

    Raises:
        InputError: as `Scheduler.run`, but for logits that are not finite, which `of` may look for.
    """
    return reduce(torch.add, (part for _, part in answered_samples(engine, x, samples, of)))


def answered_samples(
    engine: Engine, x: Tensor, samples: SampleRange, of: Callable[[Tensor], U]
) -> Iterator[tuple[NDArray[np.int64], U]]:
    """For each batch of one image's `samples`: their numbers (B,), counted from the first, and `of(logits)` (B, K).

    Which samples share a batch depends on its size, the number of a sample does not. Arguments and errors as
    `sum_over_samples`.
    """
    stream = Stream(engine.seed, samples.name).at(address_of(x))
    queue = deque(segments(0, engine.receive(x), stream, samples))
    ends = np.cumsum([0, *(segment.samples for segment in queue)]).tolist()
    start_of = {segment.stream: start for segment, start in zip(queue, ends, strict=False)}
    batches = []
    while queue:
        batches.append(take_batch(queue, engine.size, mix=engine.mixes, cut=engine.cuts))
    numbers = [
        np.concatenate([start_of[part.stream] + part.skip + np.arange(part.samples) for part in batch])
        for batch in batches
    ]
    return zip(numbers, engine.workers.map(partial(_answered, engine, of), batches), strict=True)


def first_samples(engine: Engine, x: Tensor, samples: SampleRange, most: int) -> tuple[Tensor, NDArray[np.int64]]:
    """The first of one image's `samples`, at most `most` of the first block: copies (n, C, H, W), their classes (n,).

    They are drawn and answered as when they are counted.

    Raises:
        InputError: the model refuses the image.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> noisy, classes = first_samples(engine, torch.zeros(1, 2, 2), SampleRange("votes", 0, 300), most=5)
        >>> noisy.shape, classes.shape
        (torch.Size([5, 1, 2, 2]), (5,))
    """
    stream = Stream(engine.seed, samples.name).at(address_of(x))
    block = next(segments(0, engine.receive(x), stream, samples))
    shown = block.part(0, min(most, block.samples))
    step = min(shown.samples, engine.size)
    parts = [[shown.part(start, min(step, shown.samples - start))] for start in range(0, shown.samples, step)]
    answered = engine.workers.map(partial(_answered, engine, lambda logits: logits.argmax(dim=1).cpu()), parts)
    return engine.noisy([shown]).cpu(), torch.cat(list(answered)).numpy()


@torch.inference_mode()
def _answered(engine: Engine, of: Callable[[Tensor], U], batch: Sequence[Segment]) -> U:
    return of(engine.logits(batch))


def not_finite(copies: str) -> InputError:
    """The error for NaN or infinite logits on `copies` of an image."""
    return InputError(
        f"the model gave NaN or infinite logits for {copies}; a certificate needs a finite answer for each: check the "
        "weights, or use precision 32"
    )
