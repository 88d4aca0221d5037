"""Jobs under way: their samples wait in one queue, full batches leave it, counts go back to the jobs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
from numpy.typing import NDArray

from randsmooth.certification.jobs import Job, SampleRange, T
from randsmooth.certification.segments import Segment, segments, take_batch
from randsmooth.errors import InputError
from randsmooth.noise import Stream

if TYPE_CHECKING:
    from randsmooth.certification.engine import Engine


@dataclass(eq=False)
class Pending:
    """The counts that a job waits for.

    Attributes:
        slots: of its asks, in their order.
        left: samples not yet counted.
        counts: (len(slots), K) what has been counted so far.
    """

    job: Job[Any]
    slots: range
    left: int
    counts: NDArray[np.int64]


class Scheduler(Generic[T]):
    """Packs the samples of several jobs into batches, so that none waits for another's last look."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.queue: deque[Segment] = deque()
        self.pending: dict[int, Pending] = {}  # by slot
        self.slots = 0
        self.broken: InputError | None = None  # raised once the jobs that were finished with it are handed on

    @property
    def idle(self) -> bool:
        """Whether nothing is left to do, not even to raise."""
        return not self.queue and self.broken is None

    @property
    def waiting(self) -> int:
        """Samples in the queue."""
        return sum(segment.samples for segment in self.queue)

    def admit(self, job: Job[T]) -> None:
        """Take up a job and queue what it asks for first."""
        self._ask(job, next(job.steps))

    def _ask(self, job: Job[T], asks: Sequence[SampleRange]) -> None:
        slots = range(self.slots, self.slots + len(asks))
        left = sum(ask.stop - ask.start for ask in asks)
        pending = Pending(job, slots, left, np.zeros((len(asks), self.engine.classes), np.int64))
        for slot, ask in zip(slots, asks, strict=True):
            stream = Stream(self.engine.seed, ask.name).at(job.address)
            self.queue.extend(segments(slot, job.x, stream, ask))
            self.pending[slot] = pending
        self.slots = slots.stop

    def round(self, *, flush: bool) -> list[Job[T]]:
        """Count every full batch in the queue, with `flush` the rest too; the jobs that have their result now.

        Raises:
            InputError: some answers of the last round were not finite.
        """
        if self.broken is not None:
            raise self.broken
        batches = list(self._batches(flush))
        if not batches:
            return []
        start = time.perf_counter()
        slots = sorted({segment.slot for batch in batches for segment in batch})
        counts = self.engine.tally(batches, slots)  # the only wait for the device
        seconds = (time.perf_counter() - start) / counts.sum()
        for slot, row in zip(slots, counts, strict=True):
            self._book(slot, row, seconds)
        complete = dict.fromkeys(self.pending[slot] for slot in slots if not self.pending[slot].left)
        return [pending.job for pending in complete if self._resume(pending)]

    def _batches(self, flush: bool) -> Iterator[list[Segment]]:
        size, mix = self.engine.size, self.engine.mixes
        waiting = self.waiting
        while self.queue and (waiting >= size or flush or not mix):
            batch = take_batch(self.queue, size, mix=mix)
            waiting -= sum(segment.samples for segment in batch)
            yield batch

    def _book(self, slot: int, counted: NDArray[np.int64], seconds: float) -> None:
        """Add counts (K + 1,) to what the slot's job waits for; the last are answers that are not finite."""
        pending = self.pending[slot]
        total = int(counted.sum())
        if counted[-1]:
            self.broken = InputError(
                f"the model gave NaN or infinite logits for {counted[-1]} of {total} noisy copies of image "
                f"{pending.job.number}; a certificate needs a finite answer for each: check the weights, or use "
                "precision 32"
            )
        pending.counts[pending.slots.index(slot)] += counted[:-1]
        pending.left -= total - int(counted[-1])  # with answers missing, it waits for ever
        pending.job.seconds += seconds * total

    def _resume(self, pending: Pending) -> bool:
        """Hand the job its counts; whether it is finished."""
        for slot in pending.slots:
            del self.pending[slot]
        try:
            self._ask(pending.job, pending.job.steps.send(pending.counts))
        except StopIteration as end:
            pending.job.result = end.value
            return True
        return False
