"""CERTIFY for one image, which asks for counts of its noisy copies, and the loop that draws them for many at a time."""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from randsmooth.certification.engine import (
    EVERY,
    Engine,
    SampleRange,
    Segment,
    packed,
    segments,
    usual_block,
)
from randsmooth.errors import InputError
from randsmooth.noise import Stream, address_of
from randsmooth.rules import Claim, Rule

SELECT, ESTIMATE, PREDICT, UNIFORM = (
    "certify/select",
    "certify/estimate",
    "predict",
    "certify/uniform",
)
AHEAD = 8  # batches in the queue below which another image joins, if that is two for every worker at least

Ints = NDArray[np.int64]
T = TypeVar("T")
U = TypeVar("U")


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
    """The steps of a job whose result is the counts (len(ranges), K)."""
    return (yield ranges)


def uniforms(
    bound: str, seed: int, addresses: Sequence[int]
) -> NDArray[np.float64] | None:
    """(N,) the `uniform_number` of each image where the `bound` takes them; else None."""
    return (
        np.array([uniform_number(seed, each) for each in addresses])
        if bound == "randomised"
        else None
    )


def uniform_number(seed: int, address: int) -> float:
    """A number in (0, 1) for the randomised bound, independent of the noise and addressed as it: by seed and pixels.

    Example:
        >>> uniform_number(0, 7) == uniform_number(0, 7), uniform_number(0, 7) == uniform_number(1, 7)
        (True, False)
    """
    return Stream(seed, UNIFORM).at(address).uniform()


class ImageEvidence(NamedTuple):
    """The evidence of one image.

    Attributes:
        counts0: (K,) class counts of the samples that picked the class; a 1 for the class where there were none.
        counts: (K,) class counts of the samples that bound its probability.
        path: how often the picked class had come out at each look.
    """

    counts0: Ints
    counts: Ints
    path: Ints


Until = Callable[
    [Claim, int], bool
]  # given the claim so far and how many samples it took: whether that is enough


def certify_steps(
    rule: Rule, n0: int, label: int | None = None, until: Until | None = None
) -> Steps[ImageEvidence]:
    """Pick a class from n0 samples, then draw others until `rule` has seen enough (CERTIFY of Cohen et al. 2019).

    With a `label`, an image whose picked class is another takes no further samples, since it can no longer be both
    certified and correct. `until` may stop a sequential rule at any of its looks.

    Where n0 is 0, the class is the label, which was fixed beforehand. Without one, it is the most frequent class at
    each look, by a rule that holds for any class.
    """
    first = rule.next_look([])
    assert first is not None
    selection, estimate = (
        SampleRange(SELECT, 0, n0, rule.block),
        estimating(rule, 0, first),
    )
    if n0 and label is None:
        counts0, counts = yield [selection, estimate]
    else:
        (counts0,) = (yield [selection]) if n0 else [None]
        if counts0 is not None and int(counts0.argmax()) != label:
            return ImageEvidence(counts0, np.zeros_like(counts0), np.zeros(0, np.int64))
        (counts,) = yield [estimate]
    picked = (
        label if counts0 is None else int(counts0.argmax())
    )  # None: the most frequent at each look
    path = [came_out(counts, picked)]
    while (look := rule.next_look(path)) is not None:
        drawn = int(counts.sum())
        if until is not None and until(rule.claim(path), drawn):
            break
        (more,) = yield [estimating(rule, drawn, look)]
        counts = counts + more
        path.append(came_out(counts, picked))
    if counts0 is None:
        counts0 = np.zeros_like(counts)
        counts0[counts.argmax() if picked is None else picked] = 1
    return ImageEvidence(counts0, counts, np.array(path, np.int64))


def estimating(rule: Rule, start: int, stop: int) -> SampleRange:
    """The samples `start` to `stop` that bound the probability of a class, or count it exactly."""
    return SampleRange(EVERY if rule.certain else ESTIMATE, start, stop, rule.block)


