"""Counting predictions under noise: the part that certification spends its time in."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from typing import TypeVar, Unpack

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from randsmooth.certificates import CertificationOptions, CertificationSettings
from randsmooth.certificates.settings import BLOCK, FINE, LARGE
from randsmooth.certification.backends import (
    ROUNDS,
    Backend,
    Way,
    fastest,
    in_batches,
    make_backend,
    ways,
)
from randsmooth.certification.opening import check_repeats, made_up, rows_stand_alone
from randsmooth.data import is_image
from randsmooth.errors import BadValue, Problem, Setting, TooLarge, WrongData
from randsmooth.frozen_record import settings_from
from randsmooth.models import ForeignModel, provenance_of, with_a_class
from randsmooth.noise import (
    Copies,
    Noise,
    Stream,
    address_of,
    check_sigma,
    grid_sampler,
    noise_said,
)
from randsmooth.noise.rounded_gaussian import GridSampler

A = TypeVar("A")
B = TypeVar("B")

# The samples of this name are all copies, by their numbers: none is drawn.
EVERY = "certify/every"
# For each worker, in a round of a trial.
BATCHES_A_ROUND = 2
# A run must have so many times the samples of a trial, or it has none.
TRIALS_A_RUN = 10

# Samples and values per forward pass by default. A CPU's caches cannot hold the activations of a bigger batch.
MOST = {"cpu": (256, 2**19), "cuda": (8192, 2**24)}


@dataclass(frozen=True)
class SampleRange:
    """Samples `start` to `stop` of the noise stream `name`, in blocks of `block` (None: the usual one of the image)."""

    name: str
    start: int
    stop: int
    block: int | None = None


@dataclass(frozen=True)
class Segment(Copies):
    """Up to one block of samples of an image on the device, all that is drawn from one stream.

    Attributes:
        slot: index of the counts that the samples belong to.
        start: how many samples of that name come before them.
    """

    slot: int
    start: int


@dataclass(frozen=True)
class Prepared:
    """What is known of a base classifier once it was tried out on inputs of one shape, and how it is asked.

    Attributes:
        shape: of an input, such as (C, H, W).
        seen: the shape of a noisy copy of it.
        workers: the threads that draw, ask and count.
        batch: how many samples the model is asked about in one call, which is fewer only where it is called in Python.
        size: samples that are drawn together.
        mixes: whether images may share a batch.
        classes: K.
    """

    shape: tuple[int, ...]
    seen: tuple[int, ...]
    workers: WorkerPool
    batch: int
    size: int
    mixes: bool
    classes: int


class Engine:
    """Counts the classes that a base classifier gives to noisy copies of images.

    The noise depends on the seed, the image's pixels (`noise.address_of`), the purpose and, unless `sound`, the kind of
    device only: equal images share it, and others have none in common. Every batch has the same shape, and images share
    one where the rows of an answer do not depend on each other to the last bit, which is tried out: so the counts of an
    image do not depend on its neighbours or on the order. Memory is that of one batch, for small images on a CPU of one
    per thread.

    Args:
        model: gives logits (B, K) for (B, C, H, W); copied, so that what is counted cannot change meanwhile.
        settings: those that decide how samples are drawn and answered: sigma, sound, backend, precision, batch (of a
            network at least 128, of large images 32) and seed (None: 0). Or as keywords.
        device: where to draw and to answer.

    Attributes:
        prepared: what is known once the base classifier was tried out: its size, batch, mixes, classes and workers are
            the engine's.
        rates: samples a second of what "auto" has tried.

    Raises:
        Problem: a setting that cannot be used, or none for sigma.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2)).eval()
        >>> engine = Engine(model, sigma=0.5, device=torch.device("cpu"), batch=256)
        >>> engine.prepare((1, 2, 2)).name, engine.size, engine.classes
        ('torch', 256, 2)
    """

    def __init__(
        self,
        model: nn.Module | ForeignModel,
        settings: CertificationSettings | None = None,
        *,
        device: torch.device,
        **fields: Unpack[CertificationOptions],
    ) -> None:
        self.settings = settings_from(CertificationSettings, settings, fields)
        self.model = model
        self.device = device
        self.seed = self.settings.seed or 0
        self.noise: Noise | GridSampler = self.settings.smoothing
        if self.settings.sound:
            self.noise = grid_sampler(self.settings.known_sigma)
        # Those that the settings leave open, the usual one first.
        self.ways = ways(model, device, self.settings.backend, self.settings.precision)
        self.rates: dict[Way, float] = {}
        self._backend: Backend | None = None
        self._prepared: Prepared | None = None
        if not self.settings.chooses:
            self._backend = self._backend_of(self.ways[0])

    def under(self, seed: int) -> Engine:
        """This engine as it is prepared, with the noise of another seed."""
        other = copy.copy(self)
        other.seed = seed
        return other

    @property
    def backend(self) -> Backend:
        """What runs the base classifier, once it is chosen."""
        assert self._backend is not None, "prepare() first"
        return self._backend

    @property
    def prepared(self) -> Prepared:
        """What is known since the base classifier was tried out."""
        assert self._prepared is not None, "prepare() first"
        return self._prepared

    @property
    def size(self) -> int:
        """Samples that are drawn together; 0 before the engine is prepared."""
        return 0 if self._prepared is None else self._prepared.size

    @property
    def batch(self) -> int:
        """How many samples the model is asked about in one call."""
        return self.prepared.batch

    @property
    def mixes(self) -> bool:
        """Whether images may share a batch."""
        return self.prepared.mixes

    @property
    def classes(self) -> int:
        """K, how many classes the model answers with."""
        return self.prepared.classes

    @property
    def workers(self) -> WorkerPool:
        """The threads that draw, ask and count."""
        return self.prepared.workers

    def prepare(self, shape: Sequence[int], samples: float = math.inf) -> Backend:
        """Make ready for inputs of `shape`, of images (C, H, W): choose the backend, and try the base classifier out.

        Args:
            samples: how many are to be counted, at most: for so few that a trial does not pay, the usual backend and
                precision are taken.

        Raises:
            Problem: it refuses the shape, gives no logits, or not the same ones twice; or the batch is too small, or
                too large for the device's memory.
        """
        shape = tuple(shape)
        if self._prepared is not None and self._prepared.shape == shape:
            return self.backend
        try:
            if self._backend is None:
                self._become_fastest(shape, samples)
            else:
                self._prepared = self._tried_out(shape)
        except torch.OutOfMemoryError as error:
            batch = self._batch_for(shape)
            raise TooLarge(
                f"batches of {batch} do not fit into the memory of {self.device}",
                field="batch",
                value=batch,
                fix=("give ", Setting("batch", batch // 2)),
            ) from error
        return self.backend

    def _tried_out(self, shape: tuple[int, ...]) -> Prepared:
        """Try the backend out on a batch of inputs of `shape`.

        A CPU has as many workers as the backend wants: for small images one for each thread and the spare ones.
        """
        if self.settings.noise is None and is_image(shape):
            # The largest that is allowed is one of pixels.
            check_sigma(self.settings.known_sigma)
        if self.settings.sound and not is_image(shape):
            raise WrongData(
                f"sound certification is of pixels k/255; inputs of shape {shape} are features"
            )
        backend = self.backend
        batch = self._batch_for(shape)
        block = usual_block(shape)
        if backend.padded and batch < block:
            raise BadValue(
                field="batch",
                value=batch,
                expected=f"must be at least {block}, the samples that share a noise stream",
            )

        small = self.device.type == "cpu" and math.prod(shape) <= LARGE
        backend.size = batch
        backend.workers = 1
        number = 1
        if small and backend.parallel:
            backend.workers = torch.get_num_threads()
            number = backend.workers + backend.spare
        workers = WorkerPool(number)

        seen = tuple(self.settings.smoothing.shape(shape))
        try_out = partial(self._try_out, (batch, *seen))
        try:
            ((mixes, classes),) = workers.map(try_out, [shape])
        except Problem as error:
            raise self._refusal_by_noise(error, shape) from error
        return Prepared(
            shape=shape,
            seen=seen,
            workers=workers,
            batch=batch,
            size=max(batch, block),
            mixes=mixes,
            classes=classes,
        )

    def _refusal_by_noise(self, error: Problem, shape: tuple[int, ...]) -> Problem:
        """Return `error`, and why, where the noise shows a network other inputs than its training did."""
        now = self.settings.smoothing
        sees = {now.text: tuple(now.shape(shape))}
        trained = noise_said(provenance_of(self.model))
        if trained is not None:
            sees[trained.text] = tuple(trained.shape(shape))
        if {*sees.values()} == {shape}:
            return error
        shapes = ", ".join(f"{seen} under {noise}" for noise, seen in sees.items())
        return BadValue(
            f"{error} Of an image {shape} a network sees {shapes}",
            fix=(
                "certify under the noise that it was trained under, or train one with ",
                Setting("noise", now.text),
            ),
        )

    def _backend_of(self, way: Way) -> Backend:
        return make_backend(way.backend, self.model, self.device, way.precision)

    def _batch_for(self, shape: Sequence[int]) -> int:
        """Samples a batch: as the settings or its device want it."""
        return self.settings.batch or usual_batch(self.device, shape)

    @torch.inference_mode()
    def _try_out(
        self, batch: tuple[int, ...], shape: tuple[int, ...]
    ) -> tuple[bool, int]:
        """Return whether the rows of a `batch` stand alone, and how many classes there are."""
        trial = torch.empty(batch, device=self.device)
        images = made_up(shape)
        parts = trial.tensor_split(len(images))
        for place, (image, part) in enumerate(zip(images, parts, strict=True)):
            stream = Stream(self.seed, "try out").at(place)
            self.settings.smoothing.draw(part, image.to(self.device), stream)
        logits = check_repeats(self.backend, trial)
        return rows_stand_alone(self.backend, trial, logits), logits.shape[1]

    def _become_fastest(self, shape: tuple[int, ...], samples: float) -> None:
        """Take the backend that counts fastest; the usual one where a trial does not pay."""
        usual, *others = self.ways
        engines = {usual: self._tried_in(usual, shape)}
        trial_samples = engines[usual]._round * (1 + ROUNDS) * (1 + len(others))
        if samples >= TRIALS_A_RUN * trial_samples:
            for way in others:
                # It may be one that cannot run this model.
                with suppress(Problem):
                    engines[way] = self._tried_in(way, shape)
        best = usual
        if len(engines) > 1:
            trials = {way: engine.samples_a_second for way, engine in engines.items()}
            best, self.rates = fastest(trials)
        self._backend = engines[best].backend
        self._prepared = engines[best].prepared

    def _tried_in(self, way: Way, shape: tuple[int, ...]) -> Engine:
        """Return the engine of one way to count, ready for images of `shape`."""
        settings = self.settings.replace(backend=way.backend, precision=way.precision)
        engine = Engine(self.model, settings, device=self.device)
        engine._prepared = engine._tried_out(shape)
        return engine

    @property
    def _round(self) -> int:
        """Samples of a round of a trial."""
        return BATCHES_A_ROUND * self.backend.workers * self.size

    def samples_a_second(self) -> float:
        """How many samples of a grey image are drawn, answered and counted a second, in one round."""
        grey = torch.full(self.prepared.shape, 128 / 255, device=self.device)
        samples = SampleRange("trial", 0, self._round)
        queue = deque(segments(0, grey, Stream(self.seed, "trial"), samples))
        batches = packed(queue, self.size, mix=self.mixes)
        start = time.perf_counter()
        self.count(batches, [0])
        return self._round / (time.perf_counter() - start)

    def receive(self, x: Tensor) -> Tensor:
        """An image (C, H, W) on the device, checked; the engine is ready for its shape. Errors as `prepare`."""
        self.noise.check(x)
        x = x.to(self.device, torch.float32)
        self.prepare(x.shape)
        return x

    def answers(self, images: Sequence[Tensor], name: str) -> Tensor:
        """(B, K) logits, on the CPU, of one batch that noisy copies of `images` fill, as it is answered in counting.

        Neither the seed nor the kind of device decides their noise, but `name` and the image alone.

        Args:
            images: as many (C, H, W) in [0, 1] as a batch has rows, or fewer; of the shape that is prepared.
        """
        noisy = torch.empty(self.batch, *self.prepared.seen)
        for x, out in zip(images, noisy.tensor_split(len(images)), strict=True):
            self.noise.draw(out, x.cpu().float(), Stream(0, name).at(address_of(x)))
        return next(iter(self.workers.map(self.logits, [noisy]))).cpu()

    def ask(self, images: Tensor) -> Tensor:
        """(n, K) logits of `images` (n, C, H, W) without noise, in batches of the shape that they have in counting."""
        return self.logits(self.settings.smoothing.clear(images))

    @torch.inference_mode()
    def logits(self, copies: Tensor) -> Tensor:
        """(n, K) logits of noisy copies (n, *shape) as they are, in such batches."""
        return in_batches(
            self.backend.logits,
            copies.to(self.device),
            self.batch,
            filled=self.backend.padded,
        )

    def count(
        self, batches: Sequence[Sequence[Segment]], slots: Sequence[int]
    ) -> NDArray[np.int64]:
        """(len(slots), K + 1) class counts of the segments in `batches`; the last column: answers without a class.

        After the only transfer from the device.
        """
        rows = {slot: row for row, slot in enumerate(slots)}
        parts = self.workers.map(partial(self._counted, rows=rows), batches)
        counts = reduce(torch.add, parts).view(len(slots), -1)
        on_host: NDArray[np.int64] = counts.cpu().numpy()
        return on_host

    @torch.inference_mode()
    def _counted(self, batch: Sequence[Segment], rows: dict[int, int]) -> Tensor:
        """(len(rows) * (K + 1),) what one batch adds to the counts."""
        _, logits = self.answered(batch)
        columns = self.classes + 1
        predicted = torch.where(
            with_a_class(logits), logits.argmax(dim=1), self.classes
        )
        samples = torch.tensor([segment.samples for segment in batch])
        row_of_segment = torch.tensor([rows[segment.slot] for segment in batch])
        row = row_of_segment.repeat_interleave(samples)
        places = row.to(self.device, non_blocking=True) * columns + predicted
        counts = torch.zeros(len(rows) * columns, dtype=torch.int64, device=self.device)
        return counts.scatter_add_(0, places, torch.ones_like(places))

    def answered(self, batch: Sequence[Segment]) -> tuple[Tensor, Tensor]:
        """The n samples that `batch` names: (n, C, H, W), until the next batch, and their logits (n, K).

        A padded backend always sees a batch of the same shape, so that it always rounds alike. Rows that `batch` does
        not fill keep older samples, or are set to zero where the rows of a batch could influence each other. Another
        one is asked about no image that is not counted.
        """
        shape = (self.size, *self.prepared.seen)
        noisy = self.workers.buffer(shape, self.device)
        samples = sum(segment.samples for segment in batch)
        drawn = noisy[:samples]
        self._draw(drawn, batch)
        if not self.backend.padded:
            return drawn, self.logits(drawn)
        if not self.mixes:
            noisy[samples:].zero_()
        return drawn, self.backend.logits(noisy)[:samples]

    def _draw(self, out: Tensor, batch: Sequence[Segment]) -> None:
        """Set `out` to the samples that `batch` names; where they are EVERY copy, to those of these numbers."""
        # A run draws samples, or it takes every copy.
        if batch[0].stream.name != EVERY:
            self.noise.draw_together(out, batch)
            return
        parts = out.split([segment.samples for segment in batch])
        for segment, rows in zip(batch, parts, strict=True):
            self.settings.smoothing.numbered(
                rows, segment.x, segment.start, segment.stream.seed
            )


class WorkerPool:
    """`number` workers of one thread each; a single one is the caller, with all of torch's threads.

    Operators that several threads share make them wait for each other, and let them spin meanwhile, at the cost of
    whoever draws noise: on two cores, two workers of one thread take a fifth less time than one of two.

    Args:
        number: of the workers.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(number) if number > 1 else None
        if self._pool is not None:
            threads = torch.get_num_threads()
            started = threading.Barrier(number)
            list(self._pool.map(lambda _: _work_alone(started), range(number)))
            # The workers' setting is theirs; this is the caller's.
            torch.set_num_threads(threads)

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """The results in the order of the items. After a failure no item is begun."""
        if self._pool is None:
            return map(function, items)
        return self._pool.map(function, items)

    def buffer(self, shape: tuple[int, ...], device: torch.device) -> Tensor:
        """A float32 tensor of this worker's own, as it left it; zeros at first."""
        held: Tensor | None = getattr(self._own, "buffer", None)
        if held is None or tuple(held.shape) != shape:
            held = self._own.buffer = torch.zeros(shape, device=device)
        return held


def _work_alone(started: threading.Barrier) -> None:
    # torch sets up a thread when it is first asked, and would undo the next line later.
    torch.get_num_threads()
    torch.set_num_threads(1)
    # Until every worker is there, so that each runs this once.
    started.wait()


def usual_block(shape: Sequence[int]) -> int:
    """Number of samples that share a noise stream, for images of `shape` (C, H, W)."""
    return BLOCK if math.prod(shape) <= LARGE else FINE


def usual_batch(device: torch.device, shape: Sequence[int]) -> int:
    """Samples per forward pass for images of `shape`, unless a batch is given: at least one block, and whole ones."""
    samples, values = MOST["cpu" if device.type == "cpu" else "cuda"]
    block = usual_block(shape)
    blocks = min(samples, values // math.prod(shape)) // block
    return max(1, blocks) * block


def segments(
    slot: int, x: Tensor, stream: Stream, samples: SampleRange
) -> Iterator[Segment]:
    """Divide `samples` of image `x`, whose stream is `stream`, into blocks; `samples.start` is the start of a block."""
    block = samples.block or usual_block(x.shape)
    for start in range(samples.start, samples.stop, block):
        yield Segment(
            x, stream.at(start // block), min(block, samples.stop - start), slot, start
        )


def take_batch(queue: deque[Segment], batch: int, *, mix: bool) -> list[Segment]:
    """Take up to `batch` samples off the front of the queue; unless `mix`, only those of the first segment's slot."""
    taken = list[Segment]()
    passed = list[Segment]()
    room = batch
    while queue and room:
        segment = queue.popleft()
        of_this_image = not taken or segment.slot == taken[0].slot
        if segment.samples <= room and (mix or of_this_image):
            taken.append(segment)
            room -= segment.samples
            continue
        passed.append(segment)
        if not mix:
            break
    queue.extendleft(reversed(passed))
    return taken


def packed(
    queue: deque[Segment], batch: int, *, mix: bool, flush: bool = True
) -> list[list[Segment]]:
    """Every full batch in the queue, taken off it; with `flush`, or where images share none, the rest too."""
    batches = list[list[Segment]]()
    left = sum(segment.samples for segment in queue)
    while queue and (left >= batch or flush or not mix):
        batches.append(take_batch(queue, batch, mix=mix))
        left -= sum(segment.samples for segment in batches[-1])
    return batches