def came_out(counts: Ints, picked: int | None) -> int:
    """How often the class `picked` is among `counts` (K,), or the most frequent one if there is none."""
    return int(counts.max() if picked is None else counts[picked])


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
        self.pending: dict[int, Job[T]] = {}  # what waits for counts, by slot
        self.slots = 0  # given out so far

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
                job.x = self.engine.receive(job.x)
                self._enqueue(job, next(job.steps))
                job = next(rest, None)
            broken = None
            if batches := packed(
                self.queue, self.engine.size, mix=self.engine.mixes, flush=job is None
            ):
                start, slots = (
                    time.perf_counter(),
                    sorted({segment.slot for batch in batches for segment in batch}),
                )
                counts = self.engine.count(
                    batches, slots
                )  # the only wait for the device
                broken = self._add(slots, counts, time.perf_counter() - start)
            yield from self._finished()
            if broken is not None:
                raise broken

    def _has_room(self) -> bool:
        """Whether so few samples are queued that another image should join."""
        batches = max(AHEAD, 2 * self.engine.workers.number)
        return (
            not self.engine.size
            or sum(each.samples for each in self.queue) < batches * self.engine.size
        )

    def _enqueue(self, job: Job[T], ranges: Sequence[SampleRange]) -> None:
        job.slots = range(self.slots, self.slots + len(ranges))
        job.left = sum(samples.stop - samples.start for samples in ranges)
        job.counts = np.zeros((len(ranges), self.engine.classes), np.int64)
        for slot, samples in zip(job.slots, ranges, strict=True):
            self.pending[slot] = job
            self.queue.extend(
                segments(
                    slot,
                    job.x,
                    Stream(self.engine.seed, samples.name).at(job.address),
                    samples,
                )
            )
        self.slots = job.slots.stop

    def _add(
        self, slots: Sequence[int], counts: Ints, seconds: float
    ) -> InputError | None:
        """Add counts (len(slots), K + 1) to those that jobs wait for; an error for answers that are not finite."""
        broken, counted = None, max(1, int(counts.sum()))
        for slot, row in zip(slots, counts, strict=True):
            job, total, lost = self.pending[slot], int(row.sum()), int(row[-1])
            if lost:
                broken = not_finite(
                    f"{lost} of {total} noisy copies of image {job.number}"
                )
            job.counts[job.slots.index(slot)] += row[:-1]
            job.left -= total - lost  # a job with answers missing never gets its counts
            job.seconds += seconds * total / counted
        return broken

    def _finished(self) -> Iterator[Job[T]]:
        """Send complete counts to their jobs, and yield those that ask for no more."""
        for job in {
            id(job): job for job in self.pending.values() if not job.left
        }.values():
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
    """Class counts of one image.

    Args:
        engine: what counts.
        x: (C, H, W) in [0, 1].
        plan: (stream name, n) of each part of the counts; parts share no noise.
        number: what to call the image in an error.

    Returns:
        (len(plan), K).

    Raises:
        InputError: as `Scheduler.run`.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"))
        >>> count_classes(engine, torch.zeros(1, 2, 2), [("select", 100), ("estimate", 1000)]).sum(axis=1)
        array([ 100, 1000])
    """
    return results(
        engine,
        [Job(number, x, count_once([SampleRange(name, 0, n) for name, n in plan]))],
    )[0]


def results(engine: Engine, jobs: Sequence[Job[T]]) -> list[T]:
    """The results of `jobs`, in their order. Errors as `Scheduler.run`."""
    deque(Scheduler[T](engine).run(jobs), maxlen=0)
    return [job.result for job in jobs if job.result is not None]


def answered_samples(
    engine: Engine, x: Tensor, samples: SampleRange, of: Callable[[Tensor, Tensor], U]
) -> Iterator[tuple[Ints, U]]:
    """For each batch of one image's `samples`: their numbers (B,), counted from the first, and what `of` makes of them.

    Which samples share a batch depends on its size; the number of a sample, and its noise, do not.

    Args:
        engine: what answers.
        x: (C, H, W) in [0, 1].
        samples: which to draw.
        of: called without gradients with noisy copies (B, C, H, W), which the next batch overwrites, and their logits.

    Raises:
        InputError: as `Scheduler.run`, but for logits that are not finite, which `of` may look for.
    """
    x = engine.receive(x)
    stream = Stream(engine.seed, samples.name).at(address_of(x))
    batches, first = (
        packed(deque(segments(0, x, stream, samples)), engine.size, mix=engine.mixes),
        samples.start,
    )
    numbers = [
        np.concatenate([part.start - first + np.arange(part.samples) for part in batch])
        for batch in batches
    ]

    @torch.inference_mode()
    def answered(batch: Sequence[Segment]) -> U:
        return of(*engine.answered(batch))

    return zip(numbers, engine.workers.map(answered, batches), strict=True)


def first_samples(
    engine: Engine, x: Tensor, samples: SampleRange, most: int
) -> tuple[Tensor, Ints]:
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
    block = replace(
        samples, stop=min(samples.stop, samples.start + usual_block(x.shape))
    )
    ((_, (noisy, classes)),) = answered_samples(
        engine,
        x,
        block,
        lambda noisy, logits: (
            noisy[:most].cpu().clone(),
            logits[:most].argmax(dim=1).cpu(),
        ),
    )
    return noisy, classes.numpy()


def not_finite(copies: str) -> InputError:
    """The error for `copies` of an image whose logits hold NaN, or a largest one that is infinite."""
    return InputError(
        f"the model gave NaN or infinite logits for {copies}: check the weights, or use precision 32"
    )
